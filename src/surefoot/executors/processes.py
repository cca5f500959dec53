"""Worker processes of this machine: started afresh, each with a bench and a pipe of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from multiprocessing import spawn
from multiprocessing.connection import Connection, Pipe
from queue import SimpleQueue

from surefoot.core.tasks import Answers, Task
from surefoot.errors import InvalidArgument, WorkerFailed
from surefoot.executors import worker
from surefoot.executors.dispatch import Dispatch, WorkerLost
from surefoot.executors.worker import Package, Reply, T

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables by which numerical libraries take one thread for each process, read on import."""
_SECONDS_TO_END = 5.0
"""Seconds for a process to end after it was terminated, before it is killed."""
_PROGRAM = """
import sys
from multiprocessing.connection import Connection
pipe = Connection({pipe})
try:
    sys.path[:], sys.argv[:] = pipe.recv()
except (EOFError, OSError):
    raise SystemExit(1)
from surefoot.executors.worker import serve
serve(pipe, {parent})
"""
"""Imports from where this process does, and runs no script of the user: that may begin the run
again. Where a model is defined in the script, opening the package runs it."""


def open_processes(
    package: Package, workers: int, on_replace: Callable[[], None] = lambda: None
) -> Dispatch:
    """An executor over processes that each open the package; a killed one is replaced."""
    if worker.is_worker():
        raise InvalidArgument(
            "a worker process runs the script that started it, and the script begins a run "
            'again: put what it does below if __name__ == "__main__":'
        )
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
        self._process: subprocess.Popen[bytes] | None = None
        self._parent = -1  # the end of a pipe that is open as long as this process lives
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
            process, parent, self._parent = self._process, self._parent, -1
            self._ended = True
        self._batches.put(None)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if parent >= 0:
            os.close(parent)

    def _run(self, package: Package) -> None:
        """The thread: start the process, then one batch after the other."""
        waiting: Future[str] | Future[Answers] = self.opened
        try:
            with self._start() as pipe:
                self.placed.set_result(None)
                try:
                    pipe.send((sys.path, sys.argv))
                    pipe.send(package)
                    _settle(self.opened, pipe.recv())
                    while (batch := self._batches.get()) is not None:
                        tasks, waiting = batch
                        pipe.send(tasks)
                        _settle(waiting, pipe.recv())
                except (EOFError, OSError) as error:
                    raise WorkerLost("killed") from error
        except Exception as error:  # noqa: BLE001  the future carries it
            waiting.set_exception(error)

    def _start(self) -> Connection[object, Reply]:
        """Start the process; our end of its pipe."""
        own, other = Pipe()
        watched, parent = os.pipe()
        try:
            with self._starting, _signals_blocked():
                if self._ended:
                    raise WorkerLost("ended")
                self._process = subprocess.Popen(  # noqa: S603  this Python
                    _command(_PROGRAM.format(pipe=other.fileno(), parent=watched)),
                    env={**ONE_THREAD, **os.environ},
                    stdin=subprocess.DEVNULL,
                    pass_fds=(other.fileno(), watched),
                )
                self._parent = parent
        except BaseException:
            own.close()
            os.close(parent)
            raise
        finally:
            other.close()
            os.close(watched)
        return own


def _settle(future: Future[T], reply: Reply) -> None:
    answer, error = reply
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(answer)


def _command(program: str) -> list[str]:
    """This Python with its options, running the program."""
    words: list[str] = spawn.get_command_line()
    if "-c" not in words:
        raise WorkerFailed(
            "a frozen program starts no worker processes: use executor threads (--executor threads)"
        )
    place = words.index("-c") + 1
    return [*words[:place], program]


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
