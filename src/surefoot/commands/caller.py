"""Who runs a command: the words that repeat it, and what is shown while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot.executors import WorkerNote
    from surefoot.study import Result

Watch = Callable[[Any], None]
"""Gets the progress of a run, an `engine.loop.Progress`, now and then."""


@contextmanager
def show_nothing(_unit: str) -> Iterator[Watch]:
    """A display without a display."""
    yield lambda _: None


def ignore(_: object) -> None:
    """For who does not want to know."""


def warn_of_fallback(note: WorkerNote) -> None:
    """A warning where batches do not run where they would run best."""
    from surefoot.executors import warn_of_fallback as warn

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
