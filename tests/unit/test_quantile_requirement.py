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


def test_sixty_three_proofs_show_a_twentieth():
    """0.95^63 is less than the share of the error that the first of several runs has: 0.04."""
    decision = requires([never_refuted(0.1)] * 63, 0.05, 0.1, 0.05)
    assert isinstance(decision, Decision)
    assert decision.holds
    assert decision.p_value == pytest.approx(0.95**63)
    less = requires([never_refuted(0.1)] * 62, 0.05, 0.1, 0.05)
    assert isinstance(less, Undecided)
    (forecast,) = less.reason.parts
    assert forecast.why is Why.LIKELY_DECIDES
    assert forecast.values[1] == "inputs"


def test_a_later_run_on_other_inputs_needs_more_proofs():
    assert isinstance(requires([never_refuted(0.1)] * 94, 0.05, 0.1, 0.05, run=1), Undecided)
    assert isinstance(requires([never_refuted(0.1)] * 95, 0.05, 0.1, 0.05, run=1), Decision)


def test_it_passes_at_the_one_sided_lower_bound_and_no_further():
    local = points(np.linspace(0.001, 0.2, 300))
    end = LowerBound().conclude(local, 0.8 * 0.05).interval.low
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


def test_a_quantile_at_the_requirement_takes_many_inputs():
    local = points([0.1] * 5 + [0.3] * 95)
    (forecast,) = requires(local, 0.05, 0.2, 0.05).reason.parts
    assert forecast.why is Why.LIKELY_DECIDES
    assert forecast.values[0] > 5000


def test_one_who_draws_new_inputs_again_and_again_is_deceived_rarely():
    """The quantile is just below what is required; four runs, each on twice the inputs."""
    rng, runs, passed = np.random.default_rng(12), 50, 0
    for _ in range(runs):
        for run in range(4):
            local = points(np.where(rng.random(60 * 2**run) < 0.1, 0.1, 0.3))
            answer = requires(local, 0.1, 0.2, 0.05, run)
            passed += isinstance(answer, Decision) and answer.holds
            if isinstance(answer, Decision):
                break
    assert passed <= 8  # 2.5 expected at most; more with probability 0.001


def test_forecasts_of_radii_come_true_about_as_often_as_they_say():
    rng, followed, decided = np.random.default_rng(3), 0, 0
    for _ in range(60):
        truth = 0.2 * rng.random()

        def drawn(n, truth=truth):
            return points(np.where(rng.random(n) < truth, 0.1, 0.3))

        local = drawn(100)
        first = requires(local, 0.1, 0.2, 0.05)
        if isinstance(first, Decision) or (many := first.reason.parts[0].values[0]) > 5_000:
            continue
        followed += 1
        again = requires(local + drawn(many - 100), 0.1, 0.2, 0.05, run=1)
        decided += isinstance(again, Decision)
    assert followed > 10
    assert 0.7 <= decided / followed <= 0.95


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
