"""Worlds of a mean to a precision: few trials, allocated by what earlier trials said."""

import numpy as np

import surefoot as sf
from surefoot.core.claims import About, Claim
from tests.claims.classes import three_classes
from tests.claims.parts import QUICK, noise_study, normal_inputs
from tests.claims.worlds import Outcome, any_false, judged, missed, of_kind, world

HEAVY = np.array([0.0] * 40 + [0.001] * 6 + [0.05, 0.1, 0.3, 0.5, 0.7, 0.95, 1.0, 1.0])
"""Most inputs never fail, some always do: what makes the mean uncertain is a few of them."""


def _headline(p: np.ndarray, method: object, seed: int) -> Claim:
    claim: Claim = noise_study(p, method, seed).run(**QUICK).claims[0]
    return claim


@world("mean_set", "few trials, most inputs never fail", 0.1)
def _set(seed: int) -> Outcome:
    claim = _headline(HEAVY, sf.methods.SetMean(0.02, 0.1), seed)
    assert claim.kind == "mean_set"
    assert claim.interval is not None
    assert claim.interval.width <= 0.04
    return missed(claim, float(HEAVY.mean()))


@world("mean_set", "few trials, all fail nearly always", 0.1)
def _set_high(seed: int) -> Outcome:
    p = np.full(25, 0.96)
    return missed(_headline(p, sf.methods.SetMean(0.03, 0.1), seed), 0.96)


@world("mean_set", "few trials of inputs picked at random", 0.1)
def _set_picked(seed: int) -> Outcome:
    p = np.tile(HEAVY, 4)
    return missed(_headline(p, sf.methods.SetMean(0.08, 0.1), seed), float(HEAVY.mean()))


@world("mean_set", "required exactly at the mean, few trials", 0.1)
def _set_required(seed: int) -> Outcome:
    result = noise_study(HEAVY, sf.methods.SetMean(0.03, 0.1), seed).run(**QUICK)
    required = result.require(1 - float(HEAVY.mean()), accept_clean_accuracy=True)
    return judged(required.verdicts[0], holds=True)


@world("mean_population", "beside a mean of these inputs, few trials", 0.1)
def _beside(seed: int) -> Outcome:
    p = np.random.default_rng(seed).choice([0.0, 0.01, 0.2, 1.0], 60, p=[0.8, 0.1, 0.05, 0.05])
    result = noise_study(p, sf.methods.SetMean(0.01, 0.1), seed).run(**QUICK)
    return missed(of_kind(result.claims, "mean_population")[0], 0.001 + 0.01 + 0.05)


def _population(p: np.ndarray, truth: float, precision: float, seed: int) -> Outcome:
    claim = _headline(p, sf.methods.PopulationMean(precision, 0.1), seed)
    assert claim.about.of is About.POPULATION
    return missed(claim, truth)


@world("mean_population", "one trial each, inputs that always or never fail", 0.1)
def _zero_one(seed: int) -> Outcome:
    p = (np.random.default_rng(seed).random(120) < 0.1) * 1.0
    return _population(p, 0.1, 0.01, seed)


@world("mean_population", "more trials of inputs that are all alike", 0.1)
def _alike(seed: int) -> Outcome:
    return _population(np.full(80, 0.3), 0.3, 0.03, seed)


@world("mean_population", "inputs enough for the sequential design", 0.1)
def _sequential(seed: int) -> Outcome:
    p = np.random.default_rng(seed).beta(0.5, 2.0, 200)
    return _population(p, 0.2, 0.08, seed)


@world("mean_population", "classes and all inputs together, one trial each", 0.1)
def _by_class(seed: int) -> Outcome:
    labels = np.arange(120) % 3
    often = np.random.default_rng(seed).random(120) < np.array([0.1, 0.4, 0.02])[labels]
    study = noise_study(
        0.49 * often, sf.methods.PopulationMean(0.02, 0.1), seed,
        inputs=normal_inputs(0.49 * often, labels=labels.tolist()),
        model=sf.load_model(three_classes, shape=(2,)),
        property=sf.properties.SameLabel(), by_class=True,
    )  # fmt: skip
    claims = of_kind(study.run(**QUICK).claims, "mean_population")
    truths = [0.49 * share for share in (0.52 / 3, 0.1, 0.4, 0.02)]
    pairs = zip(claims, truths, strict=True)
    return any_false([missed(claim, truth) for claim, truth in pairs])
