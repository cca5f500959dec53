"""Threads that become processes where the work lasts: a process takes a second or two to start."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import TracebackType
from typing import ParamSpec, Protocol, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

PATIENCE_SECONDS = 2.0
"""Seconds of work in threads before processes are started: about what starting them costs."""


class Opening(Protocol):
    """Opens processes, in a thread of its own."""

    def open(self) -> Executor | None:
        """Processes that are ready; None where there can be none: then threads it stays."""
        ...

    def abandon(self) -> None:
        """End `open` soon, as nobody needs them any more."""
        ...


class LateProcesses(Executor):
    """Threads at first; once the work has lasted a while, processes are opened beside it.

    `on_open` is called by the thread that submits, once it is known whether there are processes.
    """

    def __init__(
        self, workers: int, opening: Opening, on_open: Callable[[], None], patience: float
    ) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="worker")
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="opener")
        self._processes, self._on_open = opening, on_open
        self._until = time.monotonic() + patience
        self._opening: Future[Executor | None] | None = None
        self._current: Executor = self._threads

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """By a thread or a process: the answer is the same."""
        if self._opening is None and time.monotonic() >= self._until:
            self._opening = self._opener.submit(self._processes.open)
        if self._opening is not None and self._opening.done() and self._current is self._threads:
            opened = self._opening.result()
            self._opening = Future()
            self._current = opened or self._threads
            self._on_open()
        return self._current.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Of all; processes that are only being started are not awaited."""
        if self._current is self._threads:
            self._processes.abandon()
        self._opener.shutdown(wait=True)
        opened = self._opening.result() if self._opening and self._opening.done() else None
        for pool in (opened, self._current):
            if pool is not None and pool is not self._threads:
                pool.shutdown(wait, cancel_futures=cancel_futures)
        self._threads.shutdown(wait=True, cancel_futures=cancel_futures)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """After an error processes are ended; threads finish their batch."""
        self.shutdown(wait=error is None, cancel_futures=error is not None)
