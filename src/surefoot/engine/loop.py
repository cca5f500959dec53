"""The only loop. Every measure gets packing, workers, resume and progress from it."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, TypeVar

from surefoot.engine.batching import fill
from surefoot.engine.sampling_bench import Bench
from surefoot.errors import InvalidArgument, ModelFailed, OutOfMemory, ReplayMismatch
from surefoot.procedure import Ask, Procedure, Session
from surefoot.store import Journal
from surefoot.tasks import Entry, Subject, Task

E = TypeVar("E")
R = TypeVar("R")
_WATCH_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, at what it is, and of what it counts `trials`."""

    trials: int
    expected: int
    finished: int
    subjects: int
    doing: str = "measuring"
    unit: str = "trials"


class _SubjectRun:
    """A session, where it stands, and what is still out."""

    def __init__(
        self, subject: Subject, procedure: Procedure[Any, Any, Any], kept: Iterable[Entry]
    ) -> None:
        self.subject, self.session = subject, Session(procedure)
        self.forecast = int(getattr(procedure, "forecast", 0))
        self.used: dict[float, int] = defaultdict(int)
        self.kept: dict[float, list[Entry]] = defaultdict(list)
        for entry in kept:
            self.kept[entry.level].append(entry)
        self.open: list[_Open] = []
        self.trials = 0

    def advance(self) -> list[Task]:
        """Answer from the journal as long as it lasts; then the trials that must be run."""
        gaps: list[Task] = []
        while self.session.question is not None and not gaps:
            self.open = [self._opened(ask) for ask in self._asks()]
            for one in self.open:
                one.parts, missing = _cover(self.kept[one.level], one.start, one.stop)
                one.missing = sum(stop - start for start, stop in missing)
                gaps += [Task(self.subject, one.level, *gap, one.known) for gap in missing]
            for one in self.open:
                self.kept[one.level] = [e for e in self.kept[one.level] if not one.holds(e)]
            if not gaps:
                self._tell()
        asked = {one.level for one in self.open} if gaps else set(self.kept)
        if any(self.kept[level] for level in asked):
            raise ReplayMismatch(
                f"the store holds trials of input {self.subject.name} that this procedure does not "
                "ask for: it belongs to another study; use another --store"
            )
        return gaps

    def _asks(self) -> list[Ask]:
        question = self.session.question
        return list(question) if isinstance(question, tuple) else [question] if question else []

    def _opened(self, ask: Ask) -> _Open:
        if ask.units < 1:
            raise InvalidArgument(f"a procedure asked for {ask.units} trials: at least one")
        start = self.used[ask.level] if ask.start is None else ask.start
        self.used[ask.level] = max(self.used[ask.level], start + ask.units)
        return _Open(ask.level, start, start + ask.units, ask.known)

    def take(self, task: Task, evidence: object) -> list[Task]:
        """Note the evidence of one task; the next trials once the question is complete."""
        one = next(o for o in self.open if o.level == task.level and o.start <= task.start < o.stop)
        one.parts.append(Entry(task.level, task.start, task.stop, evidence))
        one.missing -= task.units
        if any(o.missing for o in self.open):
            return []
        self._tell()
        return self.advance()

    def _tell(self) -> None:
        answers = [
            reduce(add, (e.evidence for e in sorted(one.parts, key=lambda e: e.start)))
            for one in self.open
        ]
        self.trials += sum(one.stop - one.start for one in self.open)
        several = isinstance(self.session.question, tuple)
        self.open = []
        self.session.tell(answers if several else answers[0])

    @property
    def asked(self) -> int:
        """Trials done and asked for."""
        return self.trials + sum(one.stop - one.start for one in self.open)

    @property
    def missing(self) -> int:
        """Trials asked for and not done."""
        return sum(one.missing for one in self.open)


class _Open:
    """Trials [start, stop) at a level that were asked for, and what of them is there."""

    def __init__(self, level: float, start: int, stop: int, known: object = None) -> None:
        self.level, self.start, self.stop, self.known = level, start, stop, known
        self.parts: list[Entry] = []
        self.missing = 0

    def holds(self, entry: Entry) -> bool:
        """Whether the entry is no more than a part of this."""
        return self.start <= entry.start and entry.stop <= self.stop


def _cover(kept: list[Entry], begin: int, end: int) -> tuple[list[Entry], list[tuple[int, int]]]:
    """Entries that lie in [begin, end) without overlap, and the gaps they leave."""
    parts: list[Entry] = []
    gaps: list[tuple[int, int]] = []
    at = begin
    for entry in sorted(kept, key=lambda e: (e.start, -e.stop)):
        if entry.start < at or entry.stop > end:
            continue
        if entry.start > at:
            gaps.append((at, entry.start))
        parts.append(entry)
        at = entry.stop
    if at < end:
        gaps.append((at, end))
    return parts, gaps


def measure(
    procedure: Procedure[Any, Any, R] | Mapping[str, Procedure[Any, Any, R]],
    bench: Bench[E],
    subjects: Sequence[Subject],
    *,
    pool: Executor,
    journal: Journal,
    batch_size: int,
    block: int = 1,
    in_flight: int = 1,
    watch: Callable[[Progress], None] = lambda progress: None,
    doing: str = "measuring",
    unit: str = "trials",
) -> list[R]:
    """Run one session a subject until every one has concluded; results in the order of subjects.

    One procedure serves all, or each subject has its own, by name.
    """
    kept = journal.replay()
    own = procedure if isinstance(procedure, Mapping) else {s.name: procedure for s in subjects}
    runs = {s.name: _SubjectRun(s, own[s.name], kept.pop(s.name, ())) for s in subjects}
    if kept:
        raise ReplayMismatch(
            f"the store holds trials of input {next(iter(kept))}, which is not in these data: "
            "it belongs to another study; use another --store"
        )
    queue = deque(task for run in runs.values() for task in run.advance())
    flying: dict[Future[Sequence[E]], list[Task]] = {}
    due = 0.0
    try:
        while queue or flying:
            if time.monotonic() >= due:
                watch(replace(_progress(runs), doing=doing, unit=unit))
                due = time.monotonic() + _WATCH_EVERY
            while queue and len(flying) < in_flight:
                load = fill(queue, batch_size, block)
                flying[pool.submit(bench.answer, load)] = load
            landed, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in landed:
                load = flying.pop(future)
                try:
                    answers = future.result()
                except OutOfMemory as error:
                    batch_size = min(batch_size, _smaller(load, error))
                    queue.extendleft(reversed(load))
                    continue
                journal.append(list(zip(load, answers, strict=True)))
                for task, evidence in zip(load, answers, strict=True):
                    more = runs[task.subject.name].take(task, evidence)
                    queue.extendleft(reversed(more))
        watch(replace(_progress(runs), doing=doing, unit=unit))
    finally:
        for future in flying:
            future.cancel()
    return [runs[s.name].session.result for s in subjects]


def _smaller(load: list[Task], error: OutOfMemory) -> int:
    """Half of the batch that did not fit."""
    held = sum(task.units for task in load)
    if held == 1:
        raise ModelFailed(f"{load[0]}: not even one trial fits into memory ({error})") from error
    return held // 2


def _progress(runs: dict[str, _SubjectRun]) -> Progress:
    finished = [d.trials for d in runs.values() if d.session.question is None]
    still_open = [d for d in runs.values() if d.session.question is not None]
    typical = sum(finished) / len(finished) if finished else 0.0
    expected = sum(finished) + sum(max(d.asked, typical, d.forecast) for d in still_open)
    done = sum(finished) + sum(d.trials for d in still_open)
    done += sum(d.asked - d.trials - d.missing for d in still_open)
    return Progress(done, int(expected), len(finished), len(runs))
