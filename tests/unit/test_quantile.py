"""The quantile from ranks and from a log-normal family, and of two models: edges first."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from surefoot import population
from surefoot.core.assumptions import Assumed, Prior
from surefoot.core.reasons import Why
from surefoot.core.results import Footing, Guarantee, Interval, Quantile, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population import (
    LogNormalPosterior,
    LowerBound,
    OrderStatistics,
    ShortestRanks,
    comparison,
    lognormal,
    quantile_difference,
    quantile_differences,
)
from surefoot.population.comparison import _split
from surefoot.population.lognormal import LEAST_INPUTS
from tests.in_words import condition, together
from tests.quantiles import bracket, brackets, never_refuted, on_grid, points
from tests.refusals import refused

RANKED = [OrderStatistics(), ShortestRanks(), LowerBound()]
TWO_SIDED = RANKED[:2]
ALL = [*RANKED, LogNormalPosterior()]


@pytest.mark.parametrize("over", ALL, ids=lambda over: over.kind)
def test_no_inputs_is_undecided(over):
    assert isinstance(over.conclude([], 0.05), Undecided)


@pytest.mark.parametrize("n", [1, 2, 30, 58])
@pytest.mark.parametrize("over", RANKED, ids=lambda over: over.kind)
def test_too_few_inputs_have_a_lower_end_of_0_and_say_so(over, n):
    quantile = over.conclude(points([0.1] * n), 0.05)
    assert quantile.interval.low == 0
    few = Why.FEW_FOR_LOWER_END.of(n, 5, 72 if over.kind == "order-statistics" else 59)
    assert few in (quantile.note, *quantile.note.parts)


def test_a_lower_end_begins_with_72_inputs_two_sided_and_59_one_sided():
    levels = [0.1] * 72
    assert OrderStatistics().conclude(points(levels[:71]), 0.05).interval.low == 0
    assert OrderStatistics().conclude(points(levels), 0.05).interval.low == 0.1
    assert LowerBound().conclude(points(levels[:58]), 0.05).interval.low == 0
    assert LowerBound().conclude(points(levels[:59]), 0.05).interval.low == 0.1


@pytest.mark.parametrize("over", TWO_SIDED, ids=lambda over: over.kind)
def test_all_zero_is_a_quantile_of_zero(over):
    quantile = over.conclude(points([0.0] * 100), 0.05)
    assert quantile.interval == Interval(0, 0)
    assert quantile.note == Why.QUANTILE_ZERO.of(100, 100)


def test_a_log_normal_has_no_zero():
    quantile = LogNormalPosterior().conclude(points([0.0, *np.linspace(0.1, 0.2, 30)]), 0.05)
    assert isinstance(quantile, Undecided)
    assert quantile.reason == Why.ZERO_LEVELS.of(1)


@pytest.mark.parametrize("over", TWO_SIDED, ids=lambda over: over.kind)
def test_never_refuted_inputs_leave_the_upper_end_open(over):
    quantile = over.conclude([never_refuted(0.1)] * 100, 0.05)
    assert quantile.interval == Interval(0.1, math.inf)
    assert quantile.note == Why.NO_UPPER_END.of(100, 100)
    assert quantile.value == 0.1


@pytest.mark.parametrize("over", TWO_SIDED, ids=lambda over: over.kind)
def test_never_refuted_inputs_count_against_the_lower_end(over):
    """Their critical level may be anywhere above what was proved, which here is nothing."""
    known = points(np.linspace(0.5, 1, 95))
    quantile = over.conclude([*known, *[never_refuted(0.0)] * 5], 0.05)
    assert quantile.interval.low == 0


def test_ranks_are_counted_from_one():
    """Of 1, …, 100: P(B(100, .05) <= 0) = .0059, <= 1: .0371; <= 9: .9718, <= 10: .9885."""
    quantile = OrderStatistics().conclude(points(range(1, 101)), 0.05)
    assert quantile.interval == Interval(1, 11)
    assert ShortestRanks().conclude(points(range(1, 101)), 0.05).interval == Interval(2, 11)


def test_the_ends_are_sorted_apart():
    """The widest bracket has the smallest low end and the largest high end."""
    quantile = OrderStatistics().conclude(
        [bracket(0, 1000), *brackets(range(1, 100), range(2, 101))], 0.05
    )
    assert quantile.interval == Interval(0, 12)


def test_the_order_of_inputs_does_not_matter():
    rng = np.random.default_rng(1)
    local = on_grid(rng.gamma(2, 0.02, 120))
    mixed = [local[i] for i in rng.permutation(120)]
    for over in ALL:
        a, b = over.conclude(local, 0.05), over.conclude(mixed, 0.05)
        assert a == b


@pytest.mark.parametrize("over", ALL, ids=lambda over: over.kind)
def test_a_quantile_says_what_it_supposes(over):
    quantile = over.conclude(on_grid(np.linspace(0.01, 0.2, 100)), 0.05)
    assert isinstance(quantile, Quantile)
    assert quantile.guarantee.footing is Footing.CONDITIONAL
    assert quantile.value in quantile.interval
    assert quantile.inputs == 100
    assert ("log-normal" in condition(quantile.guarantee)) == (over.kind == "log-normal")


def test_classes_share_the_error():
    local = points(range(1, 301))
    (one,) = population.of_each(OrderStatistics(), {"a": local}, 0.05).values()
    both = population.of_each(OrderStatistics(), {"a": local, "b": local}, 0.05)
    assert one.interval == OrderStatistics().conclude(local, 0.05).interval
    assert both["a"] == both["b"]
    assert both["a"].interval == OrderStatistics().conclude(local, 0.025).interval
    assert (both["a"].guarantee.error, together(both["a"].guarantee)) == (
        0.05,
        "the quantiles of all 2 groups",
    )
    refused("at least one class", population.of_each, OrderStatistics(), {}, 0.05)
    with pytest.raises(InvalidArgument, match="networks must be an integer ≥ 1, got 0"):
        population.of_each(OrderStatistics(), {"a": local}, 0.05, 0)


@pytest.mark.parametrize("over", ALL, ids=lambda over: over.kind)
def test_what_the_brackets_rest_on_is_passed_on(over):
    rests = Guarantee(Footing.CONDITIONAL, 0.0, (Assumed.PUBLISHED,))
    local = [replace(b, guarantee=rests) for b in on_grid(np.linspace(0.01, 0.2, 100))]
    assert over.conclude(local, 0.05).guarantee.assumptions[:2] == (
        Assumed.SAMPLED,
        Assumed.PUBLISHED,
    )


@pytest.mark.parametrize("name", ["share", "error"])
@pytest.mark.parametrize("value", [0, 1, -0.1, math.nan])
@pytest.mark.parametrize("kind", [OrderStatistics, ShortestRanks, LowerBound, LogNormalPosterior])
def test_a_share_and_an_error_are_probabilities(kind, name, value):
    refused(f"{name} must lie between 0 and 1", kind, **{name: value})


@pytest.mark.parametrize("low", [-0.1, math.inf])
def test_a_bracket_has_a_proved_end(low):
    refused("a proved level", bracket, low, math.inf)


Z = float(ndtri(0.05))


def by_integration(local, chances, ceiling=0.4):
    """Where the posterior has `chances` below, by sums over quantile and median."""
    lows = np.log(np.maximum([b.low for b in local], 1e-300))
    highs = np.log([b.high for b in local])
    quantiles = np.linspace(0.0005, 0.1, 400)
    heights = []
    for q in quantiles:
        mu = np.log(np.linspace(q, ceiling, 800)[1:, None])
        s = (math.log(q) - mu) / Z
        mass = ndtr((highs - mu) / s) - ndtr((lows - mu) / s)
        heights.append(np.log(np.maximum(mass, 1e-300)).sum(axis=1))
    weights = np.exp(np.array(heights) - np.max(heights)).mean(axis=1)
    return np.interp(chances, np.cumsum(weights) / weights.sum(), quantiles)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 40])
def test_it_is_the_posterior_of_the_stated_prior(n):
    rng = np.random.default_rng(n)
    local = on_grid(np.exp(rng.normal(math.log(0.05), 0.5, n)))
    quantile = LogNormalPosterior().conclude(local, 0.05)
    message = (quantile.interval.low, quantile.value, quantile.interval.high)
    assert message == pytest.approx(by_integration(local, (0.025, 0.5, 0.975)), rel=0.03)


@pytest.mark.parametrize("n", [25, 300, 30_000])
def test_many_inputs_do_not_underflow(n):
    """The thesis' version ends at about 25 inputs because its likelihood underflows."""
    rng = np.random.default_rng(2)
    quantile = LogNormalPosterior().conclude(on_grid(np.exp(rng.normal(-3, 0.5, n))), 0.05)
    assert math.exp(-3 + 0.5 * Z) in quantile.interval
    assert quantile.interval.width < 0.07 / math.sqrt(n)


def test_the_verdict_tells_a_log_normal_from_another():
    rng = np.random.default_rng(5)
    good = LogNormalPosterior().conclude(on_grid(np.exp(rng.normal(-3, 0.5, 300))), 0.05)
    bad = LogNormalPosterior().conclude(on_grid(rng.uniform(0.01, 0.2, 300)), 0.05)
    assert (good.fit.why, good.fit.values[0]) == (Why.NOT_REJECTED, 5)
    assert (bad.fit.why, bad.fit.values[0]) == (Why.REJECTED, 5)


def test_censored_brackets_are_used_and_the_fit_is_not_tested():
    rng = np.random.default_rng(6)
    values = np.exp(rng.normal(-3, 0.5, 200))
    local = [
        b if v < 0.08 else never_refuted(0.079)
        for b, v in zip(on_grid(values), values, strict=True)
    ]
    quantile = LogNormalPosterior().conclude(local, 0.05)
    assert quantile.fit.why is Why.NOT_TESTED
    assert math.exp(-3 + 0.5 * Z) in quantile.interval


def test_nothing_proved_anywhere_is_not_a_failure():
    quantile = LogNormalPosterior().conclude(brackets([0.0] * 20, [0.05] * 20), 0.05)
    assert 0 < quantile.interval.low < quantile.interval.high < 0.05


def test_exact_levels_have_a_density():
    values = np.exp(np.random.default_rng(7).normal(-3, 0.5, 200))
    exact = LogNormalPosterior().conclude(points(values), 0.05).interval
    near = LogNormalPosterior().conclude(brackets(values * 0.9999, values * 1.0001), 0.05).interval
    assert exact.low == pytest.approx(near.low, rel=1e-3)
    assert exact.high == pytest.approx(near.high, rel=1e-3)


def test_never_refuted_inputs_alone_fit_nothing():
    assert isinstance(LogNormalPosterior().conclude([never_refuted(0.1)] * 30, 0.05), Undecided)


@pytest.mark.parametrize("n", [1, 2, 5, 19])
def test_too_few_inputs_would_only_say_what_the_prior_says(n):
    quantile = LogNormalPosterior().conclude(on_grid(np.linspace(0.02, 0.05, n)), 0.05)
    assert isinstance(quantile, Undecided)
    assert quantile.reason == Why.FEW_FOR_POSTERIOR.of(n, 20)


def test_family_and_prior_are_named():
    local = on_grid(np.linspace(0.02, 0.05, LEAST_INPUTS))
    named = LogNormalPosterior(ceiling=0.3).conclude(local, 0.05).guarantee.assumptions
    assert named == (Assumed.SAMPLED, Assumed.LOG_NORMAL, Prior(0.3))


def test_one_level_for_all_inputs_is_narrow_not_broken():
    quantile = LogNormalPosterior().conclude(brackets([0.05] * 50, [0.052] * 50), 0.05)
    assert 0.0495 < quantile.interval.low < quantile.interval.high < 0.052


@pytest.mark.parametrize("change", [{"share": 0.5}, {"ceiling": 0}, {"ceiling": math.inf}])
def test_what_the_prior_cannot_mean_is_refused(change):
    refused("", LogNormalPosterior, **change)


def log_normal(n, seed=40):
    values = np.exp(np.random.default_rng(seed).normal(-3, 0.5, n))
    return values, brackets(values * 0.9, values * 1.2)


def message(quantile):
    return np.array([quantile.interval.low, quantile.value, quantile.interval.high])


@pytest.mark.parametrize("steps", [64, 0.3])
def test_many_brackets_have_the_posterior_of_a_few(monkeypatch, steps):
    """With steps so coarse that rounding misleads, the brackets themselves say where to look."""
    values, local = log_normal(1500)
    local[::7] = [never_refuted(v / 2) for v in values[::7]]
    plain = message(LogNormalPosterior().conclude(local, 0.05))
    monkeypatch.setattr(lognormal, "_MANY", 100)
    monkeypatch.setattr(lognormal, "_STEPS", steps)
    quick = message(LogNormalPosterior().conclude(local, 0.05))
    assert np.abs(quick - plain).max() < 0.01 * (plain[2] - plain[0])


def counting(monkeypatch, module, name, size):
    """How much the function has computed so far, in the first of a list."""
    plain, computed = getattr(module, name), [0]

    def counted(*arguments):
        computed[0] += size(*arguments)
        return plain(*arguments)

    monkeypatch.setattr(module, name, counted)
    return computed


@pytest.mark.parametrize("n", [300, 20_000])
def test_a_bracket_is_scored_at_few_of_the_nodes_that_the_finest_grid_has(n, monkeypatch):
    """300 different ones take a hundredth of a second, and 60,000 a second."""
    _, local = log_normal(n)
    scored = counting(
        monkeypatch,
        lognormal,
        "_log_mass",
        lambda lows, _, *grid: lows.size * math.prod(map(len, grid)),
    )
    quantile = LogNormalPosterior().conclude(local, 0.05)
    assert 0 < scored[0] < 0.25 * lognormal._FINE**2 * n
    assert quantile.interval.width < 0.07 / math.sqrt(n)


def test_a_difference_is_tested_a_few_times_for_each_input(monkeypatch):
    """60,000 inputs take half a second."""
    values, local = log_normal(20_000)
    other = brackets(values, values * 1.3)
    tests = counting(monkeypatch, comparison, "mcnemar", lambda *_: 1)
    for share in (0.05, 0.5):
        truth = 0.1 * math.exp(-3 + 0.5 * float(ndtri(share)))
        quantile = quantile_difference(other, local, share, 0.05)
        assert quantile.low < truth < quantile.high
    assert 0 < tests[0] < 2 * 20_000


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
