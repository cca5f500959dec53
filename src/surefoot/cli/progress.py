"""Progress on stderr, with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from surefoot.cli.interrupts import raise_if_stopped

if TYPE_CHECKING:
    from surefoot.engine.loop import Progress

_SECONDS_BETWEEN_LINES = 5.0
"""Often enough to see that a run is alive, seldom enough for a log file."""


@contextmanager
def progress_on_stderr(unit: str = "inputs") -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal, a line every few seconds elsewhere; `unit` is what is counted."""
    if sys.stderr.isatty():
        with _bar(unit) as watch:
            yield _stoppable(watch)
    else:
        yield _stoppable(_lines(unit))


def _stoppable(watch: Callable[[Progress], None]) -> Callable[[Progress], None]:
    def watch_or_stop(now: Progress) -> None:
        raise_if_stopped()
        watch(now)

    return watch_or_stop


@contextmanager
def _bar(unit: str) -> Iterator[Callable[[Progress], None]]:
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
        task = bar.add_task(f"0 {unit} done", total=1, doing="measuring", unit="trials")

        def watch(now: Progress) -> None:
            done = f"{now.finished:,}/{now.subjects:,} {unit} done"
            current = bar.tasks[0]
            if now.doing != current.fields["doing"] or now.trials < current.completed:
                bar.reset(task)  # the next of several studies
            bar.update(
                task, completed=now.trials, total=now.expected, description=done, doing=now.doing,
                unit=now.unit,
            )  # fmt: skip

        yield watch


def _lines(unit: str) -> Callable[[Progress], None]:
    begun = last_line = time.monotonic()
    first: Progress | None = None
    last: Progress

    def watch(now: Progress) -> None:
        nonlocal begun, last_line, first, last
        clock = time.monotonic()
        if first is None or now.doing != first.doing or now.trials < last.trials:
            begun, first = clock, now
        last = now
        if clock - last_line < _SECONDS_BETWEEN_LINES:
            return
        last_line = clock
        rate = (now.trials - first.trials) / (clock - begun) if clock > begun else 0.0
        left = f", about {(now.expected - now.trials) / rate:.0f} s left" if rate else ""
        sys.stderr.write(
            f"{now.doing}: {now.trials:,} of about {now.expected:,} {now.unit}, "
            f"{now.finished:,}/{now.subjects:,} {unit} done{left}\n"
        )
        sys.stderr.flush()

    return watch
