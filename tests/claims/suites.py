"""Worlds of a suite: cells of known accuracy, some random and some not, and their mean."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr

import surefoot as sf
from surefoot.core.claims import About
from surefoot.core.results import Interval
from surefoot.records.record import BASELINE
from surefoot.study.study import CellPlan, cell_studies, run_suite
from tests.claims.parts import QUICK, Shift, noise_study, normal_inputs, sign_model
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
    result = run_suite(studies, "world", plan.error, **QUICK)
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


OTHER = np.tile([0.05, 0.2, 0.35, 0.6, 0.9], 5)[: len(HEAVY)]
"""The failure probabilities of the baseline on the same inputs."""
ROWS = {"gaussian": LEVELS, "shift": SHIFTS}


def beside(p: np.ndarray, other: np.ndarray, plan: CellPlan, seed: int) -> Outcome:
    """The mCE and every cell of both models, false where anything is."""
    inputs = normal_inputs(p, other)
    half, studies = replace(plan, error=plan.error / 2), {}
    for column, (prefix, failing) in enumerate(zip(("", BASELINE), (p, other), strict=True)):
        method = sf.methods.SetMean(0.1, 0.1)
        study = noise_study(failing, method, seed, inputs=inputs, model=sign_model(column))
        studies |= {f"{prefix}{n}": s for n, s in cell_studies(study, CELLS, half).items()}
    result = run_suite(studies, "world", plan.error, **QUICK)
    mean, ratio, *cells = result.claims
    assert {one.guarantee.error for one in (mean, ratio)} == {plan.error}
    known = [accuracies(inputs.x[:, i].astype(np.float64)) for i in range(2)]
    errors = [
        [sum(1 - truth[f"{row} {level}"] for level in levels) for row, levels in ROWS.items()]
        for truth in known
    ]
    right = float(np.mean(np.divide(*errors)))
    each = [missed(_rounded(claim), 1 - known[0][claim.names[0]]) for claim in cells]
    for member in result.details.members:
        name, truth = member.name, known[0]
        if name.startswith(BASELINE):
            name, truth = name.removeprefix(BASELINE), known[1]
        low, high = member.whole.interval.low - 1e-9, member.whole.interval.high + 1e-9
        each.append(Outcome(1, int(not low <= truth[name] <= high)))
    over = missed(_rounded(mean), float(np.mean(list(known[0].values()))))
    return any_false([missed(_rounded(ratio), right), over, *each])


@world("corruption_error", "two models, to a precision", 0.2)
def _ratio(seed: int) -> Outcome:
    return beside(HEAVY, OTHER, CellPlan(0.12, error=0.2), seed)


@world("corruption_error", "two models, one pass", 0.2)
def _ratio_of_passes(seed: int) -> Outcome:
    return beside(np.tile(HEAVY, 3), np.tile(OTHER, 3), CellPlan(None, 1, error=0.2), seed)


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
