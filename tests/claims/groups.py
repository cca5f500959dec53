"""Worlds of groups: the inputs of a group depend on each other, and groups are the sample."""

from functools import lru_cache
from typing import Any

import numpy as np

import surefoot as sf
from surefoot.core.claims import Continues, Sampling
from surefoot.subject.inputs import Inputs
from tests.claims.parts import (
    QUICK,
    line_inputs,
    model_studies,
    noise_study,
    normal_inputs,
    radius_study,
)
from tests.claims.sampled import KAPPA
from tests.claims.worlds import Outcome, any_false, judged, missed, of_kind, world

Floats = np.ndarray
ONE_TRIAL = sf.methods.FixedSize(0.6, 0.45)
"""One trial an input: a world of a thousand inputs takes a quarter of a second."""


def grouped(inputs: Inputs, sizes: Floats) -> Inputs:
    """So many inputs of each group, one group after the other."""
    names = np.repeat([f"patient {i}" for i in range(len(sizes))], sizes)
    return sf.load_inputs(inputs, groups=names)


def group_study(of_groups: Floats, sizes: Floats, method: Any, seed: int, **more: Any) -> sf.Study:
    """All inputs of a group fail with the same probability."""
    p = np.repeat(of_groups, sizes)
    inputs = more.pop("inputs", None) or grouped(normal_inputs(p), sizes)
    return noise_study(p, method, seed, inputs=inputs, **more)


def alike(seed: int, *, named: bool = True) -> tuple[sf.Study, float]:
    """20 groups of 50 inputs; in a tenth of the groups all fail, in the others none."""
    rng = np.random.default_rng([seed, 41])
    of_groups, sizes = (rng.random(20) < 0.1).astype(float), np.full(20, 50)
    plain = None if named else normal_inputs(np.repeat(of_groups, sizes))
    over = sf.population.Mean(0.1)
    study = group_study(
        of_groups, sizes, ONE_TRIAL, seed, inputs=plain, population=over, by_class=False
    )
    return study, 0.1


@world("mean_population", "20 groups of 50 inputs alike", 0.1)
def _alike(seed: int) -> Outcome:
    study, truth = alike(seed)
    claim = of_kind(study.run(**QUICK).claims, "mean_population")[0]
    assert (claim.about.sampling, claim.about.groups) == (Sampling.GROUPED, 20)
    assert claim.continues is Continues.LADDER
    return missed(claim, truth)


@world("mean_population", "large groups fail more often", 0.1)
def _sizes(seed: int) -> Outcome:
    """A fifth of the groups has 20 inputs that fail half of the time, the others 2 that never do.

    The mean over groups is .1; over inputs it is far larger.
    """
    rng = np.random.default_rng([seed, 43])
    large = rng.random(30) < 0.2
    of_groups, sizes = np.where(large, 0.5, 0.0), np.where(large, 20, 2)
    study = group_study(of_groups, sizes, sf.methods.FixedSize(0.35, 0.1), seed, by_class=False)
    return missed(of_kind(study.run(**QUICK).claims, "mean_population")[0], 0.1)


@world("mean_population", "one group", 0.1)
def _one_group(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 45])
    of_groups, sizes = rng.beta(0.5, 2.0, 1), np.array([30])
    study = group_study(of_groups, sizes, sf.methods.FixedSize(0.35, 0.1), seed, by_class=False)
    return missed(of_kind(study.run(**QUICK).claims, "mean_population")[0], 0.2)


@world("mean_population", "groups added until it looks false", 0.1)
def _peeking(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 47])
    of_groups = (rng.random(24) < 0.1).astype(float)
    looks = [
        group_study(of_groups[:n], np.full(n, 5), ONE_TRIAL, seed, by_class=False,
                    population=sf.population.Mean(0.1, anytime=True)).run(**QUICK)
        for n in (4, 8, 16, 24)
    ]  # fmt: skip
    return any_false([missed(of_kind(r.claims, "mean_population")[0], 0.1) for r in looks])


@world("mean_population", "classes within groups", 0.1)
def _classes_of_groups(seed: int) -> Outcome:
    """Every group has inputs of both classes: of classes nothing is said."""
    rng = np.random.default_rng([seed, 49])
    bad = rng.random(20) < 0.1
    p = np.stack([np.where(bad, 0.49, 0.0)] * 4 + [np.full(20, 0.05)] * 4, axis=1).ravel()
    labels = np.tile(np.repeat([0, 1], 4), 20)
    inputs = grouped(normal_inputs(p, labels=labels.tolist()), np.full(20, 8))
    study = noise_study(
        p, sf.methods.FixedSize(0.35, 0.1), seed, inputs=inputs, property=sf.properties.SameLabel()
    )
    claims = study.run(**QUICK).claims
    assert not of_kind(claims, "classes")
    (claim,) = of_kind(claims, "mean_population")
    return missed(claim, (0.049 + 0.05) / 2)


@world("mean_population", "a requirement at the truth, of groups", 0.1)
def _required(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 51])
    of_groups = (rng.random(30) < 0.04).astype(float)
    study = group_study(
        of_groups,
        np.full(30, 5),
        ONE_TRIAL,
        seed,
        by_class=False,
        population=sf.population.Mean(0.1),
    )
    result = study.run(**QUICK)
    return any_false(
        [
            judged(result.require(0.96, accept_clean_accuracy=True).verdicts[0], holds=True),
            judged(result.require(0.961, accept_clean_accuracy=True).verdicts[0], holds=False),
        ]
    )


@world("share_kappa", "fragile groups are large", 0.1)
def _share(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 53])
    robust = rng.random(30) < 0.7
    of_groups, sizes = np.where(robust, KAPPA / 5, 3 * KAPPA), np.where(robust, 3, 6)
    study = group_study(of_groups, sizes, sf.methods.KappaTest(KAPPA, 0.1, 600), seed,
                        by_class=False)  # fmt: skip
    return missed(of_kind(study.run(**QUICK).claims, "share_kappa")[0], 0.7)


@world("classes", "groups within classes, all alike", 0.1)
def _classes(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 55])
    of_groups, sizes = rng.beta(1, 4, 24) / 2, rng.integers(1, 12, 24)
    labels = np.repeat(np.repeat([0, 1], 12), sizes)
    p = np.repeat(of_groups, sizes)
    inputs = grouped(normal_inputs(p, labels=labels.tolist()), sizes)
    study = noise_study(
        p, sf.methods.FixedSize(0.35, 0.1), seed, inputs=inputs, property=sf.properties.SameLabel()
    )
    claim = of_kind(study.run(**QUICK).claims, "classes")[0]
    return Outcome(1, int((claim.value or 0) > 0))


def _models(seed: int, shift: float) -> dict[str, sf.Study]:
    """Two models on 20 groups of 5; in each group one of them fails, the first more often."""
    rng = np.random.default_rng([seed, 57])
    first = rng.random(20) < 0.5 + shift
    columns = np.repeat(np.where(first, 0.4, 0.0), 5), np.repeat(np.where(first, 0.0, 0.4), 5)
    inputs = grouped(normal_inputs(*columns), np.full(20, 5))
    method = sf.methods.FixedSize(0.35, 0.1)
    return model_studies(columns, method, seed, inputs, by_class=False)


@world("difference", "groups on which one of two models fails", 0.1)
def _difference(seed: int) -> Outcome:
    result = sf.compare(_models(seed, 0.0), **QUICK)
    return missed(of_kind(result.claims, "difference")[0], 0.0)


@world("not_worse", "groups, worse by slightly more than the margin", 0.1)
def _not_worse(seed: int) -> Outcome:
    result = sf.compare(_models(seed, 0.1), **QUICK)  # worse by .08
    return judged(
        result.require(not_worse=("a", 0.079), accept_clean_accuracy=True).verdicts[0], holds=False
    )


@lru_cache(maxsize=32)
def _grouped_radii(seed: int) -> sf.Result:
    """Large groups have small radii; every group weighs the same. Two worlds share the study."""
    rng = np.random.default_rng([seed, 59])
    of_groups = rng.uniform(0.0, 0.4, 14)
    sizes = np.where(of_groups < 0.1, 3, 1)
    method = sf.methods.CriticalLevel(0.05, 2.0, quantile=0.5, error=0.1, samples=0)
    inputs = grouped(line_inputs(np.repeat(of_groups, sizes)), sizes)
    return radius_study(method, inputs, seed).run(workers=1)


@world("radius_quantile", "groups of equal radii", 0.1)
def _quantile(seed: int) -> Outcome:
    claim = of_kind(_grouped_radii(seed).claims, "radius_quantile")[0]
    assert claim.about.groups == 14
    return missed(claim, 0.2)


@world("robust_accuracy_population", "groups of equal radii", 0.1)
def _robust_accuracy(seed: int) -> Outcome:
    claims = _grouped_radii(seed).at_radius(0.1).claims
    return missed(of_kind(claims, "robust_accuracy_population")[0], 0.75)
