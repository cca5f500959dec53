"""Batches for workers that may be lost or slow: given out one at a time, and again where needed."""

from __future__ import annotations

import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent import futures
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Protocol

from surefoot.core.tasks import Answers, Task
from surefoot.errors import WorkerFailed
from surefoot.executors.worker import BatchPool, T, settle


class WorkerLost(BrokenExecutor):
    """A worker, its process or its machine has ended."""


class Worker(Protocol):
    """Somewhere else, with a bench of its own."""

    @property
    def placed(self) -> Future[None]:
        """Done once it has a process."""

    @property
    def opened(self) -> Future[str]:
        """Done once it has its bench; the exception says why it has none."""

    def answer(self, tasks: Sequence[Task]) -> Future[Answers]:
        """The evidence of each task; `WorkerLost` where nobody will answer."""

    def end(self) -> None:
        """End it, whatever it does."""


MOST_LOSSES = 3
"""How often a batch may lose its worker, and each worker on average may be replaced: more often,
and it is the work that ends them."""
SECONDS_TO_PLACE = 60.0
"""For a worker to get its place on a machine: a process starts in seconds on a busy one."""
SLOW = 5.0
"""Times the typical duration, after which an idle worker gets the same batch: far above what
batches of one run differ by."""
SLOW_SECONDS = 1.0
"""Below this no batch counts as slow: then the clock and other programs decide."""
_RECENT = 32
"""Durations of which the median is typical: it follows a batch size that changes."""


@dataclass(eq=False)
class _Batch:
    tasks: Sequence[Task]
    future: Future[Answers] = field(default_factory=Future)
    losses: int = 0
    copies: int = 0


@dataclass(eq=False)
class _Place:
    """A worker and what it does."""

    worker: Worker
    ready: bool = False
    batch: _Batch | None = None
    since: float = 0.0


class Dispatch(BatchPool):
    """An executor over workers that `start` gives; `scarcity` says why one gets no place.

    A lost worker is replaced and its batch given to another; `on_replace` is called, by the thread
    that submits. Where nothing else is left to do, an idle worker gets a batch that lasts unusually
    long, and the first answer counts (`repeat_slow`). One thread does all of it, event by event.
    """

    def __init__(
        self,
        start: Callable[[], Worker],
        workers: int,
        scarcity: Callable[[], str],
        on_end: Callable[[], None] = lambda: None,
        on_replace: Callable[[], None] = lambda: None,
        repeat_slow: bool = True,
    ) -> None:
        self._start, self._workers, self._scarcity = start, workers, scarcity
        self._on_end, self._on_replace, self._repeat_slow = on_end, on_replace, repeat_slow
        self.in_flight = 2 * workers
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._queue: deque[_Batch] = deque()
        self._places: list[_Place] = []
        self._submitted: set[Future[Answers]] = set()
        self._durations: deque[float] = deque(maxlen=_RECENT)
        self._replaced = self._announced = 0
        self._without_place = time.monotonic()
        self._first: Future[None] = Future()
        self._error: Exception | None = None
        self._ended = False
        for _ in range(workers):
            self._events.put(self._add_worker)
        self._thread = threading.Thread(target=self._run, name="dispatch", daemon=True)
        self._thread.start()

    def wait_until_ready(self) -> Dispatch:
        """Itself, once a worker has its bench; raises where none can have one."""
        try:
            self._first.result()
        except BaseException:
            self.end()
            raise
        return self

    @property
    def ready(self) -> int:
        """Workers that have their bench by now."""
        return sum(place.ready for place in self._places)

    def submit_tasks(self, tasks: Sequence[Task]) -> Future[Answers]:
        """The evidence of each task, by any worker."""
        self._say_replaced()
        if self._error is not None:
            raise self._error
        batch = _Batch(tasks)
        self._submitted.add(batch.future)
        batch.future.add_done_callback(self._submitted.discard)
        self._events.put(partial(self._enqueue, batch))
        return batch.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Without waiting, workers are ended in the middle of a batch."""
        if wait and not cancel_futures:
            futures.wait(list(self._submitted))
        self.end()
        self._say_replaced()

    def _say_replaced(self) -> None:
        """To whoever submits: warnings and lines of progress are not for another thread."""
        while self._announced < self._replaced:
            self._announced += 1
            self._on_replace()

    def end(self) -> None:
        """End the workers, whatever they do."""
        self._ended = True
        self._events.put(lambda: None)
        self._thread.join()
        for place in self._places:
            place.worker.end()
        self._places.clear()
        self._fail(self._error or WorkerFailed("workers were ended: begin the run again"))
        on_end, self._on_end = self._on_end, lambda: None  # once, however often it is ended
        on_end()

    def _run(self) -> None:
        """The thread: begin, then one event after the other."""
        while not self._ended:
            try:
                with suppress(Empty):
                    self._events.get(timeout=self._seconds_until_look())()
                if self._error is None:
                    self._check_places()
                    self._give_out()
            except Exception as error:  # noqa: BLE001  nobody else would hear of it
                self._fail(error)

    def _enqueue(self, batch: _Batch) -> None:
        if self._error is None:
            self._queue.append(batch)
        else:
            settle(batch.future, None, self._error)

    def _add_worker(self) -> None:
        worker = self._start()
        place = _Place(worker)
        self._places.append(place)
        worker.placed.add_done_callback(lambda _: self._events.put(lambda: None))
        worker.opened.add_done_callback(
            lambda opened: self._events.put(partial(self._on_open, place, opened))
        )

    def _on_open(self, place: _Place, opened: Future[str]) -> None:
        error = _error_of(opened)
        if isinstance(error, WorkerLost):
            self._lose(place, error)
        elif error is not None:
            self._fail(error)
        else:
            place.ready = True
            if not self._first.done():
                self._first.set_result(None)

    def _on_answer(self, place: _Place, batch: _Batch, answer: Future[Answers]) -> None:
        place.batch = None
        batch.copies -= 1
        error = _error_of(answer)
        if isinstance(error, WorkerLost):
            self._take_back(batch)
            self._lose(place, error)
            return
        self._durations.append(time.monotonic() - place.since)
        # nothing where another worker was faster
        settle(batch.future, answer.result() if error is None else None, error)

    def _take_back(self, batch: _Batch) -> None:
        """A batch whose worker was lost, for another one."""
        batch.losses += 1
        if not batch.copies and not batch.future.done():
            self._queue.appendleft(batch)  # first: the loop may be waiting for it alone
        if batch.losses > MOST_LOSSES:
            sentence = (
                f"a batch lost its worker {batch.losses} times, most often because memory runs "
                "out: use smaller batches (--batch) or fewer workers (--workers)"
            )
            self._fail(WorkerFailed(sentence))

    def _lose(self, place: _Place, error: WorkerLost) -> None:
        if place not in self._places or self._error is not None:
            return
        self._places.remove(place)
        place.worker.end()
        if self._replaced == MOST_LOSSES * self._workers:
            sentence = (
                f"workers were lost {self._replaced + 1} times ({error}): use fewer workers "
                "(--workers), or executor threads (--executor threads)"
            )
            self._fail(WorkerFailed(sentence))
        else:
            self._replaced += 1
            self._add_worker()

    def _give_out(self) -> None:
        for place in self._places:
            if not place.ready or place.batch is not None:
                continue
            batch = self._next_batch()
            if batch is None:
                return
            place.batch, place.since = batch, time.monotonic()
            batch.copies += 1
            announce = partial(self._announce, place, batch)
            place.worker.answer(batch.tasks).add_done_callback(announce)

    def _announce(self, place: _Place, batch: _Batch, answer: Future[Answers]) -> None:
        """Called by a thread of the worker's side."""
        self._events.put(partial(self._on_answer, place, batch, answer))

    def _next_batch(self) -> _Batch | None:
        """The next one; else one that a single worker has had for unusually long."""
        while self._queue:
            batch = self._queue.popleft()
            if batch.future.running() or batch.future.set_running_or_notify_cancel():
                return batch
        if not self._repeat_slow:
            return None
        now, limit = time.monotonic(), self._slow_after()
        return next((p.batch for p in self._alone() if now - p.since >= limit), None)

    def _alone(self) -> list[_Place]:
        """Workers whose batch nobody else has, and is still open."""
        return [
            p for p in self._places if p.batch and p.batch.copies == 1 and not p.batch.future.done()
        ]

    def _slow_after(self) -> float:
        """Seconds; for ever while no batch was answered."""
        if not self._durations:
            return float("inf")
        return max(SLOW_SECONDS, SLOW * statistics.median(self._durations))

    def _check_places(self) -> None:
        """Refuse to go on where no worker gets a place."""
        now = time.monotonic()
        if any(place.worker.placed.done() for place in self._places):
            self._without_place = now
        elif now - self._without_place >= SECONDS_TO_PLACE:
            limit = f"within {SECONDS_TO_PLACE:g} seconds"
            self._fail(WorkerFailed(f"no worker was started {limit}: {self._scarcity()}"))

    def _seconds_until_look(self) -> float | None:
        """Until something may be due that no event announces; None: nothing."""
        now, due = time.monotonic(), []
        if not any(place.worker.placed.done() for place in self._places):
            due.append(self._without_place + SECONDS_TO_PLACE)
        idle = any(place.ready and not place.batch for place in self._places)
        if self._repeat_slow and self._durations and idle:
            due += [place.since + self._slow_after() for place in self._alone()]
        return max(0.0, min(due) - now) if due and self._error is None else None

    def _fail(self, error: Exception) -> None:
        """The same for everybody who waits, and for whoever comes."""
        self._error = error
        self._queue.clear()
        settle(self._first, None, error)
        for future in list(self._submitted):
            settle(future, None, error)


def _error_of(future: Future[T]) -> Exception | None:
    """Its exception; a future that was cancelled counts as a lost worker."""
    if future.cancelled():
        return WorkerLost("ended")
    error = future.exception()
    if error is None or isinstance(error, Exception):
        return error
    return WorkerLost(type(error).__name__)
