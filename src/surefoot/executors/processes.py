"""Worker processes of this machine: started afresh, each with a bench and a pipe of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue

from surefoot.core.tasks import Answers, Task
from surefoot.errors import ModelFailed
from surefoot.executors import worker
from surefoot.executors.dispatch import Dispatch, WorkerLost
from surefoot.executors.worker import Package, settle
from surefoot.models.call_limit import LATE, late_words
from surefoot.system.child_process import Child, start_child

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables by which numerical libraries take one thread for each process, read on import."""


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
                self._child = child = start_child(worker.__name__, ONE_THREAD)
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
