"""A required radius, and summaries of radii."""

import math

import numpy as np
import pytest

from surefoot.core.reasons import Why
from surefoot.core.results import Decision, Footing, Guarantee, Interval, Quantile, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population import (
    LowerBound,
    requires,
    requires_of_interval,
    robust_accuracy,
)
from tests.quantiles import bracket, brackets, never_refuted, points


def test_fifty_nine_proofs_show_a_twentieth():
    decision = requires([never_refuted(0.1)] * 59, 0.05, 0.1, 0.05)
    assert isinstance(decision, Decision)
    assert decision.holds
    assert decision.p_value == pytest.approx(0.95**59)
    less = requires([never_refuted(0.1)] * 58, 0.05, 0.1, 0.05)
    assert isinstance(less, Undecided)
    assert less.reason.parts == [Why.NEW_INPUTS_WOULD_DECIDE.of(59)]


def test_it_passes_at_the_one_sided_lower_bound_and_no_further():
    local = points(np.linspace(0.001, 0.2, 300))
    end = LowerBound().conclude(local, 0.05).interval.low
    assert requires(local, 0.05, end, 0.05).holds
    assert isinstance(requires(local, 0.05, end + 1e-6, 0.05), Undecided)


def test_it_fails_on_counterexamples_nearer_than_required():
    """Two of two: .05^2 is less than .05. Nothing need be proved."""
    decision = requires(brackets([0, 0], [0.1, 0.1]), 0.05, 0.2, 0.05)
    assert isinstance(decision, Decision)
    assert not decision.holds
    assert decision.p_value == pytest.approx(0.0025)


def test_a_counterexample_at_the_required_radius_is_not_nearer():
    assert isinstance(requires(brackets([0, 0], [0.2, 0.2]), 0.05, 0.2, 0.05), Undecided)


def test_open_brackets_call_for_more_seconds():
    local = [*brackets([0.1] * 20, [0.3] * 20), *[never_refuted(0.2)] * 80]
    decision = requires(local, 0.05, 0.2, 0.05)
    assert isinstance(decision, Undecided)
    assert decision.reason.values == (80, 100, 0.2, 0, 20, Why.PROOFS_MAY_DECIDE.of())


def test_a_quantile_at_the_requirement_is_said_to_be_close():
    local = points([0.1] * 5 + [0.3] * 95)
    assert requires(local, 0.05, 0.2, 0.05).reason.parts == [Why.NEW_RUN_MAY_DECIDE.of()]


@pytest.mark.parametrize("weak", [2, 10])
def test_the_number_of_inputs_that_it_names_would_decide(weak):
    local = points([0.1] * weak + [0.3] * (100 - weak))
    decision = requires(local, 0.05, 0.2, 0.01)
    if isinstance(decision, Undecided):
        (number,) = decision.reason.parts[0].values
        times = math.ceil(number / 100)
        assert isinstance(requires(local * times, 0.05, 0.2, 0.01), Decision)
        assert isinstance(requires(local * max(times // 2, 1), 0.05, 0.2, 0.01), Undecided)


def test_a_quantile_that_stopped_by_itself_is_judged_by_its_interval():
    promise = Guarantee(Footing.CONDITIONAL, 0.05, ("sampled",))
    decision = Quantile(0.05, 0.011, Interval(0.01, 0.012), promise, 700)
    assert requires_of_interval(decision, 0.01).holds
    assert not requires_of_interval(decision, 0.0121).holds
    open_ = requires_of_interval(decision, 0.011)
    assert isinstance(open_, Undecided)
    assert open_.reason == Why.WITHIN_INTERVAL.of(0.011, 0.01, 0.012)


@pytest.mark.parametrize("least", [0, -1, math.inf, math.nan])
def test_a_required_radius_is_above_zero(least):
    with pytest.raises(InvalidArgument, match="required radius must be"):
        requires(points([0.1]), 0.05, least, 0.05)


def test_no_brackets_decide_nothing():
    assert isinstance(requires([], 0.05, 0.1, 0.05), Undecided)


def test_a_misclassified_input_is_refuted_at_every_radius():
    assert robust_accuracy([bracket(0, 0)], 0.0).refuted == 1
    assert robust_accuracy([bracket(0, 0.1)], 0.0).proved == 1
    assert robust_accuracy([bracket(0.1, 0.1)], 0.1).refuted == 1
    assert robust_accuracy([never_refuted(0.1)], 0.1).severity is None
