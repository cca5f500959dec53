"""Worlds without classes: a linear regressor under noise, a detector whose box moves."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import surefoot as sf
from surefoot.subject.protocols import Model
from tests.claims.curves import ERROR, curve_of, near
from tests.claims.parts import QUICK, Shift
from tests.claims.worlds import Outcome, add_up, all_missed, judged, missed, of_kind, world

KAPPA = 0.1
WEIGHTS = np.array([0.6, -0.8])  # of length 1: noise of each value moves the output as much
TOLERANCE = 1.0
OFFSETS = np.array([0.0, 0.3, 1.0, 1.7, -1.2, 3.0])
"""How far the clean output is from the true one."""
LEAST_IOU = 0.6
SIDE = 4.0
REACH = SIDE * (1 - LEAST_IOU) / (1 + LEAST_IOU)
"""How far a square may move along its side: (side − d) / (side + d) is its IoU then."""
_NEXT = 1e-4
"""Beside the truth: more than rounding moves it, less than a study can tell."""


def outside(offset: np.ndarray, tolerance: float, deviation: float) -> np.ndarray:
    """Φ((−t − d)/σ) + Φ((d − t)/σ): the chance that d plus normal noise is more than t from 0."""
    return ndtr((-tolerance - offset) / deviation) + ndtr((offset - tolerance) / deviation)


def deviation_for(kappa: float, tolerance: float) -> float:
    """The noise under which an offset of 0 leaves the tolerance with this probability."""
    return float(-tolerance / ndtri(kappa / 2))


@lru_cache(maxsize=2)
def regressor(more: float = 0.0) -> Model:
    """A weighted sum, and so much more."""
    return sf.load_model(
        lambda x: x.astype(np.float64) @ WEIGHTS + more, shape=(2,), scores="values"
    )


@lru_cache(maxsize=1)
def detector() -> Model:
    """One square whose left side is the first value; the others stay where they are."""

    def detect(x: np.ndarray) -> list[dict[str, np.ndarray]]:
        answers = []
        for left in x[:, 0].astype(np.float64):
            box = np.array([[left, 0.0, left + SIDE, SIDE]])
            answers.append({"boxes": box, "labels": np.zeros(1, int), "scores": np.ones(1)})
        return answers

    return sf.load_model(detect, shape=(2,), scores="objects")


def moved_study(offsets: np.ndarray, method: Any, seed: int, deviation: float = 1.0) -> sf.Study:
    """A regressor that is wrong by these offsets when clean."""
    x = np.random.default_rng([seed, 51]).uniform(-1, 1, (len(offsets), 2)).astype(np.float32)
    inputs = sf.load_inputs(x, targets=x.astype(np.float64) @ WEIGHTS + offsets)
    return sf.Study(
        regressor(), inputs, sf.perturb.GaussianNoise(deviation), method,
        property=sf.properties.Close(TOLERANCE, of="true"), seed=seed,
    )  # fmt: skip


def box_study(offsets: np.ndarray, perturbation: Any, method: Any, seed: int) -> sf.Study:
    """A detector whose box is this far from the true one when clean."""
    x = np.random.default_rng([seed, 53]).uniform(-1, 1, (len(offsets), 2)).astype(np.float32)
    lefts = x[:, 0].astype(np.float64) + offsets
    targets = [{"boxes": [[a, 0.0, a + SIDE, SIDE]], "labels": [0]} for a in lefts]
    return sf.Study(
        detector(), sf.load_inputs(x, targets=targets), perturbation, method,
        property=sf.properties.BoxesKept(LEAST_IOU, of="true"), seed=seed,
    )  # fmt: skip


@world("failure", "a regressor that is off by more and more", 0.1)
def _failure(seed: int) -> Outcome:
    result = moved_study(OFFSETS, sf.methods.ExactSequential(0.15, 0.1), seed).run(**QUICK)
    claims = [result.claim_about(row.id) for row in result.inputs]
    return all_missed(claims, outside(OFFSETS, TOLERANCE, 1.0).tolist())


@world("failure", "a detector whose box is off by more and more", 0.1)
def _boxes(seed: int) -> Outcome:
    noise = sf.perturb.GaussianNoise(1.0)
    result = box_study(OFFSETS, noise, sf.methods.ExactSequential(0.15, 0.1), seed).run(**QUICK)
    claims = [result.claim_about(row.id) for row in result.inputs]
    return all_missed(claims, outside(OFFSETS, REACH, 1.0).tolist())


@world("kappa", "a regressor exactly at κ, and beside it", 0.1)
def _kappa(seed: int) -> Outcome:
    method, outcomes = sf.methods.KappaTest(KAPPA, 0.1, 1500), []
    for p in (KAPPA, 1.02 * KAPPA, 2 * KAPPA):
        study = moved_study(np.zeros(2), method, seed, deviation_for(p, TOLERANCE))
        result = study.run(**QUICK)
        claims = [result.claim_about(row.id) for row in result.inputs]
        outcomes += [judged(claim, holds=p <= KAPPA) for claim in claims]
    return add_up(outcomes)


@world("all_kappa", "boxes that are lost twice as often as κ", 0.1)
def _all_kappa(seed: int) -> Outcome:
    noise = sf.perturb.GaussianNoise(deviation_for(2 * KAPPA, REACH))
    method = sf.methods.KappaTest(KAPPA, 0.1, 1500)
    result = box_study(np.zeros(4), noise, method, seed).run(**QUICK)
    return judged(result.require("all", accept_clean_accuracy=True).verdicts[0], holds=False)


@world("mean_set", "a regressor over all its inputs", 0.1)
def _mean_set(seed: int) -> Outcome:
    result = moved_study(OFFSETS, sf.methods.ExactSequential(0.2, 0.1), seed).run(**QUICK)
    truth = float(outside(OFFSETS, TOLERANCE, 1.0).mean())
    return missed(of_kind(result.claims, "mean_set")[0], truth)


@world("mean_population", "a regressor that is right, or far off", 0.1)
def _mean_population(seed: int) -> Outcome:
    off = np.random.default_rng([seed, 55]).random(30) < 0.1
    study = moved_study(np.where(off, 3.0, 0.0), sf.methods.FixedSize(0.35, 0.1), seed, 0.3)
    right, wrong = outside(np.array([0.0, 3.0]), TOLERANCE, 0.3)
    claim = of_kind(study.run(**QUICK).claims, "mean_population")[0]
    return missed(claim, float(0.9 * right + 0.1 * wrong))


@world("curve_set", "boxes that a shift moves away", ERROR)
def _shifted_boxes(seed: int) -> Outcome:
    """Left of the true box by an offset, and further with the level: lost at reach − offset."""
    offsets = np.random.default_rng([seed, 57]).uniform(0.05, 0.9, 60)
    result = box_study(offsets, Shift(), curve_of(0.7, assume="monotone"), seed).run(**QUICK)
    lost = np.sort(REACH - offsets)
    return near(of_kind(result.claims, "curve_set")[0], float(lost[int(0.3 * 60)]))


@world("not_worse", "a regressor that fails more often than another by just the margin", 0.1)
def _not_worse(seed: int) -> Outcome:
    one = moved_study(np.full(30, 0.5), sf.methods.FixedSize(0.35, 0.1), seed)
    other = replace(one, model=regressor(0.5))  # always right when clean
    off, right = outside(np.array([0.5, 0.0]), TOLERANCE, 1.0)
    result = sf.compare({"a": one, "b": other}, **QUICK)
    margin = float(off - right) + _NEXT
    return judged(
        result.require(not_worse=("a", margin), accept_clean_accuracy=True).verdicts[0], holds=True
    )
