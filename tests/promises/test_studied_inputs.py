"""Statements about the inputs studied themselves: their mean, and the weakest one."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from surefoot.core.counts import Counts
from surefoot.core.results import Estimate, Interval, Undecided
from surefoot.population import Mean, RobustShare, weakest
from surefoot.statistics import KappaTest, betting, clopper_pearson
from surefoot.statistics.intervals import p_value_above
from surefoot.statistics.planning import simulate
from tests.promises.local_results import LAW, SOUND, counted, decided


@pytest.mark.parametrize("m", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("level", [0.02, 0.1, 0.4])
def test_the_p_value_of_a_mean_is_valid_at_every_level_exactly(m, level):
    """All 2^10 sequences of coins whose mean is exactly m; bets are made for another error."""
    n, wrong = 10, 0.0
    for bits in product((0.0, 1.0), repeat=n):
        x = np.array(bits)
        ones = x.sum()
        wrong += m**ones * (1 - m) ** (n - ones) * (p_value_above(x, m, 0.05) <= level)
    assert wrong <= level


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.sampled_from([0.01, 0.1]))
@LAW
def test_p_value_and_interval_agree(values, error):
    """The mean is shown to exceed m exactly where m lies below the interval."""
    x = np.array(values)
    low = betting(x, 2 * error).low
    if low > 1e-9:
        assert p_value_above(x, low * (1 - 1e-9), error) <= error * (1 + 1e-6)
    assert p_value_above(x, min(1.0, low + 1e-9), error) >= error * (1 - 1e-6)


SETS = {
    "alike": np.full(6, 0.7),
    "apart": np.array([0.05, 0.95, 0.5, 1.0, 0.0, 0.3]),
    "one may fail": np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.99]),
    "one may hold": np.array([0.0, 0.0, 0.0, 0.0, 0.02, 0.0]),
    "nearly sure": np.full(6, 0.999),
}


@pytest.mark.parametrize("error", [0.05, 0.3])
@pytest.mark.parametrize("name", SETS)
def test_the_mean_of_the_inputs_themselves_is_covered_exactly(name, error):
    """Every outcome of 4 trials on each of 6 inputs, by convolution: no allowance."""
    p, n = SETS[name], 4
    sums = np.ones(1)
    for q in p:
        sums = np.convolve(
            sums, [math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)]
        )
    missed = 0.0
    for total, chance in enumerate(sums):
        spread = [counted(total // 6 + (i < total % 6), n) for i in range(6)]
        missed += chance * (p.mean() not in Mean(error).studied(spread).interval)
    assert missed <= error


def test_single_failures_need_the_lowered_error():
    """Clopper-Pearson at the full error misses too often when one input alone can fail."""
    error, n = 0.3, 24
    q = 1 - error / 2 * 1.02
    bound = clopper_pearson(Counts(n, n - 1), error).high
    assert bound < 1 - (1 - q) / n
    pairwise = Mean(error).studied([*[counted(4, 4)] * 5, counted(3, 4)])
    assert pairwise.interval.high > bound


def test_nothing_is_said_of_the_inputs_where_trials_are_missing():
    assert Mean(0.1).studied([counted(4, 4), Undecided("no", 5)]) is None
    assert RobustShare(0.1).studied([decided(True)]) is None


@pytest.mark.parametrize("p", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [10, 30, 100])
def test_the_interval_of_the_weakest_input_pays_for_the_choice(n, p):
    """All inputs alike: 1,000 seeded runs of 100 trials each, rejected at level .001.

    An interval that did not pay was false in .16, .37 and .81 of runs with 10, 30 and 100 inputs.
    """
    rng, runs, error, wrong = np.random.default_rng(n), 1000, 0.05, 0
    for kept in rng.binomial(100, p, (runs, n)).min(axis=1):
        local = [counted(100, 100)] * (n - 1) + [counted(int(kept), 100)]
        place, around = weakest(local, error)
        assert place == n - 1 or kept == 100
        wrong += p not in around
    assert binom.sf(wrong - 1, runs, error) > 0.001


@pytest.mark.parametrize("kappa", [0.1, 0.3])
def test_the_weakest_of_decided_inputs_is_told_whatever_stopped_the_trials(kappa):
    """Trials end when a decision is reached: 150 seeded runs of 5 inputs at κ and beside it."""
    rng, runs, error, wrong = np.random.default_rng(3), 150, 0.2, 0
    p = np.array([kappa, 0.7 * kappa, kappa, 1.3 * kappa, kappa])
    for _ in range(runs):
        local = [simulate(KappaTest(kappa, 0.2, max_trials=300), 1 - q, rng)[0] for q in p]
        place, around = weakest(local, error)
        wrong += 1 - p[place] not in around
    assert binom.sf(wrong - 1, runs, error) > 0.001


def test_nothing_is_said_of_the_weakest_where_nothing_valid_can_be():
    assert weakest([], 0.05) is None
    assert weakest([counted(5), Undecided("no", 10)], 0.05) is None
    rough = Estimate(0.1, Interval(0.0, 0.2), SOUND, 20)
    assert weakest([counted(5), rough], 0.05) is None
    assert weakest([counted(5), replace(rough, value=0.9)], 0.05)[0] == 0


@pytest.mark.parametrize("error", [0.05, 0.3])
def test_the_mean_of_inputs_with_unequal_numbers_of_trials_is_covered(error):
    """Every outcome of 2, 4 and 9 trials on three inputs, summed: no allowance."""
    sizes = (2, 4, 9)
    for p in ((0.5, 0.9, 0.2), (1.0, 1.0, 0.9), (0.0, 0.05, 1.0), (0.6, 0.6, 0.6)):
        missed = 0.0
        for kept in product(*(range(n + 1) for n in sizes)):
            chance = math.prod(binom.pmf(k, n, q) for k, n, q in zip(kept, sizes, p, strict=True))
            if chance > 0:
                local = [counted(k, n) for k, n in zip(kept, sizes, strict=True)]
                missed += chance * (np.mean(p) not in Mean(error).studied(local).interval)
        assert missed <= error
