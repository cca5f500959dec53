"""How far a run is, how many trials are to be expected of it, and its time limit."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from surefoot.engine.subject_run import SubjectRun
from surefoot.errors import InvalidArgument


def check_time_limit(seconds: float | None, methods: Iterable[object]) -> None:
    """Refuse a limit that is no time, and one for a method that cannot conclude early.

    A method that can has the class attribute `concludes_early` and catches `TimeUp` in its steps.
    """
    if seconds is None:
        return
    if not 0 < seconds < math.inf:
        raise InvalidArgument(
            f"time_limit is a number of seconds above 0, got {seconds:g}: write 60, or leave it out"
        )
    for method in methods:
        if not getattr(method, "concludes_early", False):
            raise InvalidArgument(
                f"time_limit (--time-limit) {seconds:g} needs a method that can conclude early, "
                "and this one cannot: leave it out; a run with a store can be interrupted at any "
                "time, and goes on where it stopped",
                option="time_limit",
                value=seconds,
            )


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """So many seconds from `begun`, on the monotonic clock; infinite where there is no limit."""

    begun: float
    seconds: float

    @classmethod
    def from_now(cls, seconds: float | None) -> TimeLimit:
        """A limit that begins now."""
        return cls(time.monotonic(), math.inf if seconds is None else seconds)

    @property
    def reached(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.begun + self.seconds

    def most_trials(self, trials: int) -> float:
        """How many trials can be run in the whole time, if `trials` were run until now."""
        if not trials:
            return math.inf
        return trials * max(1.0, self.seconds / max(time.monotonic() - self.begun, 1e-9))


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
