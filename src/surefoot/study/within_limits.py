"""A check of a file from a stranger, ended after some time and kept within some memory."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

_STOP_SECONDS = 1.0
"""For which a check that is to end is awaited; one within a long call of NumPy ends after that."""
_AGAIN_SECONDS = 0.05
"""After which it is raised again in a check that has not ended."""


class OutOfTime(Exception):
    """The time is up."""


class _Stop(BaseException):
    """Raised within a check that is to end."""


def within(seconds: float, function: Callable[[], T]) -> T:
    """What the function returns or raises; `OutOfTime` after so many seconds, when it is ended.

    They count from where it begins: a thread that the system has not run yet is not late.
    """
    outcome: list[Any] = []
    failures: list[BaseException] = []
    begun = threading.Event()

    def work() -> None:
        try:
            try:
                begun.set()
                outcome.append(function())
            except BaseException as error:  # noqa: BLE001  raised again where it is awaited
                failures.append(error)
        except _Stop:  # it may come while the one before is being handled
            pass

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        begun.wait()
        thread.join(seconds)
    finally:
        late = thread.is_alive()
        if late:
            _end(thread)
    if late and not outcome:
        raise OutOfTime
    if failures:
        raise failures[0]
    done: T = outcome[0]
    return done


def _end(thread: threading.Thread) -> None:
    """Raise in the thread until it ends, for a second at most.

    Once is not enough: Python drops what is raised within a destructor or a callback of the
    garbage collector, and says so on stderr.
    """
    until = time.monotonic() + _STOP_SECONDS
    with _quiet_stops():
        while thread.is_alive() and time.monotonic() < until:
            ident = ctypes.c_ulong(thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(_Stop))
            thread.join(_AGAIN_SECONDS)


@contextmanager
def _quiet_stops() -> Iterator[None]:
    """Meanwhile nothing is printed where one is dropped, or comes when the check has just ended."""
    unraisable, uncaught = sys.unraisablehook, threading.excepthook

    def on_unraisable(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is not _Stop:
            unraisable(dropped)

    def on_uncaught(last: threading.ExceptHookArgs) -> None:
        if last.exc_type is not _Stop:
            uncaught(last)

    sys.unraisablehook, threading.excepthook = on_unraisable, on_uncaught
    try:
        yield
    finally:
        sys.unraisablehook, threading.excepthook = unraisable, uncaught


@contextmanager
def memory_limit(more: int) -> Iterator[None]:
    """Meanwhile this process gets at most so many bytes more; then `MemoryError`.

    Nothing is limited where the system cannot (Windows, macOS).
    """
    try:
        import resource
        from pathlib import Path

        pages = int(Path("/proc/self/statm").read_text().split()[5])
        before = resource.getrlimit(resource.RLIMIT_DATA)
        most = pages * resource.getpagesize() + more
        lower = most if before[0] == resource.RLIM_INFINITY else min(most, before[0])
        resource.setrlimit(resource.RLIMIT_DATA, (lower, before[1]))
    except (ImportError, OSError, ValueError, IndexError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
