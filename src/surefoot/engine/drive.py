"""The only loop. Every measure gets packing, workers, resume and progress from it."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Protocol, TypeVar

from surefoot.engine.bench import Bench
from surefoot.engine.trays import fill
from surefoot.errors import InvalidArgument, ModelFailed, OutOfMemory, ReplayMismatch
from surefoot.procedure import Ask, Procedure, Session
from surefoot.subject import Entry, Subject, Task

E = TypeVar("E")
R = TypeVar("R")
_WATCH_EVERY = 0.1


class Journal(Protocol):
    """Where evidence is kept, tray by tray."""

    def append(self, answers: Sequence[tuple[Task, Any]]) -> None:
        """Record one tray, all of it or nothing."""
        ...

    def replay(self) -> dict[str, list[Entry]]:
        """Everything recorded, by subject."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    trials: int
    expected: int
    finished: int
    subjects: int


class _Desk:
    """A session, where it stands, and what is still out."""

    def __init__(
        self, subject: Subject, session: Session[Ask, Any, Any], kept: Iterable[Entry]
    ) -> None:
        self.subject, self.session = subject, session
        self.used: dict[float, int] = defaultdict(int)
        self.kept: dict[float, list[Entry]] = defaultdict(list)
        for entry in kept:
            self.kept[entry.level].append(entry)
        self.parts: list[Entry] = []
        self.missing = 0
        self.trials = 0

    def advance(self) -> list[Task]:
        """Answer from the journal as long as it lasts; then the trials that must be run."""
        while (ask := self.session.question) is not None:
            if ask.units < 1:
                raise InvalidArgument(f"a procedure asked for {ask.units} trials: at least one")
            begin = self.used[ask.level]
            self.parts, gaps = _cover(self.kept[ask.level], begin, begin + ask.units)
            self.kept[ask.level] = [e for e in self.kept[ask.level] if e.stop > begin + ask.units]
            self.missing = sum(stop - start for start, stop in gaps)
            if gaps:
                break
            self._tell(ask)
        else:
            gaps = []
        if any(self.kept.values()) and (ask is None or self.kept[ask.level]):
            raise ReplayMismatch(
                f"the store holds trials of input {self.subject.name} that this procedure does not "
                "ask for: it belongs to another study; use another --store"
            )
        level = 0.0 if ask is None else ask.level
        return [Task(self.subject, level, start, stop) for start, stop in gaps]

    def take(self, task: Task, evidence: object) -> list[Task]:
        """Note the evidence of one task; the next trials once the question is complete."""
        self.parts.append(Entry(task.level, task.start, task.stop, evidence))
        self.missing -= task.units
        ask = self.session.question
        if self.missing or ask is None:
            return []
        self._tell(ask)
        return self.advance()

    def _tell(self, ask: Ask) -> None:
        ordered = sorted(self.parts, key=lambda e: e.start)
        self.used[ask.level] += ask.units
        self.trials += ask.units
        self.session.tell(reduce(add, (e.evidence for e in ordered)))

    @property
    def asked(self) -> int:
        """Trials done and asked for."""
        ask = self.session.question
        return self.trials + (0 if ask is None else ask.units)


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
    procedure: Procedure[Ask, E, R],
    bench: Bench[E],
    subjects: Sequence[Subject],
    *,
    pool: Executor,
    journal: Journal,
    tray: int,
    block: int = 1,
    in_flight: int = 1,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> list[R]:
    """Run one session a subject until every one has concluded; results in the order of subjects."""
    kept = journal.replay()
    desks = {s.name: _Desk(s, Session(procedure), kept.pop(s.name, ())) for s in subjects}
    if kept:
        raise ReplayMismatch(
            f"the store holds trials of input {next(iter(kept))}, which is not in these data: "
            "it belongs to another study; use another --store"
        )
    queue = deque(task for desk in desks.values() for task in desk.advance())
    flying: dict[Future[Sequence[E]], list[Task]] = {}
    due = 0.0
    try:
        while queue or flying:
            if time.monotonic() >= due:
                watch(_progress(desks))
                due = time.monotonic() + _WATCH_EVERY
            while queue and len(flying) < in_flight:
                load = fill(queue, tray, block)
                flying[pool.submit(bench.answer, load)] = load
            landed, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in landed:
                load = flying.pop(future)
                try:
                    answers = future.result()
                except OutOfMemory as error:
                    tray = min(tray, _smaller(load, error))
                    queue.extendleft(reversed(load))
                    continue
                journal.append(list(zip(load, answers, strict=True)))
                for task, evidence in zip(load, answers, strict=True):
                    more = desks[task.subject.name].take(task, evidence)
                    queue.extendleft(reversed(more))
        watch(_progress(desks))
    finally:
        for future in flying:
            future.cancel()
    return [desks[s.name].session.result for s in subjects]


def _smaller(load: list[Task], error: OutOfMemory) -> int:
    """Half of the tray that did not fit."""
    held = sum(task.units for task in load)
    if held == 1:
        raise ModelFailed(f"{load[0]}: not even one trial fits into memory ({error})") from error
    return held // 2


def _progress(desks: dict[str, _Desk]) -> Progress:
    finished = [d.trials for d in desks.values() if d.session.question is None]
    still_open = [d for d in desks.values() if d.session.question is not None]
    typical = sum(finished) / len(finished) if finished else 0.0
    expected = sum(finished) + sum(max(d.asked, typical) for d in still_open)
    done = sum(finished) + sum(d.trials for d in still_open)
    done += sum(d.session.question.units - d.missing for d in still_open if d.session.question)
    return Progress(done, int(expected), len(finished), len(desks))
