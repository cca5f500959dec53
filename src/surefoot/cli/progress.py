"""Progress on stderr, with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from surefoot.cli.interrupts import stop_if_asked

if TYPE_CHECKING:
    from surefoot.engine.loop import Progress

_PLAIN_EVERY = 5.0


@contextmanager
def progress_on_stderr(what: str = "inputs") -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal, a line every few seconds elsewhere."""
    if sys.stderr.isatty():
        with _bar(what) as watch:
            yield _stoppable(watch)
    else:
        yield _stoppable(_lines(what))


def _stoppable(watch: Callable[[Progress], None]) -> Callable[[Progress], None]:
    def watched(now: Progress) -> None:
        stop_if_asked()
        watch(now)

    return watched


@contextmanager
def _bar(what: str) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[doing]}"),
        BarColumn(),
        TextColumn(
            "{task.completed:,.0f} of about {task.total:,.0f} {task.fields[unit]}, "
            "{task.description}"
        ),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"0 {what} done", total=1, doing="measuring", unit="trials")

        def watch(now: Progress) -> None:
            done = f"{now.finished:,}/{now.subjects:,} {what} done"
            shown = bar.tasks[0]
            if now.doing != shown.fields["doing"] or now.trials < shown.completed:
                bar.reset(task)  # the next of several studies
            bar.update(
                task, completed=now.trials, total=now.expected, description=done, doing=now.doing,
                unit=now.unit,
            )  # fmt: skip

        yield watch


def _lines(what: str) -> Callable[[Progress], None]:
    begun = told = time.monotonic()
    first: Progress | None = None
    last: Progress

    def watch(now: Progress) -> None:
        nonlocal begun, told, first, last
        clock = time.monotonic()
        if first is None or now.doing != first.doing or now.trials < last.trials:
            begun, first = clock, now
        last = now
        if clock - told < _PLAIN_EVERY:
            return
        told = clock
        rate = (now.trials - first.trials) / (clock - begun) if clock > begun else 0.0
        left = (now.expected - now.trials) / rate if rate else float("inf")
        sys.stderr.write(
            f"{now.doing}: {now.trials:,} of about {now.expected:,} {now.unit}, "
            f"{now.finished:,}/{now.subjects:,} {what} done, about {left:.0f} s left\n"
        )
        sys.stderr.flush()

    return watch
