"""Small worlds for curves: inputs that break, or come and go, and who asks about them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import binomtest

from surefoot.core.counts import Counts
from surefoot.core.procedure import Session
from surefoot.core.results import Curve, Interval
from tests.step_curves import StepCurve

Goodness = Callable[[float], np.ndarray]
"""From a level to what every input is worth there: 0 or 1, or anything between."""


@dataclass(frozen=True)
class Driven:
    """A curve, and what was asked for it."""

    curve: Curve
    trials_by_level: dict[float, int]
    """How many inputs at each level."""


def drive(procedure, world: Goodness, questions: float = math.inf) -> Driven:
    """Answer a procedure's questions; no input may be run twice at one level.

    The time is up after so many questions.
    """
    session, observed = Session(procedure), {}
    while (question := session.question) is not None:
        if questions <= 0:
            session.conclude()
            break
        questions -= 1
        answers = []
        for ask in question:
            values = world(ask.level)
            assert procedure.low <= ask.level <= procedure.high
            assert ask.units >= 1
            assert 0 <= ask.start < ask.start + ask.units <= len(values) == procedure.size
            done = observed.setdefault(ask.level, np.zeros(len(values), bool))
            part = slice(ask.start, ask.start + ask.units)
            assert not done[part].any(), f"asked twice for {ask}"
            done[part] = True
            lacking = 1.0 - values[part]
            answers.append(procedure.evidence.of(lacking, 0.5))
        session.tell(answers)
    trials_by_level = {level: int(done.sum()) for level, done in observed.items()}
    total = sum(trials_by_level.values())
    assert session.result.trials == total <= procedure.size * len(trials_by_level)
    return Driven(session.result, trials_by_level)


def drive_fresh(
    procedure, accuracy: Callable[[float], float], seed: int, questions: float = math.inf
) -> Driven:
    """Every trial is an independent draw; no trial may be run twice, at whatever levels."""
    session, runs, trials_by_level = Session(procedure), [], {}
    rng = np.random.default_rng(seed)
    while (question := session.question) is not None:
        if questions <= 0:
            session.conclude()
            break
        questions -= 1
        answers = []
        for ask in question:
            assert procedure.low <= ask.level <= procedure.high
            runs.append((ask.start, ask.start + ask.units))
            trials_by_level[ask.level] = trials_by_level.get(ask.level, 0) + ask.units
            failed = rng.random(ask.units) >= accuracy(ask.level)
            answers.append(procedure.evidence.of(failed * 1.0, 0.5))
        session.tell(answers)
    runs.sort()
    assert all(end <= start for (_, end), (start, _) in pairwise(runs)), "a trial is run twice"
    assert session.result.trials == sum(trials_by_level.values())
    return Driven(session.result, trials_by_level)


def drive_whole(procedure, accuracy: Callable[[float], float]) -> Driven:
    """Answer questions for all inputs at a level; no level may be asked for twice."""
    return drive_until(procedure, accuracy, math.inf)


def drive_until(procedure, accuracy: Callable[[float], float], levels: float) -> Driven:
    """The same, and the time is up after so many levels."""
    session, trials_by_level = Session(procedure), {}
    while (ask := session.question) is not None:
        if len(trials_by_level) == levels:
            session.conclude()
            break
        assert ask.level not in trials_by_level, f"asked twice for {ask}"
        assert procedure.low <= ask.level <= procedure.high
        assert ask.units == procedure.size
        trials_by_level[ask.level] = ask.units
        session.tell(Counts(ask.units, round(accuracy(ask.level) * ask.units)))
    assert session.result.trials == sum(trials_by_level.values())
    return Driven(session.result, trials_by_level)


def breaking(critical: np.ndarray) -> Goodness:
    """Every input holds below its own critical level, and never again."""
    return lambda level: (level < critical) * 1.0


def share_unbroken(critical: np.ndarray, threshold: float, low: float, high: float) -> float:
    """Exactly on which share of the range enough of the inputs hold below their levels."""
    enough = math.ceil(threshold * len(critical) - 1e-9)
    last = np.sort(critical)[::-1][enough - 1]
    return float(np.clip((last - low) / (high - low), 0, 1))


def flickering(turns: np.ndarray) -> Goodness:
    """Inputs that hold at first and change at each of their turns, one row an input."""
    return lambda level: (np.count_nonzero(turns <= level, axis=1) % 2 == 0) * 1.0


def within(truth: float, interval: Interval) -> bool:
    """Whether it lies there, but for rounding."""
    return interval.low - 1e-9 <= truth <= interval.high + 1e-9


def ordered(curve: StepCurve, seed: int) -> Goodness:
    """The inputs of a set in one random order."""
    order = np.random.default_rng(seed).permutation(curve.size)
    return lambda share: curve.right_at(share)[order]


def false_too_often(false: int, runs: int, error: float) -> bool:
    """Whether so many false intervals would come less than once in a thousand at this error."""
    return bool(binomtest(false, runs, error, "greater").pvalue < 0.001)
