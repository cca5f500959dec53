"""Worlds of sampling: a sign under normal noise fails with probability Φ(−margin)."""

import numpy as np

import surefoot as sf
from surefoot.core.assumptions import Assumed
from surefoot.core.claims import About, Claim, Continues, Randomness
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


HALF, OFTEN = np.full(10, 0.5), np.array([0.5, 0.9, 0.97, 0.99])
for _name, _p, _estimate in (
    ("from never to always", SPREAD, sf.methods.ExactSequential(0.15, 0.1)),
    ("a fixed size at one half", HALF, sf.methods.FixedSize(0.15, 0.2)),
    ("Bu & Sun's method", OFTEN, sf.methods.BuSun(0.15, 0.2)),
):

    @world("failure", _name, _estimate.error)
    def _failure(seed: int, p: np.ndarray = _p, method: object = _estimate) -> Outcome:
        result = noise_study(p, method, seed).run(**QUICK)
        return all_missed([result.claim_about(row.id) for row in result.inputs], p.tolist())


BESIDE = np.array([KAPPA, 1.02 * KAPPA, 0.98 * KAPPA, 2 * KAPPA])
for _name, _p, _test in (
    ("exactly κ, and beside it", BESIDE, sf.methods.KappaTest(KAPPA, 0.1, 1500)),
    ("planned looks at κ", np.full(6, KAPPA), sf.methods.ExactBinomial(KAPPA, 0.1, 800)),
):

    @world("kappa", _name, 0.1)
    def _kappa(seed: int, p: np.ndarray = _p, method: object = _test) -> Outcome:
        result = noise_study(p, method, seed).run(**QUICK)
        claims = [result.claim_about(row.id) for row in result.inputs]
        return add_up([judged(c, holds=q <= KAPPA) for c, q in zip(claims, p, strict=True)])


_PUBLISHED = sf.methods.PublishedDoubling(KAPPA, 0.1, 800)


@world("published_kappa", "just above κ: wrong as often as it says", _PUBLISHED.measured_error)
def _published(seed: int) -> Outcome:
    """It promises nothing; but how often it errs is computed, and beside the claim."""
    result = noise_study(np.full(20, 1.0001 * KAPPA), _PUBLISHED, seed).run(**QUICK)
    declared = of_kind(result.claims, "published_kappa")[0]
    assert declared.is_open and declared.interval is None
    assert declared.measured == _PUBLISHED.measured_error > declared.stated
    return Outcome(20, declared.robust, 20 - declared.robust - declared.fragile, ())


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


for _name, _p, _estimate in (
    ("unequal margins", SPREAD, sf.methods.ExactSequential(0.2, 0.1)),
    ("rare failures", np.full(12, 0.004), sf.methods.FixedSize(0.2, 0.1)),
):

    @world("mean_set", _name, 0.1)
    def _mean_set(seed: int, p: np.ndarray = _p, method: object = _estimate) -> Outcome:
        result = noise_study(p, method, seed).run(**QUICK)
        return missed(of_kind(result.claims, "mean_set")[0], float(p.mean()))


@world("counted_accuracy", "a model that is right on a known number of inputs", 0.0)
def _counted_accuracy(seed: int) -> Outcome:
    """The floor is just met, and just missed."""
    wrong = int(np.random.default_rng([seed, 41]).integers(1, 8))
    failing = np.full(40, 0.1)
    failing[:wrong] = 0.9
    result = noise_study(failing, sf.methods.FixedSize(0.3, 0.1), seed).run(**QUICK)
    floors = ((40 - wrong) / 40, (41 - wrong) / 40)
    met, missing = (result.require(clean_accuracy=floor).verdicts[0] for floor in floors)
    outcomes = [missed(met, floors[0]), judged(met, holds=True), judged(missing, holds=False)]
    return add_up(outcomes)


@world("count_kappa", "inputs at κ, 2κ and 0", 0.1)
def _count_kappa(seed: int) -> Outcome:
    p = np.array([KAPPA] * 8 + [2 * KAPPA] * 3 + [0.0] * 3)
    result = noise_study(p, sf.methods.KappaTest(KAPPA, 0.1, 800), seed).run(**QUICK)
    return missed(of_kind(result.claims, "count_kappa")[0], 3.0)


for _name, _p, _most, _required, _holds in (
    ("all exactly at κ", [1.0] * 8, 800, {"least": "all"}, True),
    ("one slightly above κ", [1.02, 0, 0], 1500, {"least": "all"}, False),
    ("all at 2κ", [2.0] * 8, 3000, {"least": "all"}, False),
    ("one robust input too few", [1.02] * 5 + [0] * 7, 1500, {"of_these": 8 / 12}, False),
    ("just enough of these, all at κ", [1.0] * 8 + [2] * 4, 1500, {"of_these": 8 / 12}, True),
):

    @world("all_kappa", _name, 0.1)
    def _all_kappa(
        seed: int, p: list = _p, most: int = _most, how: dict = _required, holds: bool = _holds
    ) -> Outcome:
        method = sf.methods.KappaTest(KAPPA, 0.1, most)
        result = noise_study(KAPPA * np.array(p), method, seed).run(**QUICK)
        return judged(result.require(**how, accept_clean_accuracy=True).verdicts[0], holds=holds)


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
    inputs = normal_inputs(p, labels=labels.tolist())
    study = noise_study(
        p, sf.methods.FixedSize(0.35, 0.1), seed, inputs=inputs, property=sf.properties.SameLabel()
    )
    claim = of_kind(study.run(**QUICK).claims, "mean_population")[0]
    assert Assumed.STRATIFIED in claim.guarantee.assumptions
    return missed(claim, (0.15 + 0.05) / 2)


@world("mean_population", "inputs added until it looks false", 0.1)
def _peeking(seed: int) -> Outcome:
    """The advice to add inputs, followed again and again: false if any look is."""
    rng = np.random.default_rng([seed, 7])
    p, truth = _zero_one(rng, 48)
    claims = _looks(p, seed, sf.population.Mean(0.1, anytime=True), (4, 8, 16, 32, 48))
    assert all(claim.continues is Continues.ANYTIME for claim in claims)
    return any_false([missed(claim, truth) for claim in claims])


@world("mean_population", "looks before, at and after a plan", 0.1)
def _planned(seed: int) -> Outcome:
    """Twenty-four inputs were planned: false if any look is, before that number or beyond."""
    rng = np.random.default_rng([seed, 8])
    p, truth = _zero_one(rng, 48)
    claims = _looks(p, seed, sf.population.Mean(0.1, anytime=24), (8, 16, 24, 32, 48))
    return any_false([missed(claim, truth) for claim in claims])


def _looks(p: np.ndarray, seed: int, over: sf.population.Mean, sizes: tuple) -> list[Claim]:
    """What is said of the population after so many inputs each."""
    method = sf.methods.FixedSize(0.35, 0.1)
    studies = (noise_study(p[:n], method, seed, by_class=False, population=over) for n in sizes)
    return [of_kind(one.run(**QUICK).claims, "mean_population")[0] for one in studies]


@world("mean_population", "one trial of each of 30 inputs", 0.1)
def _single(seed: int) -> Outcome:
    """Counted all together, for a number of inputs settled beforehand."""
    rng = np.random.default_rng([seed, 19])
    p, truth = _zero_one(rng, 30)
    result = noise_study(
        p, sf.methods.FixedSize(0.6, 0.45), seed, by_class=False, population=sf.population.Mean(0.1)
    )
    claim = of_kind(result.run(**QUICK).claims, "mean_population")[0]
    assert claim.continues is Continues.LADDER
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
    inputs = normal_inputs(p, labels=labels.tolist())
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


for _name, _stream, _least in (("at", 15, 0.98), ("slightly above", 17, 0.981)):

    @world("mean_population", f"a requirement {_name} the truth", 0.1)
    def _requirement(seed: int, stream: int = _stream, least: float = _least) -> Outcome:
        """The mean kept is .98: at least .98 is true, and refuting it is false."""
        p = (np.random.default_rng([seed, stream]).random(40) < 0.02).astype(float)
        result = noise_study(p, sf.methods.FixedSize(0.35, 0.1), seed, by_class=False).run(**QUICK)
        return judged(
            result.require(least, accept_clean_accuracy=True).verdicts[0], holds=least <= 0.98
        )
