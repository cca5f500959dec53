"""Requirements of classes and shares, the weakest input, and what tails promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import InvalidArgument
from surefoot.population import (
    Mean,
    RobustShare,
    TailMean,
    requirement,
    requirement_of_each,
    weakest,
)
from surefoot.results import (
    Decision,
    Extrapolation,
    Footing,
    Guarantee,
    Undecided,
)
from surefoot.statistics import clopper_pearson
from tests.promises.test_comparison import LAW, allowed, counted, decided, no_forecasts


def test_requirements_of_classes_are_wrong_about_any_of_them_rarely():
    """Five classes, two of them below: 300 seeded samples."""
    rng, runs, error, wrong, together = np.random.default_rng(2), 300, 0.1, 0, 0
    truth = {"a": 0.9, "b": 0.9, "c": 0.8, "d": 0.79, "e": 0.5}
    for _ in range(runs):
        groups = {
            name: [counted(k) for k in rng.binomial(20, q, size=40)] for name, q in truth.items()
        }
        found = requirement_of_each(Mean(error), groups, 0.8)
        wrong += any(
            isinstance(d, Decision) and d.holds != (truth[name] >= 0.8)
            for name, d in found.classes.items()
        )
        together += isinstance(found.together, Decision) and found.together.holds
    assert wrong <= allowed(runs, error)
    assert together <= allowed(runs, error)


def test_every_class_meets_a_requirement_without_paying_for_their_number():
    """At the edge of one class's own evidence: all pass together, though Holm passes none."""
    over = RobustShare(0.05)
    local = [decided(True)] * 100
    least = next(
        x / 1000 for x in range(1000, 0, -1) if over.evidence(local, x / 1000).above <= 0.05
    )
    found = requirement_of_each(over, dict.fromkeys("abcdefgh", local), least)
    assert found.together.holds
    assert all(isinstance(d, Undecided) for d in found.classes.values())


def test_a_class_that_fails_fails_the_whole_and_is_named():
    groups = {"good": [counted(20)] * 200, "bad": [counted(2)] * 200}
    found = requirement_of_each(Mean(0.05), groups, 0.5)
    assert found.together.holds is False
    assert "random sample" in found.together.guarantee.condition
    assert found.classes["good"].holds
    assert found.classes["bad"].holds is False
    half = requirement_of_each(Mean(0.05), {"x": [counted(10)] * 20, "y": groups["good"]}, 0.5)
    assert "class x" in half.together.reason
    with pytest.raises(InvalidArgument, match="between 0 and 1"):
        requirement_of_each(Mean(0.05), groups, 1.5)
    with pytest.raises(InvalidArgument, match="no classes"):
        requirement_of_each(Mean(0.05), {}, 0.5)


@pytest.mark.parametrize("over", [Mean(0.05), RobustShare(0.05)])
def test_requirements_at_the_ends_are_certain(over):
    local = [counted(20)] * 30 if isinstance(over, Mean) else [decided(True)] * 30
    assert over.evidence(local, 0.0).above == 0.0
    assert over.evidence(local, 0.0).below > 0.5
    assert over.evidence(local, 1.0).above > 0.05


@given(st.integers(0, 60), st.floats(0.01, 0.99))
@LAW
def test_share_evidence_and_interval_agree(robust, least):
    """One-sided: shown to be at least what the lower end of twice the error is."""
    local = [decided(True)] * robust + [decided(False)] * (60 - robust)
    low = (clopper_pearson(type("C", (), {"trials": 60, "held": robust})(), 0.1).low - 0.05) / 0.95
    above = RobustShare(0.05).evidence(local, least).above
    if abs(least - low) > 1e-9:
        assert (above <= 0.05) == (least < low)


@pytest.mark.parametrize("over", [Mean(0.1), RobustShare(0.1)])
def test_a_requirement_at_the_truth_is_decided_wrongly_rarely_on_either_side(over, monkeypatch):
    """A mean, and a share, of exactly 0.8: each verdict alone may spend the whole error."""
    no_forecasts(monkeypatch)
    rng, runs, passed, failed = np.random.default_rng(6), 300, 0, 0
    for _ in range(runs):
        if isinstance(over, Mean):
            local = [counted(k) for k in rng.binomial(20, rng.beta(4, 1, 60))]
        else:
            local = [decided(bool(held)) for held in rng.random(60) < 0.8]
        told = requirement(over, local, 0.8)
        passed += isinstance(told, Decision) and told.holds
        failed += isinstance(told, Decision) and not told.holds
    assert max(passed, failed) <= allowed(runs, 0.1)


@pytest.mark.parametrize("p", [np.full(12, 0.7), np.array([0.5, 0.55, 0.6, 0.9]), np.ones(5)])
def test_the_weakest_input_is_missed_rarely_though_it_was_looked_for(p):
    """The interval must hold the probability of the one that was picked; all alike is the edge."""
    rng, runs, error, wrong = np.random.default_rng(4), 400, 0.2, 0
    for _ in range(runs):
        i, around = weakest([counted(k, 50) for k in rng.binomial(50, p)], error)
        wrong += p[i] not in around
    assert wrong <= allowed(runs, error)


def test_the_weakest_is_not_named_where_one_without_a_count_may_be():
    assert weakest([counted(20), Undecided("no", 5)], 0.1) is None
    assert weakest([], 0.1) is None


def extrapolated(value, held, contradicted=False):
    plain = counted(held)
    none = Guarantee(Footing.NONE, 1.0, ("extrapolation",))
    return Extrapolation(value, 1 - value, 2.0, "fit", 0.5, plain, contradicted, none, 20)


def test_a_category_tells_average_variance_number_and_completeness():
    local = [extrapolated(0.9, 18), extrapolated(1.0, 20, True), Undecided("no", 20, counted(2))]
    found = TailMean(0.05).conclude(local, 0.05)
    assert found.value == pytest.approx(0.95)
    assert found.failure == pytest.approx(0.05)
    assert found.variance == pytest.approx(0.005)
    assert (found.fitted, found.inputs, found.contradicted) == (2, 3, 1)
    assert found.completeness == pytest.approx(2 / 3)
    assert found.counted.value == pytest.approx((18 + 20 + 2) / 60)
    assert found.guarantee.footing is Footing.NONE
    assert found.counted == Mean(0.05).conclude([counted(18), counted(20), counted(2)], 0.05)


def test_one_value_has_no_variance_and_none_fitted_is_undecided_with_the_count():
    assert TailMean(0.05).conclude([extrapolated(0.9, 18)], 0.05).variance is None
    nothing = TailMean(0.05).conclude([Undecided("not normal", 20, counted(2))] * 5, 0.05)
    assert isinstance(nothing, Undecided)
    assert nothing.counted.value == pytest.approx(0.1)


def test_every_promise_about_tails_is_about_what_was_counted():
    tails = [extrapolated(1.0, 15)] * 30
    plain = [counted(15)] * 30
    assert TailMean(0.1).difference(tails, tails, 0.1) == Mean(0.1).difference(plain, plain, 0.1)
    assert TailMean(0.1).evidence(tails, 0.9) == Mean(0.1).evidence(plain, 0.9)
    assert TailMean(0.1).studied(tails) == Mean(0.1).studied(plain)
