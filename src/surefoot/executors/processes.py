"""Worker processes: started afresh, each with a bench of its own, replaced where one is killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import spawn
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.queues import Queue
from typing import Any

from surefoot.core.tasks import Answers, Task
from surefoot.errors import InvalidArgument, WorkerFailed
from surefoot.executors import worker
from surefoot.executors.worker import BatchPool, Package, T

MOST_REPLACEMENTS = 3
"""How often worker processes are replaced in a run: more often, and it is the work that ends them.
"""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables by which numerical libraries take one thread for each process, read on import."""
_SECONDS_TO_END = 5.0
"""Seconds for a process to end after it was terminated, before it is killed."""
_STARTING = threading.Lock()
"""One process is started at a time: the environment is changed meanwhile."""


class Processes(BatchPool):
    """An executor whose processes each hold the bench; a killed one is replaced."""

    def __init__(
        self, package: Package, workers: int, on_replace: Callable[[], None] = lambda: None
    ) -> None:
        if worker.is_worker():
            raise InvalidArgument(
                "a worker process runs the script that started it, and the script begins a run "
                'again: put what it does below if __name__ == "__main__":'
            )
        self._package, self._workers, self._on_replace = package, workers, on_replace
        self._replaced, self._closed = 0, False
        self._submitted: set[Future[Answers]] = set()
        self._closing = threading.RLock()  # processes may be ended by two threads at once
        self._open()

    def wait_until_ready(self) -> Processes:
        """Itself, once processes have their bench; raises where they cannot have one."""
        try:
            while True:
                try:
                    # as many at once: the pool starts a process where none is idle
                    answers = [self._pool.submit(worker.ready) for _ in range(self._workers)]
                    for one in answers:
                        one.result()
                except (RuntimeError, CancelledError) as error:  # killed, or ended meanwhile
                    self._replace(error)
                else:
                    return self
        except BaseException:
            self.end()
            raise

    def _open(self) -> None:
        self._context = _Context()
        self._mailbox: Queue[Package] = self._context.Queue()
        self._mailbox.cancel_join_thread()  # what no process takes is dropped
        setattr(self._mailbox, "_ignore_epipe", True)  # noqa: B010  not in its type
        for _ in range(self._workers):
            self._mailbox.put(self._package)
        self._pool = ProcessPoolExecutor(
            self._workers, self._context, worker.begin, (self._mailbox,)
        )

    def submit_tasks(self, tasks: Sequence[Task]) -> Future[Answers]:
        """The evidence of each task; where processes were killed, by new ones."""
        try:
            future = self._pool.submit(worker.answer, tasks)
        except BrokenProcessPool as error:
            self._replace(error)
            future = self._pool.submit(worker.answer, tasks)
        self._submitted.add(future)
        future.add_done_callback(self._submitted.discard)
        return future

    def _replace(self, error: Exception) -> None:
        """New processes for those that were killed; refused where that happened too often."""
        with self._closing:
            if self._closed:
                raise WorkerFailed("worker processes were ended: begin the run again") from error
            if self._replaced == MOST_REPLACEMENTS:
                raise WorkerFailed(
                    f"worker processes were killed {self._replaced + 1} times, most often because "
                    "memory runs out: use fewer workers (--workers), or executor threads "
                    "(--executor threads)"
                ) from error
            self._replaced += 1
            self._stop()
            self._open()
        self._on_replace()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Without waiting, processes are terminated in the middle of a batch."""
        if wait and not cancel_futures:
            futures.wait(list(self._submitted))
        self.end()  # a thread that the model left running would keep a process for ever

    def end(self) -> None:
        """Terminate the processes, whatever they do."""
        # Set before the lock is taken: a thread that replaces processes meanwhile starts no others.
        self._closed = True
        with self._closing:
            self._stop()

    def _stop(self) -> None:
        self._context.end()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._mailbox.close()


class _Process(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: ANN401  multiprocessing calls it so
        with (
            _STARTING,
            inherited(**ONE_THREAD),
            _signals_blocked(),
            # The script of this process may begin the run again; where a model is defined in it,
            # opening the package runs it.
            _changed("get_preparation_data", _without_script),
            _changed("get_command_line", _quiet_end),
        ):
            return SpawnProcess._Popen(process_obj)


class _Context(SpawnContext):
    """Processes that run no script of the user, and a list of them."""

    def __init__(self) -> None:
        super().__init__()
        self._started: list[_Process] = []

    def Process(self, *args: Any, **kwargs: Any) -> _Process:  # type: ignore[override]  # noqa: ANN401  handed on as they are
        """A new process, not started yet."""
        process = _Process(*args, **kwargs)
        self._started.append(process)
        return process

    def end(self) -> None:
        """Terminate every process that is left."""
        running = [p for p in self._started if p.pid is not None and p.is_alive()]
        for process in running:
            process.terminate()
        for process in running:
            process.join(_SECONDS_TO_END)
            if process.is_alive():
                process.kill()
                process.join()


@contextmanager
def inherited(**values: str) -> Iterator[None]:
    """Variables that new processes inherit, unless the user has set them."""
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Signals wait while a process is started; it inherits that, and unblocks them as it begins."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, worker.BLOCKED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _changed(name: str, change: Callable[[T], T]) -> Iterator[None]:
    """What this function of `spawn` gives is changed, for processes that this thread starts."""
    original, own = getattr(spawn, name), threading.get_ident()

    def changed(*args: Any, **kwargs: Any) -> T:  # noqa: ANN401  as multiprocessing calls it
        value: T = original(*args, **kwargs)
        return change(value) if threading.get_ident() == own else value

    setattr(spawn, name, changed)
    try:
        yield
    finally:
        setattr(spawn, name, original)


def _without_script(data: dict[str, Any]) -> dict[str, Any]:
    """What a new process is prepared with, less the script of this one."""
    return {key: value for key, value in data.items() if not key.startswith("init_main")}


def _quiet_end(words: list[str]) -> list[str]:
    """New processes end without a word where this one is killed before it has sent them all."""
    if "-c" in words:
        place = words.index("-c") + 1
        words[place] = (
            f"import pickle\ntry: {words[place]}\n"
            "except (EOFError, pickle.UnpicklingError): raise SystemExit(1)"
        )
    return words
