"""Does the difference of two quantiles on the same inputs hold as often as it says?"""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, multinomial

from surefoot.population import quantile_difference, quantile_differences
from surefoot.population.comparison import _split
from surefoot.statistics.bounds import mcnemar
from tests.quantiles import WORLDS, as_found, most_misses, points


def uniform_pairs(rng, n, correlation):
    """Two numbers for each input, each uniform by itself."""
    if correlation == "opposite":
        u = rng.random(n)
        return u, 1 - u
    z = rng.normal(size=(3, n))
    own = np.sqrt(correlation) * z[0] + np.sqrt(1 - correlation) * z[1:]
    return ndtr(own[0]), ndtr(own[1])


def exactly(_, radii):
    return points(radii)


def misses(first, second, correlation, n, share, runs, make):
    rng, missed = np.random.default_rng(31), 0
    a, b = WORLDS[first], WORLDS[second]
    truth = float(a(share)) - float(b(share))
    for _ in range(runs):
        u, v = uniform_pairs(rng, n, correlation)
        result = quantile_difference(make(rng, a(u)), make(rng, b(v)), share, 0.05)
        missed += not result.low - 1e-12 <= truth <= result.high + 1e-12
    return missed


@pytest.mark.parametrize("correlation", [0.0, 0.8, 1.0, "opposite"])
@pytest.mark.parametrize("n", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_a_difference_holds_whether_radii_go_along_or_not(correlation, n, share):
    runs = 200 if n < 100 else 60  # of many inputs each takes long
    missed = misses("log-normal", "log-normal", correlation, n, share, runs, as_found)
    assert missed <= most_misses(runs, 0.05)
    missed = misses("square root", "a fifth weak", correlation, n, share, runs, exactly)
    assert missed <= most_misses(runs, 0.05)


@pytest.mark.parametrize("second", ["a twentieth at zero", "a tenth at zero", "four levels"])
@pytest.mark.parametrize(("n", "runs"), [(5, 200), (100, 60)])
def test_a_difference_holds_with_ties_and_zeros(second, n, runs):
    for correlation in (0.0, 1.0):
        missed = misses("log-normal", second, correlation, n, 0.05, runs, as_found)
        assert missed <= most_misses(runs, 0.05)


@pytest.mark.parametrize("n", [5, 25])
@pytest.mark.parametrize("share", [0.05, 0.4])
@pytest.mark.parametrize("overlap", [0.0, 0.5, 0.9])
def test_the_true_pair_of_quantiles_is_rejected_at_most_as_often_as_said(n, share, overlap):
    """Exact: inputs below both quantiles, below one, below none are multinomial."""
    error, both = 0.05, overlap * share
    ranks, paired = _split(n, share, error)
    cells = [both, share - both, share - both, 1 - 2 * share + both]
    rejected = 0.0
    for one in range(n + 1):
        for other in range(n + 1 - one):
            tested = min(mcnemar(one, other), mcnemar(other, one)) <= paired / 2
            for shared in range(n + 1 - one - other):
                counts = (shared + one, shared + other)
                apart = any(not ranks.low <= count < ranks.high for count in counts)
                if tested or apart:
                    drawn = [shared, one, other, n - shared - one - other]
                    rejected += multinomial.pmf(drawn, n, cells)
    assert rejected <= error + 1e-9


def test_a_coin_is_fair():
    for one, other in ((0, 0), (0, 5), (5, 0), (3, 4), (20, 2)):
        assert mcnemar(one, other) == pytest.approx(binom.sf(one - 1, one + other, 0.5))


def test_three_models_hold_together():
    runs, rng, missed = 60, np.random.default_rng(7), 0
    draw = WORLDS["log-normal"]
    truth = float(draw(0.05))
    for _ in range(runs):
        z = rng.normal(size=(4, 100))
        u = ndtr(np.sqrt(0.5) * (z[0] + z[1:]))
        local = {str(k): as_found(rng, (1 + 0.2 * k) * draw(u[k])) for k in range(3)}
        missed += any(
            (int(d.first) - int(d.second)) * 0.2 * truth not in d.interval
            for d in quantile_differences(local, 0.05, 0.05)
        )
    assert missed <= most_misses(runs, 0.05)
