"""Worlds of sampling: a sign under normal noise fails with probability Φ(−margin)."""

from __future__ import annotations

import numpy as np

import surefoot as sf
from surefoot.core.assumptions import Assumed
from surefoot.core.claims import About, Continues, Randomness
from tests.claims.parts import QUICK, noise_study, normal_inputs
from tests.claims.worlds import (
    Outcome,
    add_up,
    all_missed,
    any_false,
    judged,
    missed,
    of_kind,
    world,
)

SPREAD = np.array([0.0, 0.001, 0.02, 0.1, 0.3, 0.5, 0.7, 0.95, 1.0, 0.05])
KAPPA = 0.1


@world("failure", "from never to always", 0.1)
def _failure(seed: int) -> Outcome:
    result = noise_study(SPREAD, sf.methods.ExactSequential(0.15, 0.1), seed).run(**QUICK)
    claims = [result.claim_about(row.id) for row in result.inputs]
    return all_missed(claims, SPREAD.tolist())


@world("failure", "a fixed size at one half", 0.2)
def _failure_fixed(seed: int) -> Outcome:
    p = np.full(10, 0.5)
    result = noise_study(p, sf.methods.FixedSize(0.15, 0.2), seed).run(**QUICK)
    return all_missed([result.claim_about(row.id) for row in result.inputs], p.tolist())


@world("failure", "Bu & Sun's method", 0.2)
def _failure_published(seed: int) -> Outcome:
    p = np.array([0.5, 0.9, 0.97, 0.99])
    result = noise_study(p, sf.methods.BuSun(0.15, 0.2), seed).run(**QUICK)
    return all_missed([result.claim_about(row.id) for row in result.inputs], p.tolist())


@world("kappa", "exactly κ, and beside it", 0.1)
def _kappa(seed: int) -> Outcome:
    p = np.array([KAPPA, 1.02 * KAPPA, 0.98 * KAPPA, 2 * KAPPA])
    result = noise_study(p, sf.methods.KappaTest(KAPPA, 0.1, 1500), seed).run(**QUICK)
    claims = [result.claim_about(row.id) for row in result.inputs]
    return add_up([judged(c, holds=q <= KAPPA) for c, q in zip(claims, p, strict=True)])


@world("kappa", "planned looks at κ", 0.1)
def _kappa_planned(seed: int) -> Outcome:
    p = np.full(6, KAPPA)
    result = noise_study(p, sf.methods.ExactBinomial(KAPPA, 0.1, 800), seed).run(**QUICK)
    return add_up([judged(result.claim_about(row.id), holds=True) for row in result.inputs])


@world("worst", "thirty inputs alike", 0.1)
def _worst(seed: int) -> Outcome:
    result = noise_study(np.full(30, 0.3), sf.methods.FixedSize(0.2, 0.1), seed).run(**QUICK)
    return any_false([missed(claim, 0.3) for claim in of_kind(result.claims, "worst")])


@world("tail", "the count beside the extrapolation", 0.1)
def _tail(seed: int) -> Outcome:
    """An extrapolation has no guarantee; what is counted beside it has."""
    p = np.array([0.02, 0.1, 0.3, 0.6])
    prop = sf.properties.NoConfidentMistake(0.6)
    margin = np.log(0.6 / 0.4) / 2  # the wrong class has 0.6 where the value is below minus this
    study = noise_study(p, sf.methods.NormalTail(draws=60, error=0.1), seed, property=prop)
    shifted = study.inputs.x[:, 0].astype(float)
    from scipy.special import ndtr

    result = study.run(**QUICK)
    truths = np.where(shifted > 0, ndtr(-shifted - margin), 1 - ndtr(-shifted + margin))
    tails = of_kind(result.claims, "tail")
    assert all(c.guarantee.footing is sf.results.Footing.NONE for c in tails)
    rows = [getattr(row.result, "counted") for row in result.inputs]  # noqa: B009
    outcomes = [
        Outcome(1, int(not 1 - r.interval.high <= t <= 1 - r.interval.low), 0, (r.interval.width,))
        for r, t in zip(rows, truths, strict=True)
    ]
    return add_up(outcomes)


@world("mean_set", "unequal margins", 0.1)
def _mean_set(seed: int) -> Outcome:
    result = noise_study(SPREAD, sf.methods.ExactSequential(0.2, 0.1), seed).run(**QUICK)
    return missed(of_kind(result.claims, "mean_set")[0], float(SPREAD.mean()))


@world("mean_set", "rare failures", 0.1)
def _mean_set_rare(seed: int) -> Outcome:
    p = np.full(12, 0.004)
    result = noise_study(p, sf.methods.FixedSize(0.2, 0.1), seed).run(**QUICK)
    return missed(of_kind(result.claims, "mean_set")[0], 0.004)


@world("count_kappa", "inputs at κ, 2κ and 0", 0.1)
def _count_kappa(seed: int) -> Outcome:
    p = np.array([KAPPA] * 8 + [2 * KAPPA] * 3 + [0.0] * 3)
    result = noise_study(p, sf.methods.KappaTest(KAPPA, 0.1, 800), seed).run(**QUICK)
    return missed(of_kind(result.claims, "count_kappa")[0], 3.0)


@world("all_kappa", "all exactly at κ", 0.1)
def _all_at_kappa(seed: int) -> Outcome:
    result = noise_study(np.full(8, KAPPA), sf.methods.KappaTest(KAPPA, 0.1, 800), seed).run(
        **QUICK
    )
    return judged(result.require("all").verdicts[0], holds=True)


@world("all_kappa", "one slightly above κ", 0.1)
def _one_above(seed: int) -> Outcome:
    p = np.array([1.02 * KAPPA, 0.0, 0.0])
    result = noise_study(p, sf.methods.KappaTest(KAPPA, 0.1, 1500), seed).run(**QUICK)
    return judged(result.require("all").verdicts[0], holds=False)


@world("all_kappa", "all at 2κ", 0.1)
def _all_above(seed: int) -> Outcome:
    result = noise_study(np.full(8, 2 * KAPPA), sf.methods.KappaTest(KAPPA, 0.1, 3000), seed).run(
        **QUICK
    )
    return judged(result.require("all").verdicts[0], holds=False)


@world("all_kappa", "a share of these: one robust input too few", 0.1)
def _share_of_these(seed: int) -> Outcome:
    p = np.array([1.02 * KAPPA] * 5 + [0.0] * 7)
    result = noise_study(p, sf.methods.KappaTest(KAPPA, 0.1, 1500), seed).run(**QUICK)
    return judged(result.require(of_these=8 / 12).verdicts[0], holds=False)


@world("all_kappa", "a share of these: just enough, all at κ", 0.1)
def _share_of_these_kept(seed: int) -> Outcome:
    p = np.array([KAPPA] * 8 + [2 * KAPPA] * 4)
    result = noise_study(p, sf.methods.KappaTest(KAPPA, 0.1, 1500), seed).run(**QUICK)
    return judged(result.require(of_these=8 / 12).verdicts[0], holds=True)


def _population(seed: int, n: int, draw: object) -> Outcome:
    rng = np.random.default_rng([seed, n])
    p, truth = draw(rng, n)  # type: ignore[operator]
    result = noise_study(p, sf.methods.FixedSize(0.35, 0.1), seed, by_class=False).run(**QUICK)
    claim = of_kind(result.claims, "mean_population")[0]
    assert claim.about.of is About.POPULATION
    assert claim.random is Randomness.FRESH
    return missed(claim, truth)


def _two_points(rng: np.random.Generator, n: int) -> tuple[np.ndarray, float]:
    return np.where(rng.random(n) < 0.1, 0.9, 0.02), 0.1 * 0.9 + 0.9 * 0.02


def _beta(rng: np.random.Generator, n: int) -> tuple[np.ndarray, float]:
    return rng.beta(0.5, 2.0, n), 0.2


def _zero_one(rng: np.random.Generator, n: int) -> tuple[np.ndarray, float]:
    return (rng.random(n) < 0.05).astype(float), 0.05


for _n, _draw in ((1, _beta), (2, _zero_one), (5, _two_points), (30, _zero_one), (30, _beta)):

    @world("mean_population", f"{_draw.__name__[1:]} of {_n}", 0.1)
    def _mean_population(seed: int, n: int = _n, draw: object = _draw) -> Outcome:
        return _population(seed, n, draw)


@world("mean_population", "stratified by class", 0.1)
def _stratified(seed: int) -> Outcome:
    """Half of the population always fails, half never: two classes in equal shares."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], 10)
    p = np.where(labels == 0, 0.3 * (rng.random(20) < 0.5), 0.05)
    inputs = _labelled(p, labels)
    study = noise_study(
        p, sf.methods.FixedSize(0.35, 0.1), seed, inputs=inputs, property=sf.properties.SameLabel()
    )
    claim = of_kind(study.run(**QUICK).claims, "mean_population")[0]
    assert Assumed.STRATIFIED in claim.guarantee.assumptions
    return missed(claim, (0.15 + 0.05) / 2)


def _labelled(p: np.ndarray, labels: np.ndarray) -> object:
    """Below one half a point keeps the class of its sign, whatever its label is called."""
    return normal_inputs(p, labels=labels.tolist())


@world("mean_population", "inputs added until it looks false", 0.1)
def _peeking(seed: int) -> Outcome:
    """The advice to add inputs, followed again and again: false if any look is."""
    rng = np.random.default_rng([seed, 7])
    p, truth = _zero_one(rng, 48)
    looks = [
        noise_study(p[:n], sf.methods.FixedSize(0.35, 0.1), seed, by_class=False).run(**QUICK)
        for n in (4, 8, 16, 32, 48)
    ]
    claims = [of_kind(result.claims, "mean_population")[0] for result in looks]
    assert all(claim.continues is Continues.ANYTIME for claim in claims)
    return any_false([missed(claim, truth) for claim in claims])


@world("mean_population", "one trial of each of 30 inputs", 0.1)
def _single(seed: int) -> Outcome:
    """Counted all together, for a number of inputs settled beforehand."""
    rng = np.random.default_rng([seed, 19])
    p, truth = _zero_one(rng, 30)
    result = noise_study(
        p, sf.methods.FixedSize(0.6, 0.45), seed, by_class=False, population=sf.population.Mean(0.1)
    )
    claim = of_kind(result.run(**QUICK).claims, "mean_population")[0]
    assert claim.continues is Continues.ONCE
    return missed(claim, truth)


@world("share_kappa", "robust inputs exactly at κ", 0.1)
def _share(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 9])
    p = np.where(rng.random(25) < 0.7, KAPPA, 3 * KAPPA)
    study = noise_study(p, sf.methods.KappaTest(KAPPA, 0.1, 600), seed, by_class=False)
    return missed(of_kind(study.run(**QUICK).claims, "share_kappa")[0], 0.7)


@world("classes", "all classes alike, sizes 2 to 20", 0.1)
def _classes(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 11])
    labels = np.repeat(np.arange(4), [2, 5, 10, 20])
    p = rng.beta(1, 4, len(labels)) / 2
    model = sf.load_model(_four_classes, shape=(2,))
    inputs = _labelled(p, labels)
    study = noise_study(
        p,
        sf.methods.FixedSize(0.35, 0.1),
        seed,
        inputs=inputs,
        model=model,
        property=sf.properties.SameLabel(),
    )
    claim = of_kind(study.run(**QUICK).claims, "classes")[0]
    return Outcome(1, int((claim.value or 0) > 0))


def _four_classes(batch: np.ndarray) -> np.ndarray:
    margin = batch[:, 0].astype(np.float64)
    low = np.full(len(batch), -1e9)
    return np.stack([-margin, margin, low, low], axis=1)


@world("mean_population", "a requirement at the truth", 0.1)
def _requirement(seed: int) -> Outcome:
    """The mean kept is .98: at least .98 is true, and refuting it is false."""
    rng = np.random.default_rng([seed, 15])
    p = (rng.random(40) < 0.02).astype(float)
    result = noise_study(p, sf.methods.FixedSize(0.35, 0.1), seed, by_class=False).run(**QUICK)
    return judged(result.require(0.98).verdicts[0], holds=True)


@world("mean_population", "a requirement slightly above the truth", 0.1)
def _requirement_above(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 17])
    p = (rng.random(40) < 0.02).astype(float)
    result = noise_study(p, sf.methods.FixedSize(0.35, 0.1), seed, by_class=False).run(**QUICK)
    return judged(result.require(0.981).verdicts[0], holds=False)
