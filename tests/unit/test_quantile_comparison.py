"""Two models' quantiles on the same inputs."""

import math

import numpy as np
import pytest

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.population import ShortestRanks, quantile_difference, quantile_differences
from surefoot.population.comparison import _split
from tests.in_words import together
from tests.quantiles import brackets, never_refuted, on_grid, points
from tests.refusals import refused


def levels(n, seed=1):
    return np.random.default_rng(seed).gamma(3, 0.02, n) + 0.01


def apart(first, second, share, error):
    """Each quantile by itself at half the error, and the ends subtracted."""
    a, b = (ShortestRanks(share).conclude(x, error / 2).interval for x in (first, second))
    return Interval(a.low - b.high, a.high - b.low)


def test_a_much_more_robust_model_is_better_in_either_order():
    values = levels(200)
    weak, strong = on_grid(values), on_grid(values + 0.1)
    (ahead,) = quantile_differences({"strong": strong, "weak": weak}, 0.05, 0.05)
    (behind,) = quantile_differences({"weak": weak, "strong": strong}, 0.05, 0.05)
    assert ahead.better == behind.better == "strong"
    assert ahead.value == pytest.approx(0.1, abs=0.003)
    assert ahead.interval.low == pytest.approx(-behind.interval.high)
    assert ahead.interval.high == pytest.approx(-behind.interval.low)


def by_definition(first, second, share, error):
    """The largest difference of any two levels on a fine grid that no test rejects."""
    n, difference = len(first), -math.inf
    ranks, tested = _split(n, share, error)
    below = np.sort([b.high for b in first])[ranks.high - 1]
    above = 0.0 if ranks.low < 1 else np.sort([b.low for b in second])[ranks.low - 1]
    for a in np.arange(0, 40) / 2:
        for b in np.arange(0, 40) / 2:
            if a > below or b < above:
                continue
            sure = [x.high < a for x in first]
            may = [x.low <= b for x in second]
            one = sum(s and not m for s, m in zip(sure, may, strict=True))
            other = sum(m and not s for s, m in zip(sure, may, strict=True))
            tosses = one + other
            chance = sum(math.comb(tosses, k) for k in range(one, tosses + 1)) / 2**tosses
            if chance > tested / 2:
                difference = max(difference, a - b)
    return difference


@pytest.mark.parametrize("seed", range(12))
def test_the_end_is_the_largest_difference_that_no_test_rejects(seed):
    rng = np.random.default_rng(seed)
    n, share = int(rng.integers(8, 40)), float(rng.choice([0.1, 0.3, 0.5]))
    low = rng.integers(0, 15, (2, n))
    first, second = (brackets(x, x + rng.integers(0, 4, n)) for x in low)
    difference = quantile_difference(first, second, share, 0.2)
    if _split(n, share, 0.2)[0].high <= n:
        assert difference.high == by_definition(first, second, share, 0.2)
        assert difference.low == -by_definition(second, first, share, 0.2)


@pytest.mark.parametrize("n", [100, 300])
def test_it_is_narrower_than_each_by_itself(n):
    """Independent radii gain a little, those that go along a lot."""
    rng, wide = np.random.default_rng(3), np.zeros((2, 2))
    for _ in range(20):
        common, own = levels(n, rng.integers(10**6)), levels(n, rng.integers(10**6))
        a, b = on_grid(common), on_grid(1.1 * common)
        for row, second in enumerate((b, on_grid(own))):
            wide[row] += [
                quantile_difference(a, second, 0.05, 0.05).width,
                apart(a, second, 0.05, 0.05).width,
            ]
    assert wide[0][0] < 0.9 * wide[0][1]
    assert wide[1][0] < 0.97 * wide[1][1]


def test_three_models_share_the_error():
    groups = {name: on_grid(levels(200, seed)) for seed, name in enumerate("abc")}
    difference = quantile_differences(groups, 0.05, 0.06)
    alone = quantile_difference(groups["a"], groups["b"], 0.05, 0.06)
    tight = quantile_difference(groups["a"], groups["b"], 0.05, 0.02)
    assert len(difference) == 3
    assert tight.low <= difference[0].interval.low <= alone.low
    assert alone.high <= difference[0].interval.high <= tight.high
    assert together(difference[0].guarantee) == "all 3 differences"


def test_never_refuted_inputs_leave_a_difference_open():
    open_, known = [never_refuted(0.1)] * 100, on_grid(levels(100))
    difference = quantile_difference(open_, known, 0.05, 0.05)
    assert difference.high == math.inf
    assert difference.low > -1
    assert quantile_difference(open_, open_, 0.05, 0.05) == Interval(-math.inf, math.inf)


@pytest.mark.parametrize("n", [1, 2])
def test_hardly_any_inputs_tell_nothing_of_the_median(n):
    local = points([0.1] * n)
    assert quantile_difference(local, local, 0.5, 0.05) == Interval(-math.inf, math.inf)


def test_inputs_must_be_the_same():
    with pytest.raises(InvalidArgument, match="a: 3, b: 2"):
        quantile_differences({"a": points([1, 2, 3]), "b": points([1, 2])}, 0.05, 0.05)
    refused("two or more models", quantile_differences, {"a": points([1, 2, 3])}, 0.05, 0.05)
    refused("a: 0, b: 0", quantile_differences, {"a": [], "b": []}, 0.05, 0.05)
    refused("got 0 and 0", quantile_difference, [], [], 0.05, 0.05)
    refused("got 2 and 1", quantile_difference, points([1, 2]), points([1]), 0.05, 0.05)
