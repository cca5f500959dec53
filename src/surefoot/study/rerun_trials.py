"""Recorded trials run again by their names, through the same path as the run, and compared."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from surefoot.engine.preflight import ROUNDING
from surefoot.errors import EvidenceFailed
from surefoot.evidence import Counts, Outcomes, Proof, Severities
from surefoot.evidence_file.statement import Evidence
from surefoot.memory_limits import most_trials
from surefoot.procedure import Ask, TimeUp
from surefoot.store.memory import MemoryJournal
from surefoot.study.draw_trials import ALTERED, NOTICED, TrialDraw, draw_trials
from surefoot.study.evidence_answers import Again, Check, Status
from surefoot.study.measurement import Measurement, run_measurement
from surefoot.study.rebuild_study import RerunRequest, other_versions
from surefoot.study.run import MEASUREMENTS, environment
from surefoot.study.study import Study
from surefoot.tasks import Entry, Task

_FEW_TRIALS = 20_000
"""Up to here a batch size is not measured and no worker is started: both take longer."""
_SMALL_BATCH = 256
"""Trials of a batch whose size is not measured."""
_ASKS = 256
"""Rows of one subject that are asked for at once: the loop looks through them for every answer."""
_SHARES = (0.01, 0.05, 0.2)
"""Altered shares whose probability to be noticed is printed."""


@dataclass(frozen=True)
class _Again:
    """Exactly these trials of one subject; fewer answers where the time is up before the last."""

    asks: tuple[Ask, ...]
    concludes_early: ClassVar[bool] = True

    def steps(self) -> Generator[tuple[Ask, ...], list[Any], list[Any]]:
        """Ask for some at once, then for the next ones."""
        answers: list[Any] = []
        try:
            for start in range(0, len(self.asks), _ASKS):
                answers += yield self.asks[start : start + _ASKS]
        except TimeUp:
            pass
        return answers


@dataclass(frozen=True)
class Rerun:
    """What running rows again came to; `missing` rows were not run before the time was up.

    `different` are rows whose evidence is another, `differing` counts their trials: of counts it is
    the least number that explains them.
    """

    draw: TrialDraw
    different: tuple[tuple[Task, Any, Any], ...]
    differing: int
    missing: int


def rerun_trials(study: Study, draw: TrialDraw, request: RerunRequest) -> Rerun:
    """Run the rows of a draw again and compare them with what the journal says."""
    few = draw.trials <= _FEW_TRIALS
    batch = min(_SMALL_BATCH, most_trials(study.fitted.row_bytes, 1)) if few else None
    measurement: Measurement = MEASUREMENTS[study.needs](study, 1 if few else None, batch)
    subjects = [subject for subject in measurement.subjects if subject.name in draw.rows]
    if len(subjects) < len(draw.rows):
        strange = min(draw.rows.keys() - {subject.name for subject in subjects})
        raise EvidenceFailed(
            f"the journal holds trials of {strange}, which is not in these data: give the data of "
            "that run"
        )
    asks = {s.name: _Again(tuple(map(_ask, draw.rows[s.name]))) for s in subjects}
    again = replace(measurement, subjects=subjects, procedures=asks, doing="running trials again")
    answers = run_measurement(again, MemoryJournal(), request.on_progress, request.time_limit)
    different, differing, missing = [], 0, 0
    for subject, own in zip(subjects, answers, strict=True):
        rows = draw.rows[subject.name]
        missing += len(rows) - len(own)
        for entry, evidence in zip(rows, own, strict=False):
            trials = trials_that_differ(entry.evidence, evidence)
            if trials:
                task = Task(subject, entry.level, entry.start, entry.stop)
                different.append((task, entry.evidence, evidence))
                differing += trials
    return Rerun(draw, tuple(different), differing, missing)


def _ask(entry: Entry) -> Ask:
    return Ask(entry.level, entry.stop - entry.start, entry.start)


def trials_that_differ(recorded: Any, again: Any) -> int:  # noqa: ANN401  evidence of any kind
    """How many trials at least have another outcome."""
    match recorded, again:
        case Counts(), Counts():
            return abs(recorded.kept - again.kept)
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


def check_trials(study: Study, evidence: Evidence, request: RerunRequest) -> Again:
    """What was run again and what came of it; and what a forger could still do."""
    draw = draw_trials(evidence.entries, request.share, request.seed)
    request.announce(f"running {_number(draw)} recorded trials again: {_why_these(draw)}")
    rerun = rerun_trials(study, draw, request)
    checks = (_check(rerun, evidence),)
    if rerun.different or rerun.missing:
        return Again((), checks)
    return Again((), checks, (_forger_words(draw),), _sample_words(draw))


def _number(draw: TrialDraw) -> str:
    every = draw.trials == draw.total
    return f"all {draw.total:,}" if every else f"{draw.trials:,} of {draw.total:,}"


def _sample_words(draw: TrialDraw) -> str:
    """What was run again, for the last line."""
    if draw.drawn == draw.total:
        return f"all {draw.total:,} trials were run again and came out as it says"
    return (
        f"the {_number(draw)} trials that were run again came out as it says ("
        f"{_percent(ALTERED)} altered would be noticed with probability "
        f"{floor_percent(draw.catch(ALTERED))})"
    )


def _check(rerun: Rerun, evidence: Evidence) -> Check:
    draw = rerun.draw
    words = f"{_number(draw)} recorded trials were run again"
    if rerun.different:
        task, recorded, again = rerun.different[0]
        n = len(rerun.different)
        return Check(
            Status.REFUTED,
            f"No: {words} ({_why_these(draw)}), and {n:,} of {_rows(draw)} came out otherwise (at "
            f"least {rerun.differing:,} of {draw.trials:,} trials). The first: {_of(task)}: "
            f"{_outcome(again)} here, {_outcome(recorded)} in the file.",
            why_else(evidence),
        )
    if rerun.missing:
        return Check(
            Status.OPEN,
            f"Not all of {_number(draw)} recorded trials were run again ({_why_these(draw)}): "
            f"{rerun.missing:,} of {_rows(draw)} were not run when the time was up, the others "
            "came out as recorded: pass a larger --time-limit, or a smaller --share.",
        )
    said = f"{words[:1].upper()}{words[1:]}, and all came out as recorded: {_why_these(draw)}."
    return Check(Status.FOLLOWS, f"{said} {_chances(draw)}".rstrip())


def _why_these(draw: TrialDraw) -> str:
    """Which trials were drawn, and why others are run again with them."""
    if draw.drawn == draw.total:
        return "every one of them"
    drawn = f"{draw.drawn:,} drawn at random (seed {draw.seed})"
    if draw.trials == draw.drawn:
        return drawn
    rows = f"{draw.number_of_rows:,} of {draw.total_rows:,}"
    return f"{drawn}; a row of the journal holds several trials and is run again whole, here {rows}"


def _chances(draw: TrialDraw) -> str:
    """How likely altered shares of some sizes would have been noticed, exactly."""
    if draw.drawn == draw.total:
        return ""
    chances = ", ".join(
        f"{floor_percent(draw.catch(share))} if {_percent(share)}" for share in _SHARES
    )
    more = math.ceil(1000 * draw.enough) / 1000
    larger = f" --share {more:g} notices {_percent(ALTERED)} with {_percent(NOTICED)}."
    return (
        f"Altered trials would be noticed with probability {chances} of them were altered."
        f"{larger if draw.catch(ALTERED) < NOTICED else ''}"
    )


def _forger_words(draw: TrialDraw) -> str:
    """What is left to a forger, and where the probabilities come from."""
    if draw.drawn == draw.total:
        return "Alter no trial: all of them were run again."
    return (
        "Alter so few trials that none was drawn: the probabilities above are 1 - C(N - M, n)/"
        f"C(N, n) with n = {draw.drawn:,} draws and M altered of N = {draw.total:,}, or more, "
        "however the altered ones lie among the rows."
    )


def floor_percent(chance: float) -> str:
    """A probability in percent, never rounded up."""
    if chance > 0.999:
        return "above 99.9 %"
    return f"{math.floor(chance * 1000 + 1e-9) / 10:g} %"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _rows(draw: TrialDraw) -> str:
    """What is compared one by one: a trial, or a row of several with its count."""
    unit = "trials" if draw.trials == draw.number_of_rows else "rows"
    return f"{draw.number_of_rows:,} {unit}"


def _of(task: Task) -> str:
    several = len(task.subject.rows) > 1
    name = f"{task.subject.name}, level {task.level:g}" if several else f"input {task.subject.name}"
    last = f" to {task.stop - 1}" if task.units > 1 else ""
    return f"{name}, trial{'s' * (task.units > 1)} {task.start}{last}"


def _outcome(evidence: Any) -> str:  # noqa: ANN401  evidence of any kind
    match evidence:
        case Counts():
            return f"{evidence.trials - evidence.kept:,} of {evidence.trials:,} failed"
        case Outcomes():
            failed = evidence.marks.count("0")
            return f"{failed:,} of {len(evidence.marks):,} failed"
        case Severities():
            return f"severity {evidence.values[0]:.6g}"
        case Proof():
            return f"{evidence.reason}"
        case _:
            return "other evidence"


def why_else(evidence: Evidence) -> str:
    """What else than a forger can cause a few differences."""
    versions = other_versions(evidence, environment())
    innocent = "In a near tie another processor, number of threads or library can decide otherwise"
    if versions:
        return f"{innocent}; here is {versions}: check it once more with the versions of the run."
    return f"{innocent}; the versions here are those of the run."
