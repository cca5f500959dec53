"""Which executor runs the batches: threads, processes, or one of the caller's own."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from surefoot.errors import InvalidArgument, SurefootError
from surefoot.executors.borrowed import Borrowed
from surefoot.executors.devices import DeviceBench, Devices
from surefoot.executors.inline import Inline
from surefoot.executors.late_processes import PATIENCE_SECONDS, LateProcesses
from surefoot.executors.processes import Processes
from surefoot.executors.ray_options import Ray, require_installed
from surefoot.executors.sending import CannotSend, Package, pack

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

    bench: Any
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
            on_workers(_only_first(work))
        return Borrowed(executor, work.bench)
    if executor == PROCESSES:
        return _requested_processes(work, on_workers)
    if work.devices and work.workers > 1:
        return _devices(work, on_workers)
    if executor == THREADS or not work.in_python or work.workers == 1:
        return open_pool(work.workers)

    opening = _Opening(work, partial(on_workers, _REPLACED))
    return LateProcesses(work.workers, opening, lambda: on_workers(opening.note), PATIENCE_SECONDS)


def _devices(work: Work, on_workers: OnWorkers) -> Executor:
    """Threads for as many devices as there are workers."""
    names = [one.device for one in work.devices[: work.workers]]
    on_workers(WorkerNote(f"{work.workers} threads on {len(names)} devices: {', '.join(names)}"))
    return Devices(work.devices[: work.workers], work.workers)


def _only_first(work: Work) -> WorkerNote:
    first = work.devices[0].device
    return WorkerNote(
        f"of {len(work.devices)} devices only {first} is used, as an executor of your own gets one "
        "copy of the model: leave out executor to use all",
        fallback=True,
    )


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
            _refuse_script(package)
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


def _refuse_script(package: Package) -> None:
    """A script is run again in other processes only where the user asks for processes."""
    if package.main:
        raise CannotSend(
            f"a part of it is defined in the running script {package.main}, which other processes "
            "would run again: import it from another file; or put what the script does below if "
            '__name__ == "__main__": and pass executor processes'
        )


def _count(workers: int) -> str:
    return "1 process" if workers == 1 else f"{workers} processes"
