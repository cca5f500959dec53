"""Who runs a command: the words that repeat it, and what is shown while it runs.

Progress with the time left: in a notebook, on a terminal, or in lines.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot.engine.progress import Progress
    from surefoot.executors.pool import WorkerNote
    from surefoot.report.tables import Table
    from surefoot.study import Result


Watch = Callable[["Progress"], None]
"""Gets the progress of a run, an `engine.loop.Progress`, now and then."""


@contextmanager
def show_nothing(_unit: str) -> Iterator[Watch]:
    """A display without a display."""
    yield lambda _: None


def ignore(_: object) -> None:
    """For who does not want to know."""


def warn_of_fallback(note: WorkerNote) -> None:
    """A warning where batches do not run where they would run best."""
    from surefoot.executors.pool import warn_of_fallback as warn

    warn(note)


@dataclass(frozen=True)
class Caller:
    """A shell or a Python program.

    `display` opens what shows progress, for the unit that is counted; `announce` gets the name of
    each of several studies before it runs; `remark` gets one sentence on the request;
    `on_workers` gets a note on where batches run; `on_interrupt` gets the result so far, where that
    already says something. `study` is the name of the study in a file of studies, else empty.
    """

    command: str = ""
    display: Callable[[str], AbstractContextManager[Watch]] = show_nothing
    announce: Callable[[str], None] = ignore
    remark: Callable[[str], None] = ignore
    on_interrupt: Callable[[Result], None] = ignore
    on_workers: Callable[[WorkerNote], None] = warn_of_fallback
    study: str = ""


@dataclass(frozen=True)
class Answer:
    """What a command prints that measures nothing: lines and tables, or JSON; and its exit code."""

    lines: Sequence[str | Table]
    json: str = ""
    exit_code: int = 0


_SECONDS_BETWEEN_LINES = 5.0
"""Often enough to see that a run is alive, seldom enough for a log file."""
_SECONDS_BETWEEN_UPDATES = 0.25
"""Of a line that is replaced in place in a notebook: each one is a message to the browser."""
_WIDEST_RANGE = 10
"""A bound of more than ten times the forecast tells nobody when to come back: "or more"."""


def choose_display(wanted: bool | None) -> Callable[[str], AbstractContextManager[Watch]]:
    """A line in a notebook, a bar on a terminal; elsewhere lines if `wanted`, else nothing."""
    if wanted is False:
        return show_nothing
    if in_notebook():
        return notebook_line
    if sys.stderr is not None and sys.stderr.isatty():
        return terminal_bar
    return printed_lines if wanted else show_nothing


def in_notebook() -> bool:
    """Whether a kernel of Jupyter, VS Code or Colab runs this code."""
    if "IPython" not in sys.modules:
        return False
    import IPython

    return getattr(IPython.get_ipython(), "kernel", None) is not None


@dataclass(frozen=True)
class SecondsLeft:
    """About how many seconds a run still takes; at most so many, where that helps."""

    about: float
    most: float | None = None


@dataclass
class TimeLeft:
    """The seconds left, from the rate since the first batch of the present part of the run.

    That batch tells nothing of the others: imports, sessions and kernels are made for it. Of
    several runs the ones to come are expected to take as long as those so far, in the mean.
    """

    started: float | None = None
    begun: float = 0.0
    first: Progress | None = None
    warm: bool = False
    last: Progress | None = field(default=None, repr=False)

    def update(self, now: Progress) -> SecondsLeft | None:
        """The seconds left; None while there is no rate yet."""
        clock = time.monotonic()
        self.started = clock if self.started is None else self.started
        if (
            self.first is None
            or self.last is None
            or now.doing != self.first.doing
            or now.trials < self.last.trials  # the next of several studies
        ):
            self.begun, self.first, self.warm = clock, now, False
        self.last = now
        if not self.warm and now.trials > self.first.trials:
            self.begun, self.first, self.warm = clock, now, True
        trials, seconds = now.trials - self.first.trials, clock - self.begun
        if trials <= 0:
            return None
        most, started = most_worth_showing(now), self.started

        def until(end: int) -> float:
            left = max(end - now.trials, 0) * seconds / trials
            each = (clock - started + left) / now.part
            return left + (now.parts - now.part) * each

        return SecondsLeft(until(now.expected), None if most is None else until(most))


def most_worth_showing(now: Progress) -> int | None:
    """The trials that are never exceeded, where that number helps and is not the expected one."""
    if now.most is None or not now.expected < now.most <= _WIDEST_RANGE * now.expected:
        return None
    return now.most


def total_words(now: Progress) -> str:
    """Of how many trials: about so many, and at most; only the latter where both are the same."""
    if now.expected == now.most:
        return f"at most {now.expected:,} {now.unit}"
    most = most_worth_showing(now)
    bound = _open_end(now) if most is None else f" (at most {most:,})"
    return f"about {now.expected:,} {now.unit}{bound}"


def _open_end(now: Progress) -> str:
    """Where the method may take many times what is expected."""
    return "" if now.most is None or now.most <= now.expected else " or more"


def progress_words(now: Progress, unit: str, left: SecondsLeft | None) -> str:
    """How far a run is, in one line."""
    parts = (
        f"{now.doing}: {now.trials:,} of {total_words(now)}",
        finished_words(now, unit),
        left_words(now, left),
    )
    return ", ".join(filter(None, parts))


def finished_words(now: Progress, unit: str) -> str:
    """How many of several are done; nothing where one procedure serves all inputs together."""
    return f"{now.finished:,}/{now.subjects:,} {unit} done" if now.subjects > 1 else ""


def left_words(now: Progress, left: SecondsLeft | None) -> str:
    """The time left, of several runs in all; nothing while it is not known."""
    if left is None:
        return ""
    in_all = " in all" if now.parts > 1 else ""
    bound = "at most" if now.expected == now.most else "about"
    most = _open_end(now) if left.most is None else f" (at most {left.most:.0f} s)"
    return f"{bound} {left.about:.0f} s left{in_all}{most}"


@contextmanager
def printed_lines(unit: str) -> Iterator[Watch]:
    """A line on stderr every few seconds."""
    left, last_line = TimeLeft(), time.monotonic()

    def watch(now: Progress) -> None:
        nonlocal last_line
        seconds = left.update(now)
        if time.monotonic() - last_line >= _SECONDS_BETWEEN_LINES:
            last_line = time.monotonic()
            sys.stderr.write(progress_words(now, unit, seconds) + "\n")
            sys.stderr.flush()

    yield watch


@contextmanager
def terminal_bar(unit: str) -> Iterator[Watch]:
    """A bar on stderr, which is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[doing]}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.fields[total_words]}{task.description}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    left = TimeLeft()
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1, doing="measuring", total_words="1", left="")

        def watch(now: Progress) -> None:
            done = finished_words(now, unit)
            done = f", {done}" if done else ""
            current = bar.tasks[0]
            if now.doing != current.fields["doing"] or now.trials < current.completed:
                bar.reset(task)  # the next of several studies
            bar.update(
                task, completed=now.trials, total=now.expected, description=done, doing=now.doing,
                total_words=total_words(now), left=left_words(now, left.update(now)),
            )  # fmt: skip

        yield watch


@dataclass(frozen=True)
class ProgressLine:
    """One line of a notebook: HTML with a bar, or plain text where there is no HTML."""

    words: str
    done: float = 1.0

    def __repr__(self) -> str:
        """As a terminal shows it."""
        return self.words

    def _repr_html_(self) -> str:
        bar = f'<progress value="{min(max(self.done, 0.0), 1.0):.3f}" max="1"></progress> '
        return f'<div style="font-size:90%">{bar}{escape(self.words)}</div>'


@contextmanager
def notebook_line(unit: str) -> Iterator[Watch]:
    """One line below the cell, replaced in place; the last one says what was done."""
    import IPython.display as notebook

    left, begun, last_update = TimeLeft(), time.monotonic(), 0.0
    shown: Any = notebook.display(ProgressLine("checking model and data", 0.0), display_id=True)
    last: Progress | None = None

    def watch(now: Progress) -> None:
        nonlocal last, last_update
        last, seconds = now, left.update(now)
        if time.monotonic() - last_update >= _SECONDS_BETWEEN_UPDATES:
            last_update = time.monotonic()
            done = now.trials / max(now.expected, 1)
            shown.update(ProgressLine(progress_words(now, unit, seconds), done))

    try:
        yield watch
    except BaseException:
        shown.update(ProgressLine("stopped: what was measured is kept in the store", 0.0))
        raise
    seconds = time.monotonic() - begun
    count = "" if last is None else f"{last.trials:,} {last.unit}, "
    words = f"{count}{seconds:.0f} s" if last is not None else "nothing to run: from the store"
    shown.update(ProgressLine(f"done: {words}"))
