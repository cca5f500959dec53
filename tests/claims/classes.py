"""Worlds of requirements of classes, each with a number of its own."""

import numpy as np

import surefoot as sf
from surefoot.core.claims import About
from tests.claims.groups import ONE_TRIAL
from tests.claims.parts import QUICK, noise_study, normal_inputs
from tests.claims.sampled import KAPPA
from tests.claims.worlds import Outcome, any_false, judged, world

OFTEN = 0.49
"""Below one half a point keeps the class of its sign, whatever its label is called."""
SIZES = [40, 25, 30]
FAIL = np.array([0.2 * OFTEN, 0.3, 0.05])
"""Mean failure probability of each class."""


def _failing(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A fifth of the first class fails often, the others never; in the other classes all alike."""
    rng = np.random.default_rng([seed, 61])
    labels = np.repeat([0, 1, 2], SIZES)
    often = OFTEN * (rng.random(len(labels)) < 0.2)
    return np.where(labels == 0, often, FAIL[labels]), labels


def _means(seed: int, least: dict[str, float], *, holds: bool) -> Outcome:
    p, labels = _failing(seed)
    inputs = normal_inputs(p, labels=labels.tolist())
    model = sf.load_model(three_classes, shape=(2,))
    study = noise_study(
        p,
        ONE_TRIAL,
        seed,
        inputs=inputs,
        model=model,
        property=sf.properties.SameLabel(),
        population=sf.population.Mean(0.1),
        by_class=False,
    )
    together, *each = (
        study.run(**QUICK).require(of_each_class=least, accept_clean_accuracy=True).verdicts
    )
    assert together.names == tuple(least)
    assert [claim.about.name for claim in each] == list(least)
    assert {claim.about.of for claim in each} == {About.CLASS}
    return any_false([judged(claim, holds=holds) for claim in (together, *each)])


def three_classes(batch: np.ndarray) -> np.ndarray:
    margin = batch[:, 0].astype(np.float64)
    return np.stack([-margin, margin, np.full(len(batch), -1e9)], axis=1)


@world("mean_population", "of each class its own number, all exactly at the truth", 0.1)
def _at_the_truth(seed: int) -> Outcome:
    return _means(seed, {str(i): 1 - float(f) for i, f in enumerate(FAIL)}, holds=True)


@world("mean_population", "of two classes their own numbers, slightly above the truth", 0.1)
def _above_the_truth(seed: int) -> Outcome:
    """The third class, of which nothing is required, pays nothing and decides nothing."""
    return _means(seed, {str(i): 1.001 - float(FAIL[i]) for i in (0, 1)}, holds=False)


@world("share_kappa", "of each class its own share, at the truth and slightly above", 0.1)
def _shares(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 63])
    labels = np.repeat([0, 1], 8)
    robust = rng.random(16) < np.where(labels == 0, 0.7, 0.5)
    p = np.where(robust, KAPPA / 5, 3 * KAPPA)
    study = noise_study(
        p,
        sf.methods.KappaTest(KAPPA, 0.1, 200),
        seed,
        inputs=normal_inputs(p, labels=labels.tolist()),
        property=sf.properties.SameLabel(),
        by_class=False,
    )
    result = study.run(**QUICK)
    _, first, second = result.require(
        of_each_class={"0": 0.7, "1": 0.51}, accept_clean_accuracy=True
    ).verdicts
    return any_false([judged(first, holds=True), judged(second, holds=False)])
