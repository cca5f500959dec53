"""What a run will cost: the procedure simulated on assumed probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts
from surefoot.core.procedure import Procedure, Session
from surefoot.core.results import Decision, Estimate, Result


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


def simulate_all(
    procedure: Procedure[Any, Any, Any],
    p: float | NDArray[np.float64],
    rng: np.random.Generator,
) -> Any:  # noqa: ANN401  whatever the procedure concludes
    """One run of a procedure for all inputs together; p of each, or one for all."""
    session = Session(procedure)
    while (asks := session.question) is not None:
        units = np.array([ask.units for ask in asks])
        own = p if isinstance(p, float) else p[[ask.subject for ask in asks]]
        kept = rng.binomial(units, own)
        session.tell([Counts(int(n), int(k)) for n, k in zip(units, kept, strict=True)])
    return session.result


def simulate_mean(procedure: Procedure[Any, Any, Any], p: float, runs: int = 5) -> SimulatedTrials:
    """The same of a procedure for all inputs together, each kept with probability p.

    Trials are those of all inputs; decided are the runs that reach the precision.
    """
    rng, trials, reached = np.random.default_rng(20240607), [], 0
    for _ in range(runs):
        result = simulate_all(procedure, p, rng)
        trials.append(result.failure.trials)
        reached += not result.note
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
