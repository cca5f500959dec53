"""A prediction that does not end: stopped after a limit, or the program ended."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from surefoot.errors import InvalidArgument

USUAL_SECONDS = 600.0
"""Of one prediction of one batch: those of large models take seconds."""
LATE = 97
"""Exit code of a worker process that ends itself for a late prediction: no usual one."""


def checked_limit(seconds: float) -> float:
    """The limit, which is a time."""
    if not 0 < seconds < math.inf:
        raise InvalidArgument(
            f"call_limit (--call-limit) is a number of seconds above 0, got {seconds:g}: write 600",
            option="call_limit",
            value=seconds,
        )
    return seconds


def late_words(seconds: float) -> str:
    """What is said of a prediction that took longer."""
    return (
        f"a prediction of the model took longer than {seconds:g} s, and was given up: look for a "
        "loop in it that never ends, use smaller batches (batch=, --batch), or allow more time "
        "(call_limit=, --call-limit)"
    )


class _Watch:
    """One thread that stops calls which are late; it waits for the next deadline.

    `end`, where a command line sets it, ends the program with a sentence; `seconds` is how long
    any prediction may take there.
    """

    def __init__(self) -> None:
        self.end: Callable[[str], object] | None = None
        self.seconds, self.fixed = USUAL_SECONDS, False
        self.forget()

    def forget(self) -> None:
        """Begin anew, as in a fork: it has no threads, and a lock of its parent may be held."""
        self._changed = threading.Condition()
        self._calls: dict[int, tuple[float, Callable[[], object]]] = {}
        self._wakes, self._next, self._runs = math.inf, 0, False

    def add(self, seconds: float, stop: Callable[[], object]) -> int:
        """A call that begins now; its number."""
        with self._changed:
            deadline, self._next = time.monotonic() + seconds, self._next + 1
            self._calls[self._next] = deadline, stop
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, daemon=True).start()
            if deadline < self._wakes:
                self._changed.notify()
            return self._next

    def remove(self, number: int) -> None:
        """The call has ended."""
        with self._changed:
            self._calls.pop(number, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                late = [n for n, (deadline, _) in self._calls.items() if deadline <= now]
                stops = [self._calls.pop(n)[1] for n in late]
                if not stops:
                    self._wakes = min((d for d, _ in self._calls.values()), default=math.inf)
                    wait = None if self._wakes == math.inf else self._wakes - now
                    self._changed.wait(wait)
            for stop in stops:
                stop()


_watch = _Watch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watch.forget)


def end_late_calls(end: Callable[[str], object], limit: float | None = None) -> None:
    """From now on a call that cannot be stopped itself ends the program: `end` gets a sentence.

    With a limit, that one counts from now on, whatever models are loaded with.
    """
    _watch.end = end
    if limit is not None:
        _watch.seconds, _watch.fixed = limit, True


def limit_of_program(seconds: float | None = None) -> float:
    """How long any prediction of this process may take, where it can be ended at all; set it."""
    if seconds is not None and not _watch.fixed:
        _watch.seconds = seconds
    return _watch.seconds


@contextmanager
def within(seconds: float, stop: Callable[[], object]) -> Iterator[None]:
    """What takes longer is stopped by calling `stop` in another thread."""
    number = _watch.add(seconds, stop)
    try:
        yield
    finally:
        _watch.remove(number)


@contextmanager
def within_program() -> Iterator[None]:
    """What takes longer than predictions may in this program ends it; nothing elsewhere."""
    end, seconds = _watch.end, _watch.seconds
    if end is None:
        yield
        return
    with within(seconds, lambda: end(late_words(seconds))):
        yield
