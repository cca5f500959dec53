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


class _Check(threading.Thread):
    """A function in a thread of its own, which can be stopped until it has ended."""

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._function = function
        self._lock, self._ended = threading.Lock(), False
        self.begun = threading.Event()
        self.outcome: list[Any] = []
        self.failures: list[BaseException] = []

    def run(self) -> None:
        """Call the function; `_Stop` may come at any moment, until this has ended."""
        called = False
        while True:
            try:
                if not called:
                    called = True
                    self._call()
                with self._lock:
                    self._ended = True
                self._lock.locked()  # a call: one that is pending comes here at the latest
                return
            except _Stop:
                continue

    def _call(self) -> None:
        try:
            self.begun.set()
            self.outcome.append(self._function())
        except BaseException as error:  # noqa: BLE001  raised again where it is awaited
            self.failures.append(error)

    def stop(self) -> None:
        """Raise in the thread; after its end another thread may have its number.

        Not while it imports: half a module would stay, and the next who imports it would fail.
        """
        with self._lock:
            if not self._ended and not self._imports():
                ident = ctypes.c_ulong(self.ident or 0)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(_Stop))

    def _imports(self) -> bool:
        frame = sys._current_frames().get(self.ident or 0)
        while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        return frame is not None


def within(seconds: float, function: Callable[[], T]) -> T:
    """What the function returns or raises; `OutOfTime` after so many seconds, when it is ended.

    They count from where it begins: a thread that the system has not run yet is not late.
    """
    check = _Check(function)
    check.start()
    try:
        check.begun.wait()
        check.join(seconds)
    finally:
        late = check.is_alive()
        if late:
            _end(check)
    if check.outcome:
        done: T = check.outcome[0]
        return done
    if late:
        raise OutOfTime
    raise check.failures[0]


def _end(check: _Check) -> None:
    """Raise in the thread until it ends, for a second at most.

    Once is not enough: Python drops what is raised within a destructor or a callback of the
    garbage collector, and says so on stderr.
    """
    until = time.monotonic() + _STOP_SECONDS
    with _quiet_stops():
        while check.is_alive() and time.monotonic() < until:
            check.stop()
            check.join(_AGAIN_SECONDS)


@contextmanager
def _quiet_stops() -> Iterator[None]:
    """What is dropped, or comes when the thread is leaving already, is not printed."""
    dropped_before, left_before = sys.unraisablehook, threading.excepthook

    def on_dropped(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is not _Stop:
            dropped_before(dropped)

    def on_left(left: threading.ExceptHookArgs) -> None:
        if left.exc_type is not _Stop:
            left_before(left)

    sys.unraisablehook, threading.excepthook = on_dropped, on_left
    try:
        yield
    finally:
        sys.unraisablehook, threading.excepthook = dropped_before, left_before


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
