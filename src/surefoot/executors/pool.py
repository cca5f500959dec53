"""Which executor runs the batches: threads, processes, or one of the caller's own."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from queue import SimpleQueue

from surefoot.core.tasks import Answers, AnyBench, Task
from surefoot.errors import InvalidArgument, ModelFailed, SurefootError, WorkerFailed
from surefoot.executors import worker
from surefoot.executors.devices import Devices, Work
from surefoot.executors.dispatch import Dispatch, WorkerLost
from surefoot.executors.ray_connection import Ray, require_installed
from surefoot.executors.worker import BatchPool, CannotSend, P, Package, Reduced, T, pack, settle
from surefoot.models.call_limit import LATE, late_words
from surefoot.system.child_process import Child, start_child


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


def open_processes(
    package: Package, workers: int, on_replace: Callable[[], None] = lambda: None
) -> Dispatch:
    """An executor over processes that each open the package; a killed one is replaced."""
    worker.refuse_nested()
    # No batch is given out twice: cores of one machine are alike, and proofs differ in length.
    return Dispatch(
        lambda: WorkerProcess(package),
        workers,
        lambda: "the system starts none: use executor threads (--executor threads)",
        on_replace=on_replace,
        repeat_slow=False,
    )


class WorkerProcess:
    """One process; a thread sends it a batch at a time and waits for what it answers."""

    def __init__(self, package: Package) -> None:
        self.placed: Future[None] = Future()
        self.opened: Future[str] = Future()
        self._batches: SimpleQueue[tuple[Sequence[Task], Future[Answers]] | None] = SimpleQueue()
        self._child: Child | None = None
        self._ended, self._starting = False, threading.Lock()
        threading.Thread(target=self._run, args=(package,), daemon=True).start()

    def answer(self, tasks: Sequence[Task]) -> Future[Answers]:
        """The evidence of each task; `WorkerLost` where the process has ended."""
        future: Future[Answers] = Future()
        self._batches.put((tasks, future))
        return future

    def end(self) -> None:
        """Terminate the process, whatever it does: a thread of the model may never end."""
        with self._starting:  # none is started from now on
            child, self._child = self._child, None
            self._ended = True
        self._batches.put(None)
        if child is not None:
            child.end()

    def _run(self, package: Package) -> None:
        """The thread: start the process, then one batch after the other."""
        waiting: Future[str] | Future[Answers] = self.opened
        try:
            with self._starting:
                if self._ended:
                    raise WorkerLost("ended")
                self._child = child = start_child(worker.__name__, worker.ONE_THREAD)
            self.placed.set_result(None)
            with child.pipe as pipe:
                try:
                    pipe.send(package)
                    settle(self.opened, *pipe.recv())
                    while (batch := self._batches.get()) is not None:
                        tasks, waiting = batch
                        pipe.send(tasks)
                        settle(waiting, *pipe.recv())
                except (EOFError, OSError) as error:
                    if child.exit_code() == LATE:
                        raise ModelFailed(late_words(package.call_limit)) from None
                    raise WorkerLost("killed") from error
        except Exception as error:  # noqa: BLE001  the future carries it
            waiting.set_exception(error)
            while (batch := self._batches.get()) is not None:
                batch[1].set_exception(error)


PATIENCE_SECONDS = 2.0
"""Seconds of work in threads before two processes are started, about what starting them costs; of
more a share, since waiting for them loses more."""
_THREADS_AT_FIRST = 2
"""Threads that work before processes do: they share Python's lock, and what they have begun no
process can take over."""


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


_REPLACED = WorkerNote("a worker process was killed; a new one took over", fallback=True)
_LOST_BY_RAY = WorkerNote("a worker of Ray was killed or lost; a new one took over", fallback=True)


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
        from surefoot.executors.ray_cluster import open_ray

        options = executor if isinstance(executor, Ray) else Ray()
        replaced = partial(on_workers, _LOST_BY_RAY)
        pool, sentence = open_ray(options, work, cores(), replaced)
        on_workers(WorkerNote(sentence))
        return pool
    if executor is not None and not isinstance(executor, str):
        if work.devices:
            note = (
                f"of {len(work.devices)} devices only {work.devices[0].device} is used, as an "
                "executor of your own gets one copy of the model: leave out executor to use all"
            )
            on_workers(WorkerNote(note, fallback=True))
        return Borrowed(executor, work.bench)
    if executor == PROCESSES:
        if work.on_device:
            raise InvalidArgument(
                "executor processes (--executor processes) is for models on the processor, and "
                "this one is on a GPU, which threads share: leave it out"
            )
        replaced = partial(on_workers, _REPLACED)
        processes = open_processes(pack(work.bench), work.workers, replaced).wait_until_ready()
        why = "as requested" if work.requested else "one for each core"
        on_workers(WorkerNote(f"{_count(work.workers)}, {why}"))
        return processes
    if work.devices and work.workers > 1:
        used = work.devices[: work.workers]
        names = ", ".join(one.device for one in used)
        on_workers(WorkerNote(f"{work.workers} threads on {len(used)} devices: {names}"))
        return Devices(used, work.workers)
    if executor == THREADS or not work.in_python or work.workers == 1:
        kept = work.on_device and work.workers > 1
        return Borrowed(kept_threads(work.workers), work.bench) if kept else open_pool(work.workers)
    return LateProcesses(work, on_workers)


@lru_cache(maxsize=4)
def kept_threads(workers: int) -> ThreadPoolExecutor:
    """Threads that outlive a run: what the libraries of a GPU set up, each thread has of its own.

    A new one chooses the code of every layer and takes memory for its batches anew.
    """
    return ThreadPoolExecutor(workers, thread_name_prefix="worker")


class LateProcesses(BatchPool):
    """Threads at first; once the work has lasted a while, processes are opened beside it.

    A thread of its own opens them. Where there can be none, threads it stays: a run never fails
    for what would only have made it faster. The note on it comes from the thread that submits.
    """

    def __init__(self, work: Work, on_workers: OnWorkers) -> None:
        self._work, self._on_workers = work, on_workers
        self._threads = ThreadPoolExecutor(work.workers, thread_name_prefix="worker")
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="opener")
        self._until = time.monotonic() + PATIENCE_SECONDS * min(1.0, 2 / work.workers)
        self._opening: Future[WorkerNote] | None = None
        self._processes: Dispatch | None = None
        self._current: Executor | None = None
        self._abandoned = False
        self._waiting: deque[tuple[Sequence[Task], Future[Answers]]] = deque()
        self._running, self._giving_out = 0, threading.Lock()

    def submit_tasks(self, tasks: Sequence[Task]) -> Future[Answers]:
        """By a thread or a process: the answer is the same."""
        if self._opening is None and time.monotonic() >= self._until:
            self._opening = self._opener.submit(self._open)
        if self._current is None and self._opening is not None and self._opening.done():
            note = self._opening.result()
            self._current = self._threads if note.fallback else self._processes
            self._on_workers(note)
        future: Future[Answers] = Future()
        self._waiting.append((tasks, future))
        self._give_out()
        return future

    def _give_out(self) -> None:
        """Batches to whoever works now, in their order; called by any thread."""
        while not self._abandoned:
            with self._giving_out:
                full = self._current is None and self._running >= _THREADS_AT_FIRST
                if full or not self._waiting:
                    return
                tasks, future = self._waiting.popleft()
                if not future.set_running_or_notify_cancel():
                    continue
                self._running += 1
            try:
                own = (self._current or self._threads).submit(self._work.bench.answer, tasks)
            except Exception as error:  # noqa: BLE001  who waits for the batch is given it
                own = Future()
                own.set_exception(error)
            own.add_done_callback(partial(self._on_answer, future))

    def _on_answer(self, future: Future[Answers], own: Future[Answers]) -> None:
        with self._giving_out:
            self._running -= 1
        ended = WorkerFailed("workers were ended: begin the run again")
        error = ended if own.cancelled() else own.exception()
        settle(future, None if error else own.result(), error)
        if self._current is None:  # else whoever submits gives out: a pool's own thread must not
            self._give_out()

    def _open(self) -> WorkerNote:
        """Open processes if that is possible; what came of it."""
        work = self._work
        try:
            package = pack(work.bench)
            if package.main:  # it is run again only where the user asks for processes
                raise CannotSend(
                    f"a part of it is defined in the running script {package.main}, which other "
                    "processes would run again: import it from another file; or put what the "
                    'script does below if __name__ == "__main__": and pass executor processes'
                )
            replaced = partial(self._on_workers, _REPLACED)
            self._processes = open_processes(package, work.workers, replaced)
            if self._abandoned:
                self._processes.end()
            self._processes.wait_until_ready()
        except (SurefootError, OSError) as error:  # the second where the system starts no process
            return WorkerNote(f"{work.workers} threads, not processes: {error}", fallback=True)
        return WorkerNote(f"{_count(work.workers)}: {work.in_python}")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Of all; processes that are only being started are not awaited."""
        self._abandoned = True
        while self._waiting:
            self._waiting.popleft()[1].cancel()
        if self._current is None and self._processes is not None:
            self._processes.end()
        self._opener.shutdown(wait=True)
        if self._processes is not None:
            self._processes.shutdown(wait, cancel_futures=cancel_futures)
        # A thread cannot be ended: it finishes its batch, also after an error.
        self._threads.shutdown(wait=True, cancel_futures=cancel_futures)


def _count(workers: int) -> str:
    return "1 process" if workers == 1 else f"{workers} processes"
