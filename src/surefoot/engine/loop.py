"""The one loop that runs every method: batches, workers, resume and progress."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import Any, TypeVar

from surefoot.core.counts import Answer
from surefoot.core.procedure import Joint, Procedure
from surefoot.core.tasks import Bench, Entry, Subject, Task
from surefoot.engine.batching import take_batch
from surefoot.engine.progress import (
    Progress,
    TimeLimit,
    check_time_limit,
    progress_of,
    within_limit,
)
from surefoot.engine.subject_run import SubjectRun, cover
from surefoot.errors import ModelFailed, OutOfMemory, ReplayMismatch
from surefoot.store import Journal
from surefoot.system.memory_limits import no_garbage_collection

E = TypeVar("E", bound=Answer)
R = TypeVar("R")
Recipe = Procedure[Any, Any, R] | Mapping[str, Procedure[Any, Any, R]] | Joint[R]
"""One procedure for every subject, one for each by name, or one for all of them together."""
_PROGRESS_INTERVAL_SECONDS = 0.1
"""Between two reports of progress: smooth to the eye, and free next to a batch."""
_PROGRESS_SHARE = 0.02
"""Of the driver's time, at most, for reports: with 100,000 inputs they are seconds apart."""
_MOST_TOGETHER = 64
"""Batches that are journalled in one transaction, which costs as much as 30 rows; with more of them
workers would wait for their next batch."""
_SHARE_TOGETHER, _SECONDS_TOGETHER = 4, 0.01
"""A quarter of the batches in flight is awaited, but no longer than this, and journalled together.
Half of them are queued for the workers, so none runs dry; all workers share Python's lock."""
_SECONDS_A_BATCH = 0.03
"""Of the whole pool's work that make a batch, where the caller allows larger ones: what a batch
costs besides its trials, 0.2 to 0.6 ms under Python's lock, is little of it for any workers."""


def measure(
    procedure: Recipe[R],
    bench: Bench[E],
    subjects: Sequence[Subject],
    *,
    pool: Executor,
    journal: Journal,
    batch_size: int,
    block: int = 1,
    in_flight: int = 1,
    largest_batch: int = 0,
    watch: Callable[[Progress], None] = lambda progress: None,
    doing: str = "measuring",
    unit: str = "trials",
    time_limit: float | None = None,
    on_time_up: Callable[[], None] = lambda: None,
    known: Mapping[str, Sequence[Entry]] = MappingProxyType({}),
) -> list[R]:
    """Run every subject's procedure until it concludes; the results, in the order of subjects.

    All subjects are run by one recipe, or each has its own, by name; a `Joint` one is run once for
    all of them and has one result. Tasks of many subjects fill a batch. Its
    evidence goes to the journal before any procedure gets it, so a killed run resumes. Batches grow
    from `batch_size` to `largest_batch` where workers would have another one every moment.
    After `time_limit` seconds no batch is submitted; what is running is awaited, and procedures
    that have not concluded do so with the questions answered by then: then `on_time_up` is called.
    Trials that are `known` from another run are not run again.
    """
    check_time_limit(time_limit, _procedures(procedure, subjects))
    limit = TimeLimit.from_now(time_limit)
    with no_garbage_collection():
        runs, every = _start(procedure, subjects, journal)
        tasks = [task for run in every for task in run.advance()]
        queue = deque(_recalled(tasks, known, journal, runs))
    running: dict[Future[Sequence[E]], list[Task]] = {}
    done: SimpleQueue[Future[Sequence[E]]] = SimpleQueue()
    replayed = progress_of(every).trials
    queued, answered, start = sum(task.units for task in queue), 0, time.monotonic()
    next_report = 0.0
    try:
        while running or (queue and not limit.reached):
            if (begun := time.monotonic()) >= next_report:
                now = within_limit(limit, progress_of(every), replayed)
                watch(replace(now, doing=doing, unit=unit))
                taken = time.monotonic() - begun
                next_report = begun + max(_PROGRESS_INTERVAL_SECONDS, taken / _PROGRESS_SHARE)
            while queue and len(running) < in_flight and not limit.reached:
                rate = answered / (time.monotonic() - start + _SECONDS_TOGETHER)
                room = min(largest_batch, int(rate * _SECONDS_A_BATCH), queued // in_flight)
                batch = take_batch(queue, max(batch_size, room), block)
                queued -= sum(task.units for task in batch)
                future = pool.submit(bench.answer, batch)
                running[future] = batch
                future.add_done_callback(done.put)
            if not running:  # the time was up before anything was submitted
                break
            completed = _completed(done, len(running) // _SHARE_TOGETHER if queue else 1)
            ended = [(future, running.pop(future)) for future in completed]
            # Stored before any procedure acts on it: a run that is killed in between replays to the
            # same questions (docs/decisions/journal.md).
            answers, smaller = _journalled(ended, journal, queue, batch_size)
            if smaller is not None:
                batch_size, largest_batch = smaller, 0
            for task, evidence in answers:
                answered += task.units
                next_tasks = runs[task.subject.name].add_evidence(task, evidence)
                if next_tasks := _recalled(next_tasks, known, journal, runs):
                    _put(queue, next_tasks)
                    queued += sum(next_task.units for next_task in next_tasks)
        unfinished = [run for run in every if not run.finished]
        for run in unfinished:
            run.conclude()
        if unfinished:
            on_time_up()
        watch(replace(progress_of(every), doing=doing, unit=unit))
    finally:
        for future in running:
            future.cancel()
    return [run.session.result for run in every]


def _recalled(
    tasks: list[Task],
    known: Mapping[str, Sequence[Entry]],
    journal: Journal,
    runs: Mapping[str, SubjectRun],
) -> list[Task]:
    """The tasks that are left, and those that follow, once what is known has answered them."""
    left: list[Task] = []
    while known and tasks:
        answers: list[tuple[Task, Answer]] = []
        for task in tasks:
            own = [e for e in known.get(task.subject.name, ()) if e.level == task.level]
            entries, gaps = cover(own, task.start, task.stop)
            answers += [(replace(task, start=e.start, stop=e.stop), e.evidence) for e in entries]
            left += [replace(task, start=start, stop=stop) for start, stop in gaps]
        if answers:
            journal.append(answers)
        tasks = [t for task, e in answers for t in runs[task.subject.name].add_evidence(task, e)]
    return left + tasks


def _put(queue: deque[Task], tasks: list[Task]) -> None:
    """A subject that has begun goes on first, but not before all have their first bounds."""
    if tasks[0].alone:
        queue.extend(tasks)
    else:
        queue.extendleft(reversed(tasks))


def _completed(done: SimpleQueue[Future[Sequence[E]]], enough: int) -> list[Future[Sequence[E]]]:
    """The batches that have ended: one at least, and soon as many as are enough."""
    completed = [done.get()]
    until = time.monotonic() + _SECONDS_TOGETHER
    with suppress(Empty):
        while len(completed) < _MOST_TOGETHER:
            patience = until - time.monotonic() if len(completed) < enough else 0.0
            completed.append(done.get(timeout=max(0.0, patience)))
    return completed


def _journalled(
    ended: Sequence[tuple[Future[Sequence[E]], list[Task]]],
    journal: Journal,
    queue: deque[Task],
    batch_size: int,
) -> tuple[list[tuple[Task, E]], int | None]:
    """What batches that have ended answered, once it is in the journal; and a new batch size.

    None: the old one. The tasks of a batch that did not fit into memory, or whose worker was
    killed, go back into the queue. Where a batch failed for good, what the others answered is in
    the journal.
    """
    answers: list[tuple[Task, E]] = []
    smaller = None
    try:
        for future, batch in ended:
            try:
                answers += list(zip(batch, future.result(), strict=True))
            except OutOfMemory as error:
                if (trials := sum(task.units for task in batch)) == 1:
                    raise ModelFailed(
                        f"{batch[0]}: a batch of one trial does not fit into memory ({error}): use "
                        "a smaller model or a machine with more memory"
                    ) from error
                # Halved for the whole run: the next batch of the old size would not fit either.
                smaller = min(smaller or batch_size, trials // 2)
                queue.extendleft(reversed(batch))
            except BrokenExecutor:  # the pool replaces the worker, or says no
                queue.extendleft(reversed(batch))
    finally:
        if answers:
            journal.append(answers)
    return answers, smaller


def _procedures(procedure: Recipe[R], subjects: Sequence[Subject]) -> list[Procedure[Any, Any, R]]:
    """The procedure of each subject, or the one of all."""
    if isinstance(procedure, Joint):
        return [procedure.procedure]
    if isinstance(procedure, Mapping):
        return [procedure[subject.name] for subject in subjects]
    return [procedure] * len(subjects)


def _start(
    procedure: Recipe[R], subjects: Sequence[Subject], journal: Journal
) -> tuple[Mapping[str, SubjectRun], list[SubjectRun]]:
    """The run of each subject by name, with what the journal holds of it; all different runs."""
    journalled = journal.replay()
    if isinstance(procedure, Joint):
        names = (s.name for s in subjects) if journalled else ()
        own_entries = {name: journalled.pop(name) for name in names if name in journalled}
        together = SubjectRun(subjects, procedure.procedure, own_entries)
        runs: dict[str, SubjectRun] = defaultdict(lambda: together)
        every = [together]
    else:
        runs = {
            s.name: SubjectRun([s], own, {s.name: journalled.pop(s.name, ())})
            for s, own in zip(subjects, _procedures(procedure, subjects), strict=True)
        }
        every = list(runs.values())
    if journalled:
        stranger = next(iter(journalled))
        raise ReplayMismatch(
            f"the store holds trials of input {stranger}, which is not in these "
            "data: it belongs to another study; use another store (store=, --store)",
            subject=stranger,
        )
    return runs, every
