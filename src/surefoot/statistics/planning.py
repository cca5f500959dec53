"""What a run will cost: the procedure simulated on assumed probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts
from surefoot.core.procedure import Procedure, Session
from surefoot.core.results import Decision, Estimate, Result
from surefoot.statistics.bounds import okamoto
from surefoot.statistics.fixed_width import BuSun


@dataclass(frozen=True)
class SimulatedTrials:
    """Trials of one input that is kept with probability `p`: mean, most, and the share decided."""

    p: float
    mean: float
    most: int
    decided: float


def simulate(
    procedure: Procedure[int, Counts, Any], p: float, rng: np.random.Generator
) -> tuple[Result, list[int]]:
    """One run on simulated trials that are kept with probability p, and its questions."""
    session = Session(procedure)
    questions: list[int] = []
    while session.question is not None:
        n = session.question
        questions.append(n)
        session.tell(Counts(n, int(rng.binomial(n, p))))
    result: Result = session.result
    return result, questions


def simulate_mean(procedure: Procedure[Any, Any, Any], p: float, runs: int = 5) -> SimulatedTrials:
    """The same of a procedure for all inputs together, each kept with probability p.

    Trials are those of all inputs; decided are the runs that reach the precision.
    """
    rng, trials, reached = np.random.default_rng(20240607), [], 0
    for _ in range(runs):
        session = Session(procedure)
        while session.question is not None:
            kept = rng.binomial([ask.units for ask in session.question], p).tolist()
            units = (ask.units for ask in session.question)
            session.tell([Counts(n, k) for n, k in zip(units, kept, strict=True)])
        trials.append(session.result.failure.trials)
        reached += not session.result.note
    return SimulatedTrials(p, float(np.mean(trials)), max(trials), reached / runs)


def simulate_trials(
    procedure: Procedure[int, Counts, Any], p: float, runs: int = 100
) -> SimulatedTrials:
    """The mean and the largest number of trials over simulated runs, and how many concluded."""
    rng = np.random.default_rng(20240607)
    ended = [simulate(procedure, p, rng)[0] for _ in range(runs)]
    trials = [r.trials for r in ended]
    decided = sum(isinstance(r, Estimate | Decision) for r in ended) / runs
    return SimulatedTrials(p, float(np.mean(trials)), max(trials), decided)


def simulate_bu_sun(
    method: BuSun, probabilities: Sequence[float], runs: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Trials of each of `runs` runs (columns) at each p (rows), all of them at once.

    The same as `simulate`, for tens of thousands of runs: the method is asked once for each count
    that comes up.
    """
    p = np.repeat(np.asarray(probabilities, dtype=np.float64)[:, None], runs, axis=1)
    ceiling, pilot = okamoto(method.width, method.error), method.pilot_size
    trials = np.full(p.shape, ceiling, dtype=np.int64)
    if method.width >= 1 / 3:
        return trials
    kept = rng.binomial(pilot, p)
    sizes = [method.bracket_size(Counts(pilot, k)) or 0 for k in range(pilot + 1)]
    second = np.array(sizes, dtype=np.int64)[kept]
    trials += pilot
    for size in np.unique(second[second > 0]).tolist():
        here = second == size
        counts, where = np.unique(rng.binomial(size, p[here]), return_inverse=True)
        last = np.array([method.final_size(Counts(size, k)) for k in counts.tolist()])
        trials[here] = pilot + size + last[where]
    return trials
