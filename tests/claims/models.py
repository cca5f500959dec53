"""Worlds of several models: what is claimed of their differences and of the best."""

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import beta

import surefoot as sf
from surefoot.conclude.comparison import PERTURBED
from surefoot.conclude.not_worse import not_worse_than
from surefoot.core.assumptions import Assumed
from surefoot.records.record import EarlierModel, under
from tests.claims.parts import QUICK, model_studies, noise_study, normal_inputs
from tests.claims.sampled import SPREAD
from tests.claims.worlds import Outcome, any_false, judged, missed, of_kind, world

METHOD = sf.methods.FixedSize(0.35, 0.1)


def _pair(seed: int, n: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Two models' failure probabilities on the same inputs, the first larger by `shift`."""
    rng = np.random.default_rng([seed, 13])
    base = rng.beta(1, 5, (2, n)) * 0.6
    return base[0] + shift, base[1]


def _models(columns: tuple[np.ndarray, np.ndarray], seed: int) -> dict[str, sf.Study]:
    return model_studies(columns, METHOD, seed, normal_inputs(*columns), by_class=False)


@world("difference", "two models that fail equally often", 0.1)
def _difference(seed: int) -> Outcome:
    result = sf.compare(_models(_pair(seed, 20, 0.0), seed), **QUICK)
    return missed(of_kind(result.claims, "difference")[0], 0.0)


@world("difference", "stratified by class", 0.1)
def _stratified(seed: int) -> Outcome:
    """Each model fails often on one of two classes, and on their average equally often."""
    rng = np.random.default_rng([seed, 14])
    often, seldom = (rng.beta(1, b, (2, 10)) * 0.45 for b in (1, 5))
    columns = np.append(often[0], seldom[0]), np.append(seldom[1], often[1])
    inputs = normal_inputs(*columns, labels=[0] * 10 + [1] * 10)
    same = {"property": sf.properties.SameLabel(), "by_class": False}
    studies = model_studies(columns, METHOD, seed, inputs, **same)
    claim = of_kind(sf.compare(studies, **QUICK).claims, "difference")[0]
    assert Assumed.STRATIFIED in claim.guarantee.assumptions
    return missed(claim, 0.0)


@world("difference", "identical files", 0.0)
def _identical(seed: int) -> Outcome:
    one = noise_study(SPREAD, METHOD, seed)
    signature = replace(one.model.signature, covers="the bytes of the ONNX file")
    one = replace(one, model=replace(one.model, signature=signature))
    result = sf.compare({"a": one, "b": one}, **QUICK)
    claim = of_kind(result.claims, "difference")[0]
    around = claim.interval
    return Outcome(1, int(around is None or around.low != 0 or around.high != 0))


_NOISE = (0.5, 1.0, 2.0)


@cache
def _mean_failure(level: float) -> float:
    """In the population of `_pair`, under noise of this size."""
    p = 0.6 * beta.ppf((np.arange(20_000) + 0.5) / 20_000, 1, 5)
    return float(ndtr(ndtri(p) / level).mean())


@world("difference", "equal models under three perturbations, everything together", 0.2)
def _perturbed(seed: int) -> Outcome:
    """False where any difference, ranking or interval of a cell is."""
    studies = _models(_pair(seed, 25, 0.0), seed)
    cells = {
        under(name, str(level)): replace(study, perturbation=sf.perturb.GaussianNoise(level))
        for level in _NOISE
        for name, study in studies.items()
    }
    result = sf.compare(cells, along=PERTURBED, error=0.2, **QUICK)
    outcomes = [missed(claim, 0.0) for claim in of_kind(result.claims, "difference")]
    outcomes += [Outcome(1, int(len(c.names) < 2)) for c in of_kind(result.claims, "best")]
    for claim in of_kind(result.claims, "mean_population"):
        outcomes.append(missed(claim, _mean_failure(float(claim.names[0].split()[-1]))))
    assert len(outcomes) == 4 * len(_NOISE)
    assert {claim.guarantee.error for claim in result.claims} == {0.2}
    return any_false(outcomes)


@world("best", "the best of two, slightly", 0.1)
def _best(seed: int) -> Outcome:
    result = sf.compare(_models(_pair(seed, 20, 0.02), seed), **QUICK)
    return Outcome(1, int("b" not in of_kind(result.claims, "best")[0].names))


@world("not_worse", "worse by exactly the margin", 0.1)
def _not_worse(seed: int) -> Outcome:
    result = sf.compare(_models(_pair(seed, 30, 0.1), seed), **QUICK)
    claim = result.require(not_worse=("a", 0.1), accept_clean_accuracy=True).verdicts[0]
    return judged(claim, holds=True)


@world("not_worse", "worse by slightly more than the margin", 0.1)
def _worse(seed: int) -> Outcome:
    result = sf.compare(_models(_pair(seed, 30, 0.11), seed), **QUICK)
    claim = result.require(not_worse=("a", 0.1), accept_clean_accuracy=True).verdicts[0]
    return judged(claim, holds=False)


@world("not_worse", "against an earlier run of another seed, at the margin", 0.1)
def _not_worse_than(seed: int) -> Outcome:
    """That run had another width and error, too; odd seeds are slightly beyond the margin."""
    holds = seed % 2 == 0
    studies = _models(_pair(seed, 15, 0.1 if holds else 0.11), seed)
    coarse = sf.methods.FixedSize(0.45, 0.2)
    earlier = replace(studies["b"], seed=seed + 1000, method=coarse, population=None)
    new, old = (study.run(**QUICK).record for study in (studies["a"], earlier))
    (claim,) = not_worse_than(new, old, EarlierModel(old.digest, ("a", "b"), 0.1, 0.1))
    return judged(claim, holds=holds)
