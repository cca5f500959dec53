"""How far a run is, and how many trials are to be expected of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from surefoot.engine.subject_run import SubjectRun
from surefoot.engine.time_limit import TimeLimit


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: `trials` of about `expected`, counted in `unit`, while `doing` this.

    It is run number `part` of `parts`, one after the other. `most` trials are never exceeded; None
    where the method has no such number.
    """

    trials: int
    expected: int
    finished: int
    subjects: int
    doing: str = "measuring"
    unit: str = "trials"
    part: int = 1
    parts: int = 1
    most: int | None = None


def within_limit(limit: TimeLimit, progress: Progress, replayed: int) -> Progress:
    """The same, expecting no more trials than can be run within the limit."""
    in_time = replayed + limit.most_trials(progress.trials - replayed)
    most = in_time if progress.most is None else min(progress.most, in_time)
    return replace(
        progress,
        expected=int(min(progress.expected, in_time)),
        most=int(most) if math.isfinite(most) else None,
    )


def progress_of(runs: Sequence[SubjectRun]) -> Progress:
    """Trials done, and trials expected of the whole run.

    A subject with evidence is expected to take what its procedure forecasts from it: those near a
    threshold finish last, so the finished ones alone would be too few. Those without evidence are
    expected to be as the others are in the mean, finished or not.
    """
    spent, done, most = [], 0, 0
    known: list[int] = []
    waiting: list[tuple[SubjectRun, int]] = []
    bounded = True
    for run in runs:
        if run.finished:
            spent.append(run.answered_trials)
            continue
        done += run.requested_trials - run.missing_trials
        forecast, least = run.whole_forecast(), max(run.requested_trials, run.forecast)
        bounded = bounded and forecast is not None
        most += 0 if forecast is None else max(forecast.most, least)
        if run.begun and forecast is not None:
            known.append(max(least, forecast.expected))
        else:
            waiting.append((run, least if forecast is None else forecast.expected))
    basis = len(spent) + len(known)
    typical = (sum(spent) + sum(known)) / basis if basis else 0.0
    guessed = sum(
        max(run.requested_trials, run.forecast, typical if basis else alone)
        for run, alone in waiting
    )
    total = int(sum(spent) + sum(known) + guessed)
    return Progress(
        sum(spent) + done, total, len(spent), len(runs), most=sum(spent) + most if bounded else None
    )
