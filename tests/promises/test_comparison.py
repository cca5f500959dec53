"""Differences, requirements of each class, and what is said of the inputs themselves."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.errors import InvalidArgument
from surefoot.population import (
    Difference,
    Mean,
    RobustShare,
    TailMean,
    differences,
    not_worse,
    ranks,
    requirement,
    requirement_of_each,
)
from surefoot.results import (
    Decision,
    Estimate,
    Extrapolation,
    Footing,
    Guarantee,
    Interval,
    Undecided,
)
from surefoot.statistics import betting, clopper_pearson
from surefoot.statistics.intervals import p_value_above

LAW = settings(deadline=None, database=None, derandomize=True, max_examples=60)
SOUND = Guarantee(Footing.SOUND, 0.05)


def allowed(runs, error):
    """Four standard deviations above the promise."""
    return runs * error + 4 * math.sqrt(runs * error * (1 - error))


def counted(held, n=20):
    rate = held / n
    around = Interval(max(0, rate - 0.2), min(1, rate + 0.2))
    return Estimate(rate, around, SOUND, n, rate, n)


def decided(holds):
    return Decision("p is at most 0.1", holds, SOUND, 10, 9, 0.01)


@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_the_interval_of_a_paired_difference_covers_it(gap):
    """Two models whose local values go together; 400 seeded samples of 50 inputs."""
    rng, runs, error, misses = np.random.default_rng(5), 400, 0.1, 0
    for _ in range(runs):
        p = rng.beta(5, 2, 50)
        a = [counted(k) for k in rng.binomial(20, p)]
        b = [counted(k) for k in rng.binomial(20, p * (1 - gap))]
        misses += gap * 5 / 7 not in Mean(error).difference(a, b, error)
    assert misses <= allowed(runs, error)


def test_pairing_pays():
    """The inputs differ much, the models little: the paired interval is far narrower."""
    rng = np.random.default_rng(1)
    p = rng.random(400)
    a = [counted(k, 400) for k in rng.binomial(400, p)]
    b = [counted(k, 400) for k in rng.binomial(400, np.clip(p - 0.05, 0, 1))]
    paired = Mean(0.05).difference(a, b, 0.05)
    apart = [Mean(0.05).conclude(local, 0.05).interval.width for local in (a, b)]
    assert paired.width < 0.5 * sum(apart)
    assert paired.low > 0


def test_the_difference_of_robust_shares_covers_it_when_decisions_err_at_full_rate():
    """a = 0.05 wrong on either side, against us: of 0.6 and 0.5 robust."""
    rng, runs, error, misses = np.random.default_rng(8), 300, 0.1, 0
    for _ in range(runs):
        u = rng.random(80)
        first, second = u < 0.6, u < 0.5
        a = [decided(bool(r) ^ bool(rng.random() < 0.05 and not r)) for r in first]
        b = [decided(bool(r) ^ bool(rng.random() < 0.05 and r)) for r in second]
        misses += 0.1 not in RobustShare(error).difference(a, b, error)
    assert misses <= allowed(runs, error)


def test_a_difference_of_shares_is_corrected_for_wrong_decisions():
    a = [decided(True)] * 100
    b = [decided(False)] * 100
    plain = 2 * betting(np.ones(100), 0.05).low - 1
    found = RobustShare(0.05).difference(a, b, 0.05)
    assert found.low == pytest.approx((plain - 0.05) / 0.95)
    assert found.high == 1.0


def test_undecided_inputs_widen_a_difference_on_both_sides():
    known = Mean(0.1).difference([counted(10)] * 40, [counted(10)] * 40, 0.1)
    some = [*[counted(10)] * 30, *[Undecided("no", 5)] * 10]
    assert Mean(0.1).difference(some, [counted(10)] * 40, 0.1).low < known.low
    assert Mean(0.1).difference(some, [counted(10)] * 40, 0.1).high > known.high


@pytest.mark.parametrize("m", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("level", [0.02, 0.1, 0.4])
def test_the_p_value_of_a_mean_is_valid_at_every_level_exactly(m, level):
    """All 2^10 sequences of coins whose mean is exactly m; bets are made for another error."""
    n, wrong = 10, 0.0
    for bits in product((0.0, 1.0), repeat=n):
        x = np.array(bits)
        ones = x.sum()
        wrong += m**ones * (1 - m) ** (n - ones) * (p_value_above(x, m, 0.05) <= level)
    assert wrong <= level


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.sampled_from([0.01, 0.1]))
@LAW
def test_p_value_and_interval_agree(values, error):
    """The mean is shown to exceed m exactly where m lies below the interval."""
    x = np.array(values)
    low = betting(x, 2 * error).low
    if low > 1e-9:
        assert p_value_above(x, low * (1 - 1e-9), error) <= error * (1 + 1e-6)
    assert p_value_above(x, min(1.0, low + 1e-9), error) >= error * (1 - 1e-6)


SETS = {
    "alike": np.full(6, 0.7),
    "apart": np.array([0.05, 0.95, 0.5, 1.0, 0.0, 0.3]),
    "one may fail": np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.99]),
    "one may hold": np.array([0.0, 0.0, 0.0, 0.0, 0.02, 0.0]),
    "nearly sure": np.full(6, 0.999),
}


@pytest.mark.parametrize("error", [0.05, 0.3])
@pytest.mark.parametrize("name", SETS)
def test_the_mean_of_the_inputs_themselves_is_covered_exactly(name, error):
    """Every outcome of 4 trials on each of 6 inputs, by convolution: no allowance."""
    p, n = SETS[name], 4
    sums = np.ones(1)
    for q in p:
        sums = np.convolve(
            sums, [math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)]
        )
    missed = 0.0
    for total, chance in enumerate(sums):
        spread = [counted(total // 6 + (i < total % 6), n) for i in range(6)]
        missed += chance * (p.mean() not in Mean(error).studied(spread).interval)
    assert missed <= error


def test_single_failures_need_the_lowered_error():
    """Clopper-Pearson at the full error misses too often when one input alone can fail."""
    error, n = 0.3, 24
    q = 1 - error / 2 * 1.02
    bound = clopper_pearson(type("C", (), {"trials": n, "held": n - 1})(), error).high
    assert bound < 1 - (1 - q) / n
    found = Mean(error).studied([*[counted(4, 4)] * 5, counted(3, 4)])
    assert found.interval.high > bound


def test_nothing_is_said_of_the_inputs_where_trials_differ_or_are_missing():
    assert Mean(0.1).studied([counted(4, 4), counted(4, 5)]) is None
    assert Mean(0.1).studied([counted(4, 4), Undecided("no", 5)]) is None
    assert RobustShare(0.1).studied([decided(True)]) is None


def test_all_differences_hold_together_and_so_do_the_ranks():
    """Three models, 100 seeded samples: a wrong interval or a wrong place at most at the error."""
    rng, runs, error, wrong = np.random.default_rng(11), 100, 0.1, 0
    truth = {"a": 0.7, "b": 0.7, "c": 0.55}
    for _ in range(runs):
        u = rng.random(60)
        local = {
            name: [counted(k) for k in rng.binomial(20, q + 0.3 * (u - 0.5))]
            for name, q in truth.items()
        }
        found = differences(Mean(error), local, error)
        places = ranks(list(truth), found)
        missed = any(truth[d.first] - truth[d.second] not in d.interval for d in found)
        misplaced = places["c"].worst < 3 or (places["c"].best > 3)
        wrong += missed or misplaced
        assert not misplaced or missed
    assert wrong <= allowed(runs, error)


def test_an_undecided_one_has_no_made_up_difference():
    local = {"a": [counted(18)] * 20, "b": [Undecided("no", 5)] * 20}
    (found,) = differences(Mean(0.1), local, 0.1)
    assert found.better is None
    assert found.value == pytest.approx((found.interval.low + found.interval.high) / 2)


def pair(first, second, low, high):
    return Difference(first, second, (low + high) / 2, Interval(low, high), SOUND)


def test_ranks_leave_open_what_the_differences_leave_open():
    found = [pair("a", "b", -0.1, 0.1), pair("a", "c", 0.1, 0.2), pair("b", "c", -0.1, 0.3)]
    places = ranks(["a", "b", "c"], found)
    assert (places["a"].best, places["a"].worst) == (1, 2)
    assert (places["b"].best, places["b"].worst) == (1, 3)
    assert (places["c"].best, places["c"].worst) == (2, 3)
    assert [d.better for d in found] == [None, "a", None]
    assert pair("a", "b", -0.2, -0.1).better == "b"
    assert pair("a", "b", 0.0, 0.1).better is None


@pytest.mark.parametrize(
    ("name", "margin", "outcome"),
    [("a", 0.1, True), ("a", 0.05, None), ("c", 0.05, False), ("c", 0.2, True), ("b", 0.0, None)],
)
def test_not_worse_looks_at_every_pair_from_its_own_side(name, margin, outcome):
    found = [pair("a", "b", -0.1, 0.1), pair("a", "c", 0.1, 0.2), pair("b", "c", -0.1, 0.2)]
    told = not_worse(name, found, margin)
    assert (told.holds if isinstance(told, Decision) else None) is outcome


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
    assert "random sample" in found.together.guarantee.assumption
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


def test_the_strongest_claims_are_met_and_no_stronger_one_is():
    local = [counted(20)] * 49 + [counted(15)]
    whole = Mean(0.05).conclude(local, 0.05)
    of_all, of_each = Mean(0.05).strongest(local, whole)
    least = float(of_all.claim.rsplit(" ", 1)[1])
    assert requirement(whole, least, "x").holds
    assert not isinstance(requirement(whole, least + 1e-4, "x"), Decision)
    assert of_each.claim == "every input studied holds with probability at least 0.55"


def test_the_weakest_input_is_claimed_too_strong_rarely():
    """The least of the lower ends exceeds the least probability: exact at each input's error."""
    rng, runs, wrong = np.random.default_rng(4), 400, 0
    p = np.array([0.5, 0.55, 0.6, 0.9])
    for _ in range(runs):
        local = []
        for k in rng.binomial(50, p):
            exact = clopper_pearson(type("C", (), {"trials": 50, "held": k})(), 0.2)
            local.append(Estimate(k / 50, exact, Guarantee(Footing.SOUND, 0.2), 50, k / 50, 50))
        claim = Mean(0.2).strongest(local, Undecided("no"))[-1].claim
        wrong += float(claim.rsplit(" ", 1)[1]) > 0.5
    assert wrong <= allowed(runs, 0.2)


def extrapolated(value, held, contradicted=False):
    plain = counted(held)
    none = Guarantee(Footing.NONE, 1.0, "extrapolation")
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
