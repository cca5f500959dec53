"""Coverage of the betting interval for the mean of bounded values."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from surefoot.core.results import Interval
from surefoot.statistics import betting
from surefoot.statistics.intervals import _lower_end, _Sample, betting_trials, p_value_above

WORLDS = {
    "mostly one": (lambda rng, n: np.where(rng.random(n) < 0.85, 1.0, rng.random(n)), 0.925),
    "rare zeros": (lambda rng, n: (rng.random(n) < 0.97).astype(float), 0.97),
    "coins": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5),
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "constant": (lambda rng, n: np.full(n, 0.3), 0.3),
}


def interval_of(x, error):
    """The interval, once for equal values in any order: order does not matter (see below)."""
    return _interval_of(tuple(np.sort(x).tolist()), error)


@cache
def _interval_of(values, error):
    return betting(np.array(values), error)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [1, 5, 40, 300])
def test_betting_covers_the_mean(world, n):
    """Seeded; allowance: four standard deviations over 300 samples at error 0.1."""
    draw, truth = WORLDS[world]
    rng, runs, error = np.random.default_rng(3), 300, 0.1
    misses = sum(truth not in interval_of(draw(rng, n), error) for _ in range(runs))
    assert misses <= runs * error + 4 * math.sqrt(runs * error * (1 - error))


@pytest.mark.parametrize("error", [0.05, 0.2])
@pytest.mark.parametrize("p", [0.5, 0.8])
def test_betting_covers_exactly_on_short_coin_sequences(error, p):
    """All 2^9 sequences, weighted."""
    n, missed = 9, 0.0
    for code in range(2**n):
        x = np.array([code >> i & 1 for i in range(n)], dtype=float)
        ones = x.sum()
        missed += p**ones * (1 - p) ** (n - ones) * (p not in interval_of(x, error))
    assert missed <= error


def log_capital(x, m, share):
    """The log capital of a bet that the mean exceeds m, value by value as it is written."""
    stakes = [1 / m]
    weights = [0.25]
    for j in range(15):
        best = math.sqrt(2 * math.log(1 / share) / (4 * 2**j * m * (1 - m)))
        stakes.append(min(1 / m, best))
        weights.append(0.75 * 0.8**j)
    total = sum(weights[1:])
    weights[1:] = [0.75 * w / total for w in weights[1:]]
    capital = sum(
        w * math.prod(1 + stake * (value - m) for value in x)
        for w, stake in zip(weights, stakes, strict=True)
    )
    return math.log(capital)


@pytest.mark.parametrize("error", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("n", [1, 15, 200])
def test_betting_ends_where_the_capital_reaches_two_over_the_error(n, error):
    for values in (np.random.default_rng(n).beta(3, 1, n), np.arange(n) % 2 * 0.9 + 0.05):
        ends = betting(values, error)
        for x, low in ((values, ends.low), (1 - values, 1 - ends.high)):
            if low > 1e-6:
                result = log_capital(x, low, error / 2)
                assert result == pytest.approx(math.log(2 / error), abs=1e-3)
                assert result >= math.log(2 / error) - 1e-9


@pytest.mark.parametrize("n", [1, 2, 5, 30, 300])
def test_inputs_that_always_hold_come_close_to_what_is_exact(n):
    """Within what staking a quarter on the full bet costs, and never above the exact end."""
    exact, quarter = (0.05 / 2) ** (1 / n), (0.05 / 8) ** (1 / n)
    assert quarter <= betting(np.ones(n), 0.05).low <= exact


def test_neither_order_nor_repetition_in_pieces_matters():
    rng = np.random.default_rng(2)
    x = rng.beta(2, 1, 70)
    assert betting(x, 0.05) == betting(x[::-1], 0.05) == betting(rng.permutation(x), 0.05)


PEEKED = {
    "coins": ((0.0, 1.0), (0.5, 0.5)),
    "rare zeros": ((0.0, 1.0), (0.05, 0.95)),
    "two levels": ((0.2, 0.9), (0.5, 0.5)),
    "mostly one": ((0.0, 0.5, 1.0), (0.05, 0.1, 0.85)),
}


@cache
def refuted(counts, values, mean, error):
    """Whether the interval of these values, each so often, excludes the mean."""
    x = np.repeat(values, counts)
    return min(p_value_above(x, mean, error / 2), p_value_above(1 - x, 1 - mean, error / 2)) <= (
        error / 2
    )


@pytest.mark.parametrize("world", PEEKED)
@pytest.mark.parametrize("start", [3, 20])
def test_inputs_may_be_added_until_the_interval_excludes_the_truth(world, start):
    """Ten looks, each at 1.5 times as many: 500 seeded runs, rejected at level .001.

    Bets made for the final number of values were wrong in .083 to .134 of such runs.
    """
    values, odds = (np.array(part) for part in PEEKED[world])
    rng, runs, error, wrong = np.random.default_rng(17), 500, 0.05, 0
    sizes = np.unique(np.round(start * 1.5 ** np.arange(10)).astype(int))
    for _ in range(runs):
        counts = np.zeros(len(values), dtype=int)
        for more in np.diff(sizes, prepend=0):
            counts += rng.multinomial(more, odds)
            if refuted(tuple(counts.tolist()), PEEKED[world][0], float(values @ odds), error):
                wrong += 1
                break
    assert binom.sf(wrong - 1, runs, error) > 0.001


@pytest.mark.parametrize("start", [1, 2])
def test_coins_may_be_added_one_by_one_exactly(start):
    """Every count after every coin, up to 60: the probability of ever being wrong, summed."""
    error = 0.2
    for p in (0.5, 0.8, 0.95):
        alive = {0: 1.0}
        for n in range(1, 61):
            grown = {}
            for k, mass in alive.items():
                grown[k] = grown.get(k, 0.0) + mass * (1 - p)
                grown[k + 1] = grown.get(k + 1, 0.0) + mass * p
            alive = {
                k: mass
                for k, mass in grown.items()
                if n < start or not refuted((n - k, k), (0.0, 1.0), p, error)
            }
        assert 1 - sum(alive.values()) <= error


def test_betting_narrows_with_more_values():
    rng = np.random.default_rng(1)
    widths = [betting(rng.random(n), 0.05).width for n in (10, 100, 1000)]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_betting_on_no_values_says_nothing():
    assert betting(np.zeros(0), 0.05) == Interval(0.0, 1.0)


def test_inputs_with_equal_numbers_of_trials_are_computed_once_to_the_same_bit():
    rng = np.random.default_rng(4)
    n = rng.choice([40, 70, 133, 1000], 500)
    k = rng.binomial(n, rng.beta(3, 0.3, 500))
    ones, counts = np.repeat([1.0, 0.0], 500), np.concatenate([k, n - k]).astype(float)
    some, weights = counts > 0, np.tile(n.min() / n, 2)
    low, above = (
        _lower_end(_Sample(values[some], counts[some], weights[some]), 0.025)
        for values in (ones, 1 - ones)
    )
    assert betting_trials(k, n, 0.05) == Interval(low, 1 - above)
