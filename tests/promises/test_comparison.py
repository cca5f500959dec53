"""Differences of models, and what is said of the inputs themselves."""

import math
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.population import (
    Difference,
    Mean,
    RobustShare,
    differences,
    not_worse,
    ranks,
)
from surefoot.results import (
    Decision,
    Estimate,
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


def no_forecasts(monkeypatch):
    """How many inputs would decide what stays open takes long to say, and is no promise."""
    monkeypatch.setattr(sys.modules["surefoot.population.requirement"], "_MOST_FORECAST", 0)


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


@pytest.mark.parametrize("error", [0.05, 0.3])
@pytest.mark.parametrize("p", [(0.9, 0.3), (1.0, 0.98), (0.5, 0.5), (0.02, 0.0)])
def test_inputs_with_unequal_numbers_of_trials_are_covered_exactly(p, error):
    """Every outcome of 3 and of 12 trials: no allowance."""
    sizes, missed = (3, 12), 0.0
    for first, second in product(range(4), range(13)):
        chance = math.prod(
            math.comb(n, k) * q**k * (1 - q) ** (n - k)
            for n, k, q in zip(sizes, (first, second), p, strict=True)
        )
        local = [counted(first, 3), counted(second, 12)]
        missed += chance * (sum(p) / 2 not in Mean(error).studied(local).interval)
    assert missed <= error


def test_nothing_is_said_of_the_inputs_where_an_estimate_is_missing():
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
    [("a", 0.1, True), ("a", 0.0, None), ("c", 0.05, False), ("c", 0.3, True), ("b", 0.0, None)],
)
def test_not_worse_looks_at_every_pair_from_its_own_side(name, margin, outcome):
    """a and b alike, c fails 15 points more often; 200 inputs, one in ten strays."""
    kept = {"a": (18, 16), "b": (18, 17), "c": (15, 15)}
    local = {one: [counted(k) for k in [k, *[most] * 9]] * 20 for one, (most, k) in kept.items()}
    told = not_worse(Mean(0.05), local, name, margin)
    assert (told.holds if isinstance(told, Decision) else None) is outcome


def test_not_worse_is_decided_wrongly_rarely_at_the_margin(monkeypatch):
    """Exactly by the margin behind both others: at the edge of either verdict, 120 samples."""
    no_forecasts(monkeypatch)
    rng, runs, error, passed, failed = np.random.default_rng(21), 120, 0.1, 0, 0
    for _ in range(runs):
        p = 0.2 + 0.6 * rng.random(40)
        local = {
            name: [counted(k) for k in rng.binomial(20, p - gap)]
            for name, gap in (("a", 0.0), ("b", 0.0), ("c", 0.1))
        }
        told = not_worse(Mean(error), local, "c", 0.1)
        passed += isinstance(told, Decision) and told.holds
        failed += isinstance(told, Decision) and not told.holds
    assert max(passed, failed) <= allowed(runs, error)
