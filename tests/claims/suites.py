"""Worlds of a suite: cells of known accuracy, some random and some not, and their mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr

import surefoot as sf
from surefoot.core.claims import About
from surefoot.core.results import Interval
from surefoot.study.run import RunSettings
from surefoot.study.suite import CellPlan, cell_studies, run_suite
from tests.claims.parts import QUICK, Shift, noise_study, normal_inputs
from tests.claims.worlds import Outcome, any_false, missed, world

HEAVY = np.array([0.0] * 12 + [0.01] * 4 + [0.1, 0.3, 0.5, 0.7, 0.95, 1.0])
"""Failure probabilities at noise of 1; other noise and shifts follow from the same points."""
LEVELS = (0.3, 0.7, 1.0, 1.5, 2.5)
SHIFTS = (0.4, 1.1)
CELLS: Mapping[str, Any] = {
    **{f"gaussian {level}": sf.perturb.GaussianNoise(level) for level in LEVELS},
    **{f"shift {level}": Shift(level) for level in SHIFTS},
}


def accuracies(points: np.ndarray) -> dict[str, float]:
    """What is true of these points in each cell."""
    noise = {f"gaussian {level}": float(ndtr(points / level).mean()) for level in LEVELS}
    return noise | {f"shift {level}": float((points > level).mean()) for level in SHIFTS}


def outcome(p: np.ndarray, truth: Mapping[str, float], plan: CellPlan, seed: int) -> Outcome:
    """The whole suite is false where a cell or the mean is."""
    study = noise_study(p, sf.methods.SetMean(0.1, 0.1), seed)
    studies = cell_studies(study, CELLS, plan)
    result = run_suite(studies, "world", plan.error, RunSettings(**QUICK))
    whole, *cells = result.claims
    mean = missed(_rounded(whole), float(np.mean(list(truth.values()))))
    each = []
    for claim in cells:
        right = truth[claim.names[0]]
        of_failing = claim.kind.startswith("mean")
        each.append(missed(_rounded(claim), 1 - right if of_failing else right))
    if whole.about.of is About.THESE:
        widths = [claim.interval.width for claim in cells if claim.interval]
        assert whole.interval is not None
        assert whole.interval.width <= np.mean(widths) + 1e-12
        assert widths.count(0.0) >= len(SHIFTS)
    return any_false([mean, *each])


def _rounded(claim: Any) -> Any:
    """What is counted exactly has no width, and a difference of two such numbers is rounded."""
    around = claim.interval
    return replace(claim, interval=Interval(around.low - 1e-9, around.high + 1e-9))


def _points(p: np.ndarray) -> np.ndarray:
    return normal_inputs(p).x[:, 0].astype(np.float64)


@world("suite_mean", "cells that draw and cells that do not, to a precision", 0.2)
def _precision(seed: int) -> Outcome:
    return outcome(HEAVY, accuracies(_points(HEAVY)), CellPlan(0.06, error=0.2), seed)


@world("suite_mean", "two passes over the inputs", 0.2)
def _passes(seed: int) -> Outcome:
    return outcome(HEAVY, accuracies(_points(HEAVY)), CellPlan(None, 2, error=0.2), seed)


@world("suite_mean", "inputs picked at random", 0.2)
def _picked(seed: int) -> Outcome:
    p = np.tile(HEAVY, 12)
    return outcome(p, accuracies(_points(p)), CellPlan(0.12, error=0.2), seed)


@world("suite_mean", "of the population", 0.2)
def _population(seed: int) -> Outcome:
    p = np.random.default_rng(seed).choice(HEAVY, 60)
    plan = CellPlan(0.05, about=About.POPULATION, error=0.2)
    return outcome(p, accuracies(_points(HEAVY)), plan, seed)
