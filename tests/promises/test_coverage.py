"""Does every interval hold the truth as often as it says? Exactly where that can be summed."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from surefoot import statistics
from surefoot.core.counts import Counts
from surefoot.core.results import Estimate
from surefoot.population import Mean, RobustShare
from surefoot.statistics import betting, clopper_pearson
from surefoot.statistics.planning import simulate


def allowed(runs, error):
    """Misses that a method whose error is just kept exceeds once in ten thousand."""
    return binom.ppf(1 - 1e-4, runs, error)


@pytest.mark.parametrize("n", [1, 2, 10, 57, 200])
@pytest.mark.parametrize("error", [0.3, 0.05, 0.001])
def test_clopper_pearson_covers_every_p_and_wastes_nothing_at_its_ends(n, error):
    """The miss jumps at the ends of the intervals; so look beside each, and between them."""
    intervals = [clopper_pearson(Counts(n, k), error) for k in range(n + 1)]
    low, high = (np.array([getattr(i, end) for i in intervals]) for end in ("low", "high"))
    ends = np.concatenate([low, high])
    points = np.concatenate([ends - 1e-12, ends + 1e-12, np.linspace(0, 1, 101)])
    k, one_side = np.arange(n + 1), []
    for p in points[(points > 0) & (points < 1)]:
        mass = binom.pmf(k, n, p)
        below, above = mass[p < low].sum(), mass[p > high].sum()
        assert below + above <= error * (1 + 1e-9)
        one_side += [below, above]
    assert max(one_side) == pytest.approx(error / 2, rel=1e-6)


@pytest.mark.parametrize("pair", [(0.0, 1.0), (0.1, 1.0), (0.0, 0.3)])
@pytest.mark.parametrize("n", [1, 2, 8])
@pytest.mark.parametrize("error", [0.4, 0.1])
def test_betting_covers_the_mean_of_two_values_whatever_their_odds(pair, n, error):
    """All sequences, weighted; the intervals do not depend on the odds."""
    sequences = np.array(list(product((0, 1), repeat=n)))
    low, high = pair
    intervals = [betting(low + (high - low) * s, error) for s in sequences]
    lows, highs = (np.array([getattr(i, end) for i in intervals]) for end in ("low", "high"))
    ups = sequences.sum(axis=1)
    for odds in np.linspace(0, 1, 201):
        mean = low + (high - low) * odds
        missed = (mean < lows) | (mean > highs)
        assert (odds**ups * (1 - odds) ** (n - ups))[missed].sum() <= error


SKEWED = {
    "nearly all at one": (lambda rng, n: rng.beta(8, 0.4, n), 8 / 8.4),
    "nearly all at zero": (lambda rng, n: rng.beta(0.4, 8, n), 0.4 / 8.4),
    "at both ends": (lambda rng, n: rng.beta(0.3, 0.2, n), 0.6),
    "rarely very low": (lambda rng, n: np.where(rng.random(n) < 0.03, 0.1, 1.0), 0.973),
}


@pytest.mark.parametrize("world", SKEWED)
@pytest.mark.parametrize("n", [3, 60])
def test_betting_covers_the_mean_of_skewed_values(world, n):
    draw, truth = SKEWED[world]
    rng, runs, error = np.random.default_rng(12), 200, 0.2
    misses = sum(truth not in betting(draw(rng, n), error) for _ in range(runs))
    assert misses <= allowed(runs, error)


METHODS = [
    statistics.BuSun(0.2, 0.2),
    statistics.ExactSequential(0.2, 0.2),
    statistics.FixedSize(0.2, 0.3),
    statistics.Okamoto(0.3, 0.2),
]


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_the_mean_covers_the_population_with_the_estimates_of_every_method(method, unbiased):
    """Also where a method had no unbiased value: then its interval's ends enter, and its error."""
    rng, runs, error, misses = np.random.default_rng(21), 80, 0.2, 0
    for _ in range(runs):
        local = [simulate(method, p, rng)[0] for p in rng.beta(4, 1, 25)]
        assert all(isinstance(result, Estimate) for result in local)
        if not unbiased:
            local = [replace(result, unbiased=None) for result in local]
        misses += 0.8 not in Mean(error).conclude(local, error).interval
    assert misses <= allowed(runs, error)


TESTS = [
    statistics.KappaTest(0.2, 0.2, max_trials=200),
    statistics.ExactBinomial(0.2, 0.2, max_trials=200, looks=3),
]


@pytest.mark.parametrize("truth", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("test", TESTS, ids=lambda test: type(test).__name__)
def test_the_robust_share_covers_the_truth_where_the_decisions_are_hardest(test, truth):
    """Robust inputs fail with just κ, fragile ones with hardly more: as many wrong as can be."""
    rng, runs, error, misses, wrong = np.random.default_rng(31), 60, 0.2, 0, 0
    for _ in range(runs):
        robust = rng.random(30) < truth
        p = np.where(robust, test.kappa, test.kappa + 1e-9)
        local = [simulate(test, 1 - failing, rng)[0] for failing in p]
        wrong += sum(
            getattr(result, "holds", known) != known
            for result, known in zip(local, robust, strict=True)
        )
        misses += truth not in RobustShare(error).conclude(local, error).interval
    assert 0 < wrong <= allowed(runs * 30, test.error)
    assert misses <= allowed(runs, error)
