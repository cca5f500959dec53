"""What a run will cost: the procedure rehearsed on assumed probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.evidence import Counts
from surefoot.procedure import Procedure, Session
from surefoot.results import Decision, Estimate, Result


@dataclass(frozen=True)
class Rehearsal:
    """Trials of one input whose property holds with probability `p`."""

    p: float
    mean: float
    most: int
    decided: float


def simulate(
    procedure: Procedure[int, Counts, Any], p: float, rng: np.random.Generator
) -> tuple[Result, list[int]]:
    """One run on simulated trials that hold with probability p, and what it asked for."""
    session = Session(procedure)
    asked: list[int] = []
    while session.question is not None:
        n = session.question
        asked.append(n)
        session.tell(Counts(n, int(rng.binomial(n, p))))
    found: Result = session.result
    return found, asked


def rehearse(procedure: Procedure[int, Counts, Any], p: float, runs: int = 100) -> Rehearsal:
    """The mean and the largest number of trials over simulated runs, and how many concluded."""
    rng = np.random.default_rng(20240607)
    ended = [simulate(procedure, p, rng)[0] for _ in range(runs)]
    trials = [r.trials for r in ended]
    decided = sum(isinstance(r, Estimate | Decision) for r in ended) / runs
    return Rehearsal(p, float(np.mean(trials)), max(trials), decided)
