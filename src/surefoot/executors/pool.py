"""Which executor runs the batches: threads, processes, or one of the caller's own."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from types import TracebackType
from typing import Protocol

from surefoot.core.tasks import Answers, AnyBench, Task
from surefoot.errors import InvalidArgument, SurefootError, WorkerFailed
from surefoot.executors import worker
from surefoot.executors.devices import DeviceBench, Devices
from surefoot.executors.processes import Processes
from surefoot.executors.ray_connection import Ray, require_installed
from surefoot.executors.worker import BatchPool, CannotSend, P, Package, Reduced, T, pack


class Inline(Executor):
    """An executor without workers."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The result, or the exception, is there when this returns."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  the future carries it
            future.set_exception(error)
        return future


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


class Sent:
    """`bench.answer` as it is; pickled, each process opens a bench of its own."""

    def __init__(self, bench: AnyBench) -> None:
        self._bench = bench

    @cached_property
    def _package(self) -> Package:
        return pack(self._bench)

    def __call__(self, tasks: Sequence[Task]) -> Answers:
        """The evidence of each task."""
        return self._bench.answer(tasks)

    def __reduce__(self) -> Reduced:
        """The package goes along with every batch; a process opens it once."""
        return partial, (worker.answer_package, self._package)


class Borrowed(BatchPool):
    """Submits to an executor that somebody else opened and will close."""

    def __init__(self, executor: Executor, bench: AnyBench) -> None:
        self._executor, self._answer = executor, Sent(bench)

    def submit_tasks(self, tasks: Sequence[Task]) -> Future[Answers]:
        """The evidence of each task."""
        try:
            return self._executor.submit(self._answer, tasks)
        except BrokenExecutor as error:
            raise WorkerFailed(
                f"the executor {type(self._executor).__name__} is broken ({error}): pass a new one"
            ) from error

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing: it is not ours."""


THREADS, PROCESSES, RAY = "threads", "processes", "ray"
EXECUTORS = (THREADS, PROCESSES, RAY)
"""The names that `executor` takes."""
AnyExecutor = str | Ray | Executor | None
"""A name of `EXECUTORS`, Ray with options, an executor of the caller's own, or None: what helps."""
OnWorkers = Callable[["WorkerNote"], None]


@dataclass(frozen=True)
class WorkerNote:
    """One sentence on where the batches run; `fallback`: not where or as they would run best."""

    sentence: str
    fallback: bool = False

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence


_REPLACED = WorkerNote("a worker process was killed; new ones took over", fallback=True)


@dataclass(frozen=True, eq=False)
class Work:
    """The bench that answers, how many work on it, and why threads would not help (`in_python`).

    `on_device`: the model is on a GPU, which processes cannot share. `devices`: a bench for each
    device, where there are several. `requested`: the user chose the number of workers.
    """

    bench: AnyBench
    workers: int
    in_python: str = ""
    on_device: bool = False
    devices: Sequence[DeviceBench] = ()
    requested: bool = True


def cores() -> int:
    """Processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_executor(executor: AnyExecutor) -> None:
    """Refuse what is no executor, and Ray where it is not installed."""
    if executor == RAY or isinstance(executor, Ray):
        require_installed()
    if executor is None or isinstance(executor, Ray) or executor in EXECUTORS:
        return
    if isinstance(executor, str) or not callable(getattr(executor, "submit", None)):
        raise InvalidArgument(
            f"executor (--executor) must be {', '.join(EXECUTORS[:-1])} or {EXECUTORS[-1]}, or in "
            f"Python an object of concurrent.futures, got {executor!r}"
        )


def warn_of_fallback(note: WorkerNote) -> None:
    """A warning where batches do not run where they would run best."""
    if note.fallback:
        warnings.warn(str(note), stacklevel=2)


def open_pool(workers: int) -> Executor:
    """Inline for one worker, else threads."""
    if workers < 1:
        raise InvalidArgument(f"workers must be an integer ≥ 1, got {workers}")
    return Inline() if workers == 1 else ThreadPoolExecutor(workers, thread_name_prefix="worker")


def open_work(work: Work, executor: AnyExecutor, on_workers: OnWorkers) -> Executor:
    """The executor for this work; one of the caller's own stays open when this is closed."""
    check_executor(executor)
    if executor == RAY or isinstance(executor, Ray):
        return _workers_of_ray(work, Ray() if isinstance(executor, str) else executor, on_workers)
    if executor is not None and not isinstance(executor, str):
        if work.devices:
            note = (
                f"of {len(work.devices)} devices only {work.devices[0].device} is used, as an "
                "executor of your own gets one copy of the model: leave out executor to use all"
            )
            on_workers(WorkerNote(note, fallback=True))
        return Borrowed(executor, work.bench)
    if executor == PROCESSES:
        return _requested_processes(work, on_workers)
    if work.devices and work.workers > 1:
        used = work.devices[: work.workers]
        names = ", ".join(one.device for one in used)
        on_workers(WorkerNote(f"{work.workers} threads on {len(used)} devices: {names}"))
        return Devices(used, work.workers)
    if executor == THREADS or not work.in_python or work.workers == 1:
        return open_pool(work.workers)

    opening = _Opening(work, partial(on_workers, _REPLACED))
    return LateProcesses(work.workers, opening, lambda: on_workers(opening.note), PATIENCE_SECONDS)


def _requested_processes(work: Work, on_workers: OnWorkers) -> Executor:
    if work.on_device:
        raise InvalidArgument(
            "executor processes (--executor processes) is for models on the processor, and this "
            "one is on a GPU, which threads share: leave it out"
        )
    replaced = partial(on_workers, _REPLACED)
    pool = Processes(pack(work.bench), work.workers, replaced).wait_until_ready()
    why = "as requested" if work.requested else "one for each core"
    on_workers(WorkerNote(f"{_count(work.workers)}, {why}"))
    return pool


def _workers_of_ray(work: Work, options: Ray, on_workers: OnWorkers) -> Executor:
    from surefoot.executors.ray_cluster import RayWork, open_ray

    number = work.workers if work.requested else None
    pool, sentence = open_ray(options, RayWork(work.bench, number, cores(), work.on_device))
    on_workers(WorkerNote(sentence))
    return pool


class _Opening:
    """Opens processes if that is possible, and notes what came of it."""

    def __init__(self, work: Work, on_replace: Callable[[], None]) -> None:
        self._work, self.note, self._on_replace = work, WorkerNote(""), on_replace
        self._pool: Processes | None = None
        self._abandoned = False

    def open(self) -> Executor | None:
        """Processes; None where what they need cannot be sent."""
        work = self._work
        try:
            package = pack(work.bench)
            if package.main:  # it is run again only where the user asks for processes
                raise CannotSend(
                    f"a part of it is defined in the running script {package.main}, which other "
                    "processes would run again: import it from another file; or put what the "
                    'script does below if __name__ == "__main__": and pass executor processes'
                )
            self._pool = Processes(package, work.workers, self._on_replace)
            if self._abandoned:
                self._pool.end()
                return None
            self._pool.wait_until_ready()
        except (SurefootError, OSError) as error:  # the second where the system starts no process
            self.note = WorkerNote(f"{work.workers} threads, not processes: {error}", fallback=True)
            return None
        self.note = WorkerNote(f"{_count(work.workers)}: {work.in_python}")
        return self._pool

    def abandon(self) -> None:
        """End processes that are being started."""
        self._abandoned = True
        if self._pool is not None:
            self._pool.end()


def _count(workers: int) -> str:
    return "1 process" if workers == 1 else f"{workers} processes"
