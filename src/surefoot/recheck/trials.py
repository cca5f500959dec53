"""Recorded trials run again by their names, through the same path as the run, and compared."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar

import numpy as np

from surefoot.core.counts import Answer, Counts, Outcomes, Proof, Severities
from surefoot.core.procedure import Ask, Needs, TimeUp
from surefoot.core.tasks import Entry, Task
from surefoot.engine.outputs import ROUNDING
from surefoot.errors import EvidenceFailed, InvalidArgument, MissingPackage, ModelFailed
from surefoot.evidence.answers import Again, Check, Status, of_part
from surefoot.evidence.check import verify_command
from surefoot.evidence.recompute import facts_of
from surefoot.recheck.draw_trials import draw_trials
from surefoot.recheck.rebuild_study import RebuiltRun, RerunRequest, other_difference
from surefoot.recheck.words import (
    ATTACKED,
    TRIALS,
    Sampled,
    Wording,
    failures_of,
    outcome_words,
    why_else,
)
from surefoot.records.record import Samples
from surefoot.store import MemoryJournal
from surefoot.study.measure import Measurement, run_measurement
from surefoot.study.run import MEASUREMENTS
from surefoot.system.memory_limits import most_trials

_FEW_TRIALS = 20_000
"""Up to here a batch size is not measured and no worker is started: both take longer."""
_SMALL_BATCH = 256
"""Trials of a batch whose size is not measured."""
_ASKS = 256
"""Rows of one subject that are asked for at once: the loop looks through them for every answer."""


@dataclass(frozen=True)
class _Again:
    """Exactly these trials of one subject; fewer answers where the time is up before the last."""

    asks: tuple[Ask, ...]
    concludes_early: ClassVar[bool] = True

    def steps(self) -> Generator[tuple[Ask, ...], list[Answer], list[Answer]]:
        """Ask for some at once, then for the next ones."""
        answers: list[Answer] = []
        try:
            for start in range(0, len(self.asks), _ASKS):
                answers += yield self.asks[start : start + _ASKS]
        except TimeUp:
            pass
        return answers


@dataclass(frozen=True, eq=False)
class _Difference:
    """A row whose evidence is another here than in the file.

    `trials` have another outcome: of counts it is the least number that explains them.
    """

    run: RebuiltRun
    task: Task
    recorded: Answer
    again: Answer
    trials: int

    def __str__(self) -> str:
        subject, task = self.task.subject, self.task
        name = f"input {subject.name}"
        if len(subject.rows) > 1:
            name = f"{subject.name}, level {task.level:g}"
        if not isinstance(self.recorded, Proof):  # an attack has one outcome an input
            last = f" to {task.stop - 1}" if task.units > 1 else ""
            name += f", trial{'s' * (task.units > 1)} {task.start}{last}"
        run = f"{self.run.name}, " if self.run.name else ""
        here, there = outcome_words(self.again), outcome_words(self.recorded)
        return f"{run}{name}: {here} here, {there} in the file"


def check_trials(
    runs: Sequence[RebuiltRun], request: RerunRequest, wording: Wording = TRIALS
) -> Again:
    """A share of the trials of all runs together, run again; and what a forger could still do."""
    begun = time.monotonic()
    journal = {
        (run.name, subject): rows for run in runs for subject, rows in run.evidence.entries.items()
    }
    draw = draw_trials(journal, request.share, request.seed)
    sampled = Sampled(draw, wording, *_totals(runs))
    request.announce(f"{wording.doing} {sampled.number} again: {sampled.why_these}")
    different: list[_Difference] = []
    missing = 0
    for run in runs:
        rows = {subject: own for (name, subject), own in draw.rows.items() if name == run.name}
        others, not_run = _rerun(run, rows, request.since(begun))
        different += others
        missing += not_run
    if different:
        return Again((), (_refuted(different, sampled),))
    if missing:
        return Again((), (_late(missing, sampled),))
    words = f"{sampled.number}{sampled.of_runs} were {wording.again}"
    said = f"{words[:1].upper()}{words[1:]}, and all came out as recorded: {sampled.why_these}."
    check = Status.FOLLOWS.of(f"{said} {sampled.chances}".rstrip())
    return Again((), (check,), (sampled.forger,), sampled.sample)


def _totals(runs: Sequence[RebuiltRun]) -> tuple[dict[str, int], dict[str, int]]:
    """Trials, and failed ones, that the journal of each run has."""
    own = {run.name: list(chain(*run.evidence.entries.values())) for run in runs}
    trials = {name: sum(e.stop - e.start for e in entries) for name, entries in own.items()}
    return trials, {n: sum(failures_of(e.evidence) for e in entries) for n, entries in own.items()}


def _rerun(
    run: RebuiltRun, rows: Mapping[str, Sequence[Entry]], request: RerunRequest
) -> tuple[list[_Difference], int]:
    """Rows that come out otherwise, and how many were not run before the time was up."""
    if not rows:
        return [], 0
    study = run.study
    few = sum(e.stop - e.start for own in rows.values() for e in own) <= _FEW_TRIALS
    batch = min(_SMALL_BATCH, most_trials(study.fitted.row_bytes, 1)) if few else None
    if study.needs is Needs.REGION:
        batch = None  # an attack knows itself how many inputs it can search at once
    measurement: Measurement = MEASUREMENTS[study.needs](study, 1 if few else None, batch)
    subjects = [subject for subject in measurement.subjects if subject.name in rows]
    if len(subjects) < len(rows):
        strange = min(rows.keys() - {subject.name for subject in subjects})
        raise EvidenceFailed(
            f"the journal holds trials of {strange}, which is not in these data: give the data of "
            "that run"
        )
    asks = {s.name: _Again(tuple(map(_ask, rows[s.name]))) for s in subjects}
    again = replace(measurement, subjects=subjects, procedures=asks, doing="running trials again")
    answers = run_measurement(again, MemoryJournal(), request.on_progress, request.time_limit)
    different, missing = [], 0
    for subject, own in zip(subjects, answers, strict=True):
        missing += len(rows[subject.name]) - len(own)
        for entry, evidence in zip(rows[subject.name], own, strict=False):
            trials = trials_that_differ(entry.evidence, evidence)
            if trials:
                task = Task(subject, entry.level, entry.start, entry.stop)
                different.append(_Difference(run, task, entry.evidence, evidence, trials))
    return different, missing


def _ask(entry: Entry) -> Ask:
    return Ask(entry.level, entry.stop - entry.start, entry.start)


def trials_that_differ(recorded: Answer, again: Answer) -> int:
    """How many trials at least have another outcome."""
    match recorded, again:
        case Counts(), Counts():
            both = (recorded.other is None) == (again.other is None)
            second = abs((recorded.other or 0) - (again.other or 0)) if both else 1
            return max(abs(recorded.kept - again.kept), second)
        case Outcomes(), Outcomes():
            return sum(a != b for a, b in zip(recorded.marks, again.marks, strict=True))
        case Severities(), Severities():
            one, other = np.array(recorded.values), np.array(again.values)
            far = np.abs(one - other) > ROUNDING * np.maximum(1.0, np.abs(one))
            sides = (one < recorded.limit) != (other < again.limit)
            return int(np.count_nonzero(far | sides))
        case Proof(), Proof():  # an attack: its outcome, not its time
            return int((recorded.reason, recorded.high) != (again.reason, again.high))
        case _:
            return 1


def _refuted(different: Sequence[_Difference], sampled: Sampled) -> Check:
    draw, unit = sampled.draw, sampled.wording.unit
    first, trials = different[0], sum(one.trials for one in different)
    return Status.REFUTED.of(
        f"No: {sampled.number} were {sampled.wording.again} ({sampled.why_these}), and "
        f"{len(different):,} of {sampled.compared} came out otherwise (at least {trials:,} of "
        f"{draw.trials:,} {unit}). The first: {first}.",
        why_else(first.run.evidence),
    )


def _late(missing: int, sampled: Sampled) -> Check:
    return Status.OPEN.of(
        f"Not all of {sampled.number} were {sampled.wording.again} ({sampled.why_these}): "
        f"{missing:,} of {sampled.compared} were not run when the time was up, the others "
        "came out as recorded: pass a larger --time-limit, or a smaller --share.",
    )


_MOST_STEPS = 100_000
"""Gradient steps for one input: 300 times the default, and a file of a stranger can ask for more
than a lifetime."""


def check_attacks(runs: Sequence[RebuiltRun], request: RerunRequest) -> Again:
    """The attacks beside these runs, or these themselves: inputs drawn from all, attacked again.

    A file has the outcome for each input and not the points: they have a name, by which the same
    search finds them again.
    """
    checks, attacks = [], []
    for run in runs:
        attack = _within_reach(run) if run.study.needs is Needs.REGION else _attack_of(run)
        if isinstance(attack, RebuiltRun):
            attacks.append(attack)
        elif attack is not None:
            checks.append(of_part(run.name, attack))
    if not attacks:
        return Again((), tuple(checks))
    try:
        again = check_trials(attacks, request, ATTACKED)
    except (InvalidArgument, MissingPackage, ModelFailed) as error:
        again = Again((), (_cannot(str(error)),))
    return replace(again, trials=(*checks, *again.trials))


def _attack_of(run: RebuiltRun) -> RebuiltRun | Check | None:
    """The attack beside a run made again, or why it cannot be; None where there is none."""
    details, attack = run.evidence.record.details, run.evidence.attack
    if not isinstance(details, Samples) or details.attack is None or not details.attack.run:
        return None
    if attack is None:
        return _cannot("its journal is not in this file")
    try:
        method = facts_of(attack.record, attack.entries).method
        study = replace(run.study, method=method, population=None, by_class=None)
        different = other_difference(attack, study, verify_command(attack))
    except (InvalidArgument, MissingPackage, ModelFailed) as error:
        return _cannot(str(error))
    return different or _within_reach(RebuiltRun(run.name, attack, study))


def _within_reach(attack: RebuiltRun) -> RebuiltRun | Check:
    """The attack itself, unless it takes longer than anybody waits."""
    method = attack.study.method
    steps = method.most_steps
    if steps > _MOST_STEPS:
        return _cannot(f"it makes {steps:,} gradient steps an input, more than {_MOST_STEPS:,}")
    return attack


def _cannot(why: str) -> Check:
    return Status.OPEN.of(f"The attack cannot be run again here: {why}.")
