"""Requirements of classes and shares, the strongest claims, and what tails promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from surefoot.core.counts import Counts
from surefoot.core.reasons import Why
from surefoot.core.results import Decision, Estimate, Extrapolation, Footing, Guarantee, Undecided
from surefoot.population import (
    Mean,
    RobustShare,
    TailMean,
    every_input_at_most,
    requirement,
    requirement_of_each,
)
from surefoot.statistics import clopper_pearson
from tests.in_words import condition
from tests.promises.local_results import LAW, allowed, counted, decided
from tests.refusals import refused


@pytest.mark.parametrize("truth", [0.9, 0.95])
@pytest.mark.parametrize("n", [10, 60, 300])
def test_a_requirement_at_its_boundary_passes_and_fails_rarely(truth, n):
    """The mean just below, then just at what is required; 0/1-heavy; rejected at level .001.

    PASS and FAIL may each be wrong with the whole error, and only one of them can be.
    """
    rng, runs, error, passed, failed = np.random.default_rng(6), 200, 0.1, 0, 0
    over = Mean(error)
    for _ in range(runs):
        p = np.where(rng.random(n) < 2 * (1 - truth), 0.5, 1.0)
        local = [counted(k) for k in rng.binomial(20, p)]
        decision = over.tested(local, truth).p_values
        passed += decision.above <= error
        failed += decision.below <= error
    assert binom.sf(passed - 1, runs, error) > 0.001
    assert binom.sf(failed - 1, runs, error) > 0.001


def test_a_requirement_spends_the_whole_error_on_the_side_it_asks_about():
    """Inputs that always hold: as many as one side needs, 20 % fewer than two."""
    over = Mean(0.01)

    def needed(decided):
        return next(n for n in range(1, 400) if decided([counted(20)] * n))

    one = needed(lambda local: isinstance(requirement(over, local, 0.95), Decision))
    two = needed(lambda local: over.conclude(local, 0.01).interval.low >= 0.95)
    assert one < two
    assert one <= 1.05 * math.log(1 / 0.01) / -math.log(0.95) + 20


def test_a_requirement_holds_is_refuted_or_stays_undecided():
    local = [counted(18)] * 30 + [counted(20)] * 30
    over = Mean(0.05)
    kept = requirement(over, local, 0.8)
    assert kept.holds
    assert kept.claim == "the mean robustness is at least 0.8"
    assert kept.p_value <= 0.05
    assert kept.guarantee.error == 0.05
    assert "random sample" in condition(kept.guarantee)
    assert requirement(over, local, 0.999).holds is False
    assert isinstance(requirement(over, [Undecided("no", 5)], 0.5), Undecided)
    refused("between 0 and 1", requirement, over, local, 1.5)


def test_an_open_requirement_says_with_how_many_inputs_the_chance_to_decide_is_good():
    rng = np.random.default_rng(3)
    local = [counted(k) for k in rng.binomial(20, rng.choice([0.8, 1.0], 40))]
    (forecast,) = requirement(Mean(0.05), local, 0.86, 0).reason.parts
    assert forecast.why is Why.LIKELY_DECIDES
    many, unit, chance = forecast.values
    assert (many > len(local), unit) == (True, "inputs")
    assert 0.8 <= chance < 0.95


def test_requirements_of_classes_are_wrong_about_any_of_them_rarely():
    """Five classes, two of them below: 150 seeded samples."""
    rng, runs, error, wrong, together = np.random.default_rng(2), 150, 0.1, 0, 0
    truth = {"a": 0.9, "b": 0.9, "c": 0.8, "d": 0.79, "e": 0.5}
    for _ in range(runs):
        groups = {
            name: [counted(k) for k in rng.binomial(20, q, size=40)] for name, q in truth.items()
        }
        decision = requirement_of_each(Mean(error), groups, 0.8)
        wrong += any(
            isinstance(d, Decision) and d.holds != (truth[name] >= 0.8)
            for name, d in decision.classes.items()
        )
        together += isinstance(decision.together, Decision) and decision.together.holds
    assert wrong <= allowed(runs, error)
    assert together <= allowed(runs, error)


def test_every_class_meets_a_requirement_without_paying_for_their_number():
    """At the edge of one class's own evidence: all pass together, though Holm passes none."""
    over = RobustShare(0.05)
    local = [decided(True)] * 100
    least = next(
        x / 1000 for x in range(1000, 0, -1) if over.tested(local, x / 1000).p_values.above <= 0.05
    )
    decision = requirement_of_each(over, dict.fromkeys("abcdefgh", local), least)
    assert decision.together.holds
    assert all(isinstance(d, Undecided) for d in decision.classes.values())


def test_a_class_that_fails_fails_the_whole_and_is_named():
    groups = {"good": [counted(20)] * 200, "bad": [counted(2)] * 200}
    decision = requirement_of_each(Mean(0.05), groups, 0.5)
    assert decision.together.holds is False
    assert "random sample" in condition(decision.together.guarantee)
    assert decision.classes["good"].holds
    assert decision.classes["bad"].holds is False
    half = requirement_of_each(Mean(0.05), {"x": [counted(10)] * 20, "y": groups["good"]}, 0.5)
    assert half.together.reason == Why.CLASSES_OPEN.of(1, "x")
    refused("between 0 and 1", requirement_of_each, Mean(0.05), groups, 1.5)
    refused("at least one class", requirement_of_each, Mean(0.05), {}, 0.5)


@pytest.mark.parametrize("over", [Mean(0.05), RobustShare(0.05)])
def test_requirements_at_the_ends_are_certain(over):
    local = [counted(20)] * 30 if isinstance(over, Mean) else [decided(True)] * 30
    assert over.tested(local, 0.0).p_values.above == 0.0
    assert over.tested(local, 0.0).p_values.below > 0.5
    assert over.tested(local, 1.0).p_values.above > 0.05


@given(st.integers(0, 60), st.floats(0.01, 0.99))
@LAW
def test_share_evidence_and_interval_agree(robust, least):
    """One-sided: shown to be at least what the lower end of twice the error is."""
    local = [decided(True)] * robust + [decided(False)] * (60 - robust)
    low = (clopper_pearson(Counts(60, robust), 0.1).low - 0.05) / 0.95
    above = RobustShare(0.05).tested(local, least).p_values.above
    if abs(least - low) > 1e-9:
        assert (above <= 0.05) == (least < low)


def test_the_limit_that_every_input_keeps_is_the_largest_of_their_upper_ends():
    local = [counted(20)] * 49 + [counted(15)]
    decision = every_input_at_most(local)
    assert decision.value == pytest.approx(0.45)
    assert every_input_at_most([*local, Undecided("no")]) is None


def test_the_weakest_input_is_claimed_too_strong_rarely():
    """The least of the lower ends exceeds the least probability: exact at each input's error."""
    rng, runs, wrong = np.random.default_rng(4), 400, 0
    p = np.array([0.5, 0.55, 0.6, 0.9])
    for _ in range(runs):
        local = []
        for k in rng.binomial(50, p):
            exact = clopper_pearson(Counts(50, k), 0.2)
            local.append(Estimate(k / 50, exact, Guarantee(Footing.SOUND, 0.2), 50, k / 50, 50))
        wrong += every_input_at_most(local).value < 0.5
    assert wrong <= allowed(runs, 0.2)


def extrapolated(value, kept, contradicted=False):
    plain = counted(kept)
    none = Guarantee(Footing.NONE, 1.0, "extrapolation")
    return Extrapolation(value, 1 - value, 2.0, "fit", 0.5, plain, contradicted, none, 20)


def test_a_category_tells_average_variance_number_and_completeness():
    local = [extrapolated(0.9, 18), extrapolated(1.0, 20, True), Undecided("no", 20, counted(2))]
    decision = TailMean(0.05).conclude(local, 0.05)
    assert decision.value == pytest.approx(0.95)
    assert decision.failure == pytest.approx(0.05)
    assert decision.variance == pytest.approx(0.005)
    assert (decision.fitted, decision.inputs, decision.contradicted) == (2, 3, 1)
    assert decision.completeness == pytest.approx(2 / 3)
    assert decision.counted.value == pytest.approx((18 + 20 + 2) / 60)
    assert decision.guarantee.footing is Footing.NONE
    assert decision.counted == Mean(0.05).conclude([counted(18), counted(20), counted(2)], 0.05)


def test_one_value_has_no_variance_and_none_fitted_is_undecided_with_the_count():
    assert TailMean(0.05).conclude([extrapolated(0.9, 18)], 0.05).variance is None
    nothing = TailMean(0.05).conclude([Undecided("not normal", 20, counted(2))] * 5, 0.05)
    assert isinstance(nothing, Undecided)
    assert nothing.counted.value == pytest.approx(0.1)


def test_every_promise_about_tails_is_about_what_was_counted():
    tails = [extrapolated(1.0, 15)] * 30
    plain = [counted(15)] * 30
    assert TailMean(0.1).difference(tails, tails, 0.1) == Mean(0.1).difference(plain, plain, 0.1)
    assert TailMean(0.1).tested(tails, 0.9).p_values == Mean(0.1).tested(plain, 0.9).p_values
    assert TailMean(0.1).studied(tails) == Mean(0.1).studied(plain)
