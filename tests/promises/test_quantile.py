"""Does an interval for a quantile hold it as often as it says?"""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from surefoot import population
from surefoot.core.results import Decision, Quantile
from surefoot.population import ShortestRanks
from surefoot.statistics.counted import rung
from surefoot.statistics.ranks import Ranks, coverage, equal_tails, fewest, lower_rank, shortest
from tests.in_words import together as together_words
from tests.quantiles import WORLDS, as_found, most_misses, on_grid, points

SIZES = [1, 2, 10, 58, 59, 60, 71, 72, 76, 100, 150, 300, 975]
ERRORS = [0.01, 0.05, 0.2]
every_share = pytest.mark.parametrize("share", [0.01, 0.05, 0.1, 0.5, 0.95])


@every_share
def test_ranks_enclose_the_quantile_of_every_distribution(share):
    """Exact. The number of values below the quantile is binomial, whatever the distribution."""
    for n, error, choose in itertools.product(SIZES, ERRORS, (equal_tails, shortest)):
        ranks = choose(n, share, error)
        inside = sum(binom.pmf(np.arange(ranks.low, ranks.high), n, share))
        assert inside >= 1 - error - 1e-9, (n, error, choose)
        assert coverage(n, share, ranks) == pytest.approx(inside, abs=1e-9)


@every_share
def test_ranks_cannot_be_moved_inwards(share):
    for n, error in itertools.product(SIZES, ERRORS):
        equal, short = equal_tails(n, share, error), shortest(n, share, error)
        below = binom.cdf(np.arange(-1, n + 1), n, share)
        assert below[equal.low + 1] > error / 2, (n, error)
        assert equal.high <= 1 or below[equal.high - 1] < 1 - error / 2
        assert coverage(n, share, Ranks(short.low, short.high - 1)) < 1 - error
        alone = lower_rank(n, share, error)
        assert below[alone] <= error + 1e-9
        assert below[alone + 1] > error


@pytest.mark.parametrize(("n", "covers"), [(76, 0.8941), (98, 0.9497)])
def test_the_thesis_code_is_off_by_one(n, covers):
    """Its recipe, with 0-based indexing; both numbers computed here, the first also elsewhere."""
    c = binom.cdf(np.arange(n + 1), n, 0.05)
    low, high = np.flatnonzero(c <= 0.025).max() + 1, np.flatnonzero(c >= 0.975).min() + 1
    thesis = Ranks(int(low) + 1, int(high) + 1)
    ours = equal_tails(n, 0.05, 0.05)
    assert (ours.low, ours.high) == (thesis.low - 1, thesis.high - 1)
    assert coverage(n, 0.05, thesis) == pytest.approx(covers, abs=5e-5)
    assert coverage(n, 0.05, ours) >= 0.95


@pytest.mark.parametrize(
    ("share", "error", "n"), [(0.05, 0.05, 59), (0.05, 0.025, 72), (0.01, 0.05, 299)]
)
def test_how_many_inputs_a_lower_end_takes(share, error, n):
    assert fewest(share, error) == n
    assert lower_rank(n, share, error) == 1
    assert lower_rank(n - 1, share, error) == 0


ATOMS = {"two": [0.04, 0.96], "at the share": [0.05, 0.95], "a heap": [0.01, 0.9, 0.09]}
"""How likely each of the values is, the smallest first."""


@pytest.mark.parametrize("world", ATOMS)
@pytest.mark.parametrize("n", [60, 72, 100])
def test_ties_only_help_exactly(world, n):
    """Exact, by the binomial number of values at or below, and below, the quantile."""
    chances = ATOMS[world]
    at = int(np.searchsorted(np.cumsum(chances), 0.05 - 1e-12))
    upto, below = sum(chances[: at + 1]), sum(chances[:at])
    for ranks in (equal_tails(n, 0.05, 0.05), shortest(n, 0.05, 0.05)):
        too_high = binom.cdf(ranks.low - 1, n, upto)
        too_low = binom.sf(ranks.high - 1, n, below)
        assert too_high + too_low <= 0.05 + 1e-12


def misses(over, world, n, runs, make, error=0.05):
    """Seeded; in how many of `runs` samples the interval does not hold the quantile."""
    rng, draw = np.random.default_rng(8), WORLDS[world]
    truth = float(draw(over.share))
    result = (over.conclude(make(rng, draw(rng.random(n))), error) for _ in range(runs))
    return sum(truth not in one.interval for one in result)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [1, 5, 100])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_ranks_hold_the_quantile_where_radii_are_near_the_upper_ends(world, n, share):
    runs = 150
    assert misses(ShortestRanks(share), world, n, runs, as_found) <= most_misses(runs, 0.05)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(
    "over", [population.OrderStatistics(), ShortestRanks(), population.LowerBound()]
)
def test_ranks_of_radii_on_a_grid_hold_the_quantile(over, world):
    runs = 150
    assert misses(over, world, 130, runs, lambda _, x: on_grid(x)) <= most_misses(runs, 0.05)


def test_the_shortest_ranks_are_narrower():
    rng, wide = np.random.default_rng(10), np.zeros(2)
    for _ in range(100):
        local = on_grid(np.exp(rng.normal(-3.5, 0.6, 100)))
        methods = (population.OrderStatistics(), ShortestRanks())
        wide += [m.conclude(local, 0.05).interval.width for m in methods]
    assert wide[1] < 0.92 * wide[0]


@pytest.mark.parametrize(("n", "share"), [(1, 0.5), (2, 0.25), (20, 0.05), (70, 0.25)])
@pytest.mark.parametrize("error", [0.01, 0.05])
def test_a_requirement_is_wrong_at_most_as_often_as_said(n, share, error):
    """Exact, with the quantile at the requirement: there either decision is wrong most often.

    k of n radii are below it, binomially many. A quantile just below it would make PASS wrong, one
    at it FAIL. Either may spend the whole error, because only one of them can be wrong.
    """
    chance = binom.pmf(np.arange(n + 1), n, share)
    passed = failed = 0.0
    for k in range(n + 1):
        result = population.requires(points([0.1] * k + [0.3] * (n - k)), share, 0.2, error)
        if isinstance(result, Decision):
            passed += result.holds * chance[k]
            failed += (not result.holds) * chance[k]
        assert (isinstance(result, Decision) and result.holds) == (
            k < lower_rank(n, share, rung(error, 0))
        )
    assert passed <= error + 1e-12
    assert failed <= error + 1e-12


@pytest.mark.parametrize("world", ["log-normal", "a twentieth at zero", "four levels"])
@pytest.mark.parametrize("n", [20, 100])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_a_requirement_on_real_brackets_is_wrong_at_most_as_often_as_said(world, n, share):
    """Seeded: required is the quantile itself, where FAIL is wrong, and a little more."""
    runs, rng, draw = 100, np.random.default_rng(21), WORLDS[world]
    truth = max(float(draw(share)), 1e-9)
    wrong = {True: 0, False: 0}
    for _ in range(runs):
        local = as_found(rng, draw(rng.random(n)))
        for least, false in ((truth, False), (truth * (1 + 1e-9), True)):
            result = population.requires(local, share, least, 0.05)
            wrong[false] += isinstance(result, Decision) and result.holds is false
    if draw(share) > 0:
        assert wrong[False] <= most_misses(runs, 0.05)
    assert wrong[True] <= most_misses(runs, 0.05)


@pytest.mark.parametrize("networks", [2, 4, 6])
@pytest.mark.parametrize("classes", [1, 10])
def test_all_networks_and_classes_hold_together(networks, classes):
    """Exact for independent groups: they are missed together with at most the stated error."""
    local, n = points(np.linspace(0.01, 0.2, 300)), 300
    groups = {f"class {i}": local for i in range(classes)}
    result = population.of_each(ShortestRanks(), groups, 0.05, networks)
    ranks = shortest(n, 0.05, 0.05 / (networks * classes))
    for one in result.values():
        assert isinstance(one, Quantile)
        low = 0.0 if ranks.low < 1 else local[ranks.low - 1].low
        assert (one.interval.low, one.interval.high) == (low, local[ranks.high - 1].high)
        assert one.guarantee.error == 0.05
        assert f"all {networks * classes} groups" in together_words(one.guarantee)
    assert 1 - coverage(n, 0.05, ranks) ** (networks * classes) <= 0.05
    pairs = {(network, name): local for network in range(networks) for name in groups}
    assert set(population.of_each(ShortestRanks(), pairs, 0.05).values()) == set(result.values())


def test_networks_that_do_not_share_the_error_are_missed_together_too_often():
    """Why they must: six networks, each with an interval of 95 %."""
    assert 1 - coverage(100, 0.05, shortest(100, 0.05, 0.05)) ** 6 > 0.25


def from_prior(rng, n, ceiling=0.4):
    """A log-normal of the posterior's own prior, and n radii of it."""
    quantile = rng.uniform(0, ceiling)
    median = rng.uniform(quantile, ceiling)
    spread = (np.log(quantile) - np.log(median)) / -1.6448536269514722
    return quantile, np.exp(rng.normal(np.log(median), spread, n))


@pytest.mark.parametrize("n", [20, 60])
def test_the_log_normal_posterior_holds_on_average_over_its_prior(n):
    runs, rng, missed = 100, np.random.default_rng(5), 0
    for _ in range(runs):
        truth, radii = from_prior(rng, n)
        result = population.LogNormalPosterior().conclude(on_grid(radii), 0.05)
        missed += isinstance(result, Quantile) and truth not in result.interval
    assert missed <= most_misses(runs, 0.05)


def test_the_log_normal_posterior_fails_for_another_family():
    """Why it is conditional, and never the headline."""
    assert misses(
        population.LogNormalPosterior(), "a fifth weak", 60, 100, lambda _, x: on_grid(x)
    ) > 3 * most_misses(100, 0.05)
