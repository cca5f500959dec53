"""The quantile from ranks: edges first."""

import math
from dataclasses import replace

import numpy as np
import pytest

from surefoot import population
from surefoot.core.assumptions import Assumed
from surefoot.core.reasons import Why
from surefoot.core.results import Footing, Guarantee, Interval, Quantile, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population import LogNormalPosterior, LowerBound, OrderStatistics, ShortestRanks
from tests.in_words import condition, together
from tests.quantiles import bracket, brackets, never_refuted, on_grid, points

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
    with pytest.raises(InvalidArgument, match="at least one class"):
        population.of_each(OrderStatistics(), {}, 0.05)
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
    with pytest.raises(InvalidArgument, match=f"{name} must lie between 0 and 1"):
        kind(**{name: value})


@pytest.mark.parametrize("low", [-0.1, math.inf])
def test_a_bracket_has_a_proved_end(low):
    with pytest.raises(InvalidArgument, match="a proved level"):
        bracket(low, math.inf)
