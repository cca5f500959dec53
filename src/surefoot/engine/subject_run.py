"""One procedure's run: what it asks, what the journal answers, what must still be run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import reduce
from operator import add
from typing import Any

from surefoot.core.counts import Answer, Counts, Known
from surefoot.core.procedure import Ask, Forecast, Procedure, Session
from surefoot.core.tasks import Entry, Subject, Task
from surefoot.errors import InvalidArgument, ReplayMismatch

_Place = tuple[str, float]
"""The name of a subject, and a level."""


@dataclass(slots=True)
class _Request:
    """Trials [start, stop) of a subject at a level that a question asks for, and their evidence."""

    subject: Subject
    place: _Place
    start: int
    stop: int
    known: Known | None
    entries: list[Entry] = field(default_factory=list)

    def task(self, start: int, stop: int) -> Task:
        """Some of these trials, to be run."""
        return Task(self.subject, self.place[1], start, stop, self.known)

    def evidence(self) -> Answer:
        """The evidence of all trials, added up in their order."""
        if len(self.entries) == 1:
            return self.entries[0].evidence
        in_order = sorted(self.entries, key=lambda entry: entry.start)
        return reduce(add, (entry.evidence for entry in in_order))


@dataclass(slots=True, eq=False)
class SubjectRun:
    """The session of one subject, or of several that share a procedure.

    A question is answered once all its trials have evidence. `journalled`: the entries of each
    subject by its name.
    """

    subjects: Sequence[Subject]
    procedure: InitVar[Procedure[Any, Any, Any]]
    journalled: InitVar[Mapping[str, Iterable[Entry]]]
    session: Session[Any, Any, Any] = field(init=False)
    forecast: int = field(init=False)
    _forecast_from: Callable[[Answer], Forecast] | None = field(init=False)
    answered_trials: int = 0
    open_trials: int = 0
    missing_trials: int = 0
    _evidence: Answer | None = None
    _requests: list[_Request] = field(default_factory=list)
    _requests_at: dict[_Place, list[_Request]] = field(default_factory=dict)
    _next_trial: dict[_Place, int] = field(default_factory=dict)
    _unused: dict[_Place, list[Entry]] = field(default_factory=dict)

    def __post_init__(
        self, procedure: Procedure[Any, Any, Any], journalled: Mapping[str, Iterable[Entry]]
    ) -> None:
        self.session = Session(procedure)
        self.forecast = int(getattr(procedure, "forecast", 0))
        self._forecast_from = getattr(procedure, "forecast_from", None)
        for name, entries in journalled.items():
            for entry in entries:
                self._unused.setdefault((name, entry.level), []).append(entry)
        for unused in self._unused.values():
            unused.sort(key=lambda entry: (entry.start, -entry.stop))  # of two the longer

    def advance(self) -> list[Task]:
        """Answer questions from the journal as far as it goes; return the tasks to run next.

        No tasks: the procedure has concluded.
        """
        tasks: list[Task] = []
        while not tasks and (question := self.session.question) is not None:
            asks = question if isinstance(question, tuple) else (question,)
            self._open([self._request(ask) for ask in asks])
            if not self._unused:  # as in most of a run
                self.missing_trials = self.open_trials
                return [request.task(request.start, request.stop) for request in self._requests]
            for request in self._requests:
                entries = self._unused.get(request.place, [])
                request.entries, gaps = cover(entries, request.start, request.stop)
                self.missing_trials += sum(stop - start for start, stop in gaps)
                tasks += [request.task(*gap) for gap in gaps]
            # Only now: two requests of one question may share entries.
            for request in self._requests:
                start, stop = request.start, request.stop
                entries = self._unused.pop(request.place, [])
                left = [e for e in entries if not (start <= e.start and e.stop <= stop)]
                if left:
                    self._unused[request.place] = left
            if not tasks:
                self._answer()
        if self._unused:
            # Entries at the place of an open question, but outside of it, are of another study, as
            # are any that are left once the procedure has concluded.
            places = {r.place for r in self._requests} if tasks else set(self._unused)
            unused = next((place for place in places if place in self._unused), None)
            if unused is not None:
                raise ReplayMismatch(
                    f"the store holds trials of input {unused[0]} that this procedure does not "
                    "ask for: it belongs to another study; use another store (store=, --store)",
                    subject=unused[0],
                )
        return tasks

    def add_evidence(self, task: Task, evidence: Answer) -> list[Task]:
        """Keep the evidence of one task; the next tasks once the question is complete."""
        request = self._requests[0]
        if len(self._requests) > 1:
            at_place = self._requests_at[task.subject.name, task.level]
            request = next(r for r in at_place if r.start <= task.start < r.stop)
        request.entries.append(Entry(task.level, task.start, task.stop, evidence))
        self.missing_trials -= task.stop - task.start
        if self.missing_trials:
            return []
        self._answer()
        return self.advance()

    def conclude(self) -> None:
        """Have the procedure conclude with the questions answered so far.

        Evidence of the open question stays in the journal, for a run that goes on.
        """
        self.answered_trials = self.requested_trials - self.missing_trials
        self._open([])
        self.session.conclude()

    @property
    def finished(self) -> bool:
        """Whether the procedure has concluded."""
        return self.session.question is None

    @property
    def requested_trials(self) -> int:
        """Trials of all questions so far, answered or open."""
        return self.answered_trials + self.open_trials

    @property
    def begun(self) -> bool:
        """Whether there is evidence that `whole_forecast` rests on."""
        return self._evidence is not None

    def whole_forecast(self) -> Forecast | None:
        """Trials of the whole run, from the evidence so far; None where the procedure has none."""
        if self._forecast_from is None:
            return None
        return self._forecast_from(self._evidence or Counts(0, 0))

    def _open(self, requests: list[_Request]) -> None:
        """These are the requests of the open question; no trial of them has evidence yet."""
        self._requests, self._requests_at = requests, {}
        self.open_trials = self.missing_trials = 0
        for request in requests:
            self.open_trials += request.stop - request.start
        if len(requests) > 1:
            for request in requests:
                self._requests_at.setdefault(request.place, []).append(request)

    def _request(self, ask: Ask) -> _Request:
        if ask.units < 1:
            raise InvalidArgument(
                f"a procedure must ask for at least 1 trial, but it asked for {ask.units} trials: "
                "let its steps() yield 1 or more"
            )
        subject = self.subjects[ask.subject]
        place = subject.name, ask.level
        next_trial = self._next_trial.get(place, 0)
        start = next_trial if ask.start is None else ask.start
        stop = start + ask.units
        self._next_trial[place] = max(next_trial, stop)
        return _Request(subject, place, start, stop, ask.known)

    def _answer(self) -> None:
        """Send the evidence to the procedure, which asks the next question or concludes."""
        answers = [request.evidence() for request in self._requests]
        self.answered_trials += self.open_trials
        self._requests, self.open_trials = [], 0
        if self._forecast_from is not None:
            first = self._evidence is None
            self._evidence = answers[0] if first else add(self._evidence, answers[0])
        several = isinstance(self.session.question, tuple)
        self.session.tell(answers if several else answers[0])


def cover(entries: list[Entry], start: int, stop: int) -> tuple[list[Entry], list[tuple[int, int]]]:
    """Sorted entries that lie in [start, stop) without overlap, and the gaps between them."""
    chosen: list[Entry] = []
    gaps: list[tuple[int, int]] = []
    position = start
    for entry in entries:
        if entry.start < position or entry.stop > stop:
            continue
        if entry.start > position:
            gaps.append((position, entry.start))
        chosen.append(entry)
        position = entry.stop
    if position < stop:
        gaps.append((position, stop))
    return chosen, gaps
