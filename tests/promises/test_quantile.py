"""Does an interval for a quantile hold it as often as it says?"""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from surefoot.errors import InvalidArgument
from surefoot.population import (
    LogNormalPosterior,
    LowerBound,
    OrderStatistics,
    PairedBootstrap,
    QuantileWithin,
    ShortestRanks,
    SpreadRanks,
)
from surefoot.results import Quantile
from surefoot.statistics.ranks import (
    Ranks,
    at_every_look,
    coverage,
    equal_tails,
    ever_missed,
    fewest,
    lower_rank,
    shortest,
)
from tests.quantiles import brackets, on_grid, points

SIZES = [1, 2, 10, 58, 59, 60, 71, 72, 76, 100, 150, 300, 975]
SHARES = [0.01, 0.05, 0.1, 0.5, 0.95]
ERRORS = [0.01, 0.05, 0.2]
CASES = list(itertools.product(SIZES, SHARES, ERRORS))


@pytest.mark.parametrize("choose", [equal_tails, shortest])
@pytest.mark.parametrize(("n", "share", "error"), CASES)
def test_ranks_enclose_the_quantile_of_every_distribution(choose, n, share, error):
    """Exact. The number of values below the quantile is binomial, whatever the distribution."""
    ranks = choose(n, share, error)
    below = binom.pmf(np.arange(n + 1), n, share)
    inside = sum(below[ranks.low : ranks.high])
    assert inside >= 1 - error - 1e-9
    assert coverage(n, share, ranks) == pytest.approx(inside, abs=1e-9)


@pytest.mark.parametrize(("n", "share", "error"), CASES)
def test_ranks_cannot_be_moved_inwards(n, share, error):
    equal, short = equal_tails(n, share, error), shortest(n, share, error)
    below = binom.cdf(np.arange(-1, n + 1), n, share)
    assert below[equal.low + 1] > error / 2
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


ATOMS = {
    "two": [0.04, 0.96],
    "at the share": [0.05, 0.95],
    "a heap": [0.01, 0.9, 0.09],
}
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


def mixed(rng, n):
    """A fifth close to 0, the others well away."""
    weak = rng.random(n) < 0.2
    return np.where(weak, rng.uniform(0, 0.04, n), 0.05 + rng.gamma(2, 0.02, n))


WORLDS = {
    "log-normal": (lambda rng, n: np.exp(rng.normal(-3, 0.6, n)), math.exp(-3 - 0.6 * 1.6448536)),
    "uniform": (lambda rng, n: rng.uniform(0, 0.3, n), 0.015),
    "square root": (lambda rng, n: 0.1 * np.sqrt(rng.random(n)), 0.1 * math.sqrt(0.05)),
    "mixed": (mixed, 0.01),
    "some zero": (lambda rng, n: np.where(rng.random(n) < 0.1, 0.0, rng.random(n)), 0.0),
    "eleven levels": (lambda rng, n: rng.integers(0, 11, n) * 0.01 + 0.01, 0.01),
}


def misses(over, world, n, runs, make, error=0.05):
    draw, truth = WORLDS[world]
    rng = np.random.default_rng(8)
    return sum(truth not in over.conclude(make(draw(rng, n)), error).interval for _ in range(runs))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [40, 130])
@pytest.mark.parametrize("over", [OrderStatistics(), ShortestRanks()], ids=lambda o: o.kind)
def test_ranks_of_brackets_cover(over, world, n):
    """Seeded; allowance: four standard deviations over 200 samples."""
    most = 200 * 0.05 + 4 * math.sqrt(200 * 0.05 * 0.95)
    assert misses(over, world, n, 200, on_grid) <= most
    assert misses(over, world, n, 200, points) <= most


@pytest.mark.parametrize("world", ["log-normal", "uniform", "square root", "mixed"])
@pytest.mark.parametrize("step", [0.0, 0.002, 0.01])
@pytest.mark.parametrize("n", [60, 160])
def test_spread_ranks_cover_levels_that_are_smooth_within_brackets(world, step, n):
    """Seeded; allowance: four standard deviations over 300 samples. The grid starts at random."""
    draw, truth = WORLDS[world]
    rng, missed = np.random.default_rng(9), 0
    for _ in range(300):
        values = draw(rng, n)
        local = points(values)
        if step:
            shift = rng.random() * step
            low = np.maximum(0.0, np.floor((values - shift) / step) * step + shift)
            high = np.floor((values - shift) / step + 1) * step + shift
            local = brackets(low, high)
        missed += truth not in SpreadRanks().conclude(local, 0.05).interval
    assert missed <= 300 * 0.05 + 4 * math.sqrt(300 * 0.05 * 0.95)


def test_spread_ranks_are_narrower_on_a_grid():
    rng = np.random.default_rng(10)
    wide = np.zeros(3)
    for _ in range(100):
        local = on_grid(np.exp(rng.normal(-3.5, 0.6, 100)))
        methods = (OrderStatistics(), ShortestRanks(), SpreadRanks())
        wide += [m.conclude(local, 0.05).interval.width for m in methods]
    assert wide[1] < 0.92 * wide[0]
    assert wide[2] < 0.95 * wide[1]


@pytest.mark.parametrize("n", [59, 120])
def test_a_lower_bound_is_one(n):
    """Seeded; allowance: four standard deviations over 400 samples."""
    wrong = misses(LowerBound(), "mixed", n, 400, on_grid)
    assert wrong <= 400 * 0.05 + 4 * math.sqrt(400 * 0.05 * 0.95)


def test_a_log_normal_posterior_covers_a_log_normal_and_not_another():
    """Seeded; allowance: four standard deviations. The other world is why it is conditional."""
    runs = 100
    most = runs * 0.05 + 4 * math.sqrt(runs * 0.05 * 0.95)
    assert misses(LogNormalPosterior(), "log-normal", 60, runs, on_grid) <= most
    assert misses(LogNormalPosterior(), "mixed", 60, runs, on_grid) > 3 * most


@pytest.mark.parametrize("looks", [(100,), (88, 120, 160, 220, 300), (30, 60, 90, 2000)])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_looks_share_the_error_exactly(looks, share):
    """By walking through all paths, a second time and differently: value by value."""
    ranks = at_every_look(looks, share, 0.05)
    at = dict(zip(looks, ranks, strict=True))
    missed = 0.0
    for side in ("high", "low"):
        chance = np.zeros(looks[-1] + 2)
        chance[0] = 1.0
        for n in range(1, looks[-1] + 1):
            chance[1:] = (1 - share) * chance[1:] + share * chance[:-1]
            chance[0] *= 1 - share
            if n in at:
                gone = slice(0, at[n].low) if side == "low" else slice(at[n].high, None)
                missed += chance[gone].sum()
                chance[gone] = 0
    assert missed <= 0.05
    assert missed == pytest.approx(ever_missed(looks, share, ranks), abs=1e-10)


def test_looks_cost_less_than_sharing_the_error_blindly():
    looks = tuple(range(100, 1100, 100))
    ours = at_every_look(looks, 0.05, 0.05)
    blind = [equal_tails(n, 0.05, 0.005) for n in looks]
    assert all(a.low >= b.low and a.high <= b.high for a, b in zip(ours, blind, strict=True))
    assert any(a != b for a, b in zip(ours, blind, strict=True))


def run_until_known(procedure, draw, rng):
    steps = procedure.steps()
    asked = next(steps)
    while True:
        try:
            asked = steps.send(points(draw(rng, asked)))
        except StopIteration as ended:
            return ended.value


@pytest.mark.parametrize("world", ["log-normal", "mixed", "some zero", "eleven levels"])
@pytest.mark.parametrize("width", [0.003, 0.008])
def test_stopping_when_it_is_narrow_keeps_the_promise(world, width):
    """Seeded; allowance: four standard deviations over 200 runs."""
    draw, truth = WORLDS[world]
    rng, missed = np.random.default_rng(11), 0
    for _ in range(200):
        found = run_until_known(QuantileWithin(width, most=600), draw, rng)
        assert isinstance(found, Quantile)
        missed += truth not in found.interval
        if not found.note:
            assert found.interval.width <= 2 * width
            assert truth not in found.interval or abs(found.value - truth) <= width + 1e-12
    assert missed <= 200 * 0.05 + 4 * math.sqrt(200 * 0.05 * 0.95)


def test_it_stops_at_the_first_look_if_nothing_varies():
    found = run_until_known(QuantileWithin(0.01), lambda _, n: np.full(n, 0.2), None)
    assert found.inputs == QuantileWithin(0.01).looks[0]
    assert found.value == 0.2


def test_it_says_when_inputs_were_not_enough():
    rng = np.random.default_rng(12)
    found = run_until_known(QuantileWithin(1e-6, most=200), WORLDS["uniform"][0], rng)
    assert found.inputs == 200
    assert "not enough" in found.note


@pytest.mark.parametrize("change", [{"width": 0}, {"most": 0}, {"pace": 1.0}, {"share": 2}])
def test_a_search_that_cannot_end_is_refused(change):
    with pytest.raises(InvalidArgument):
        QuantileWithin(**{"width": 0.01, **change})


@pytest.mark.parametrize("looks", [(), (10, 10), (10, 5), (0, 5)])
def test_looks_must_grow(looks):
    with pytest.raises(InvalidArgument, match="growing"):
        at_every_look(looks, 0.05, 0.05)


def test_a_paired_difference_covers():
    """Two models whose levels go along; seeded, 300 samples, allowance four deviations."""
    rng, missed = np.random.default_rng(13), 0
    big = np.random.default_rng(14)
    shared = big.normal(-3, 0.5, 400_000)
    truth = np.quantile(np.exp(shared), 0.05) - np.quantile(
        np.exp(shared + big.normal(0.2, 0.1, 400_000)), 0.05
    )
    for _ in range(300):
        common = rng.normal(-3, 0.5, 150)
        a, b = (on_grid(np.exp(x)) for x in (common, common + rng.normal(0.2, 0.1, 150)))
        missed += truth not in PairedBootstrap(draws=300).difference(a, b, 0.05)
    assert missed <= 300 * 0.05 + 4 * math.sqrt(300 * 0.05 * 0.95)
