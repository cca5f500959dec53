"""Differences of models, their ranks, and who may be the best."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from surefoot import population
from surefoot.core.reasons import Why
from surefoot.core.results import Footing, Interval, Undecided
from surefoot.population import Mean, RobustShare, differences, not_worse
from surefoot.population.comparison import _holds
from surefoot.statistics.paired import lower_limit
from tests.promises.local_results import SOUND, allowed, counted, decided
from tests.refusals import refused


@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_the_interval_of_a_paired_difference_covers_it(gap):
    """Two models whose local values go together; 200 seeded samples of 50 inputs."""
    rng, runs, error, misses = np.random.default_rng(5), 200, 0.1, 0
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
    rng, runs, error, misses = np.random.default_rng(8), 150, 0.1, 0
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
    plain = lower_limit(100, 100, 0, 0.025)
    pairwise = RobustShare(0.05).difference(a, b, 0.05)
    assert pairwise.low == pytest.approx((plain - 0.05) / 0.95)
    assert pairwise.high == 1.0


def test_undecided_inputs_widen_a_difference_on_both_sides():
    known = Mean(0.1).difference([counted(10)] * 40, [counted(10)] * 40, 0.1)
    some = [*[counted(10)] * 30, *[Undecided("no", 5)] * 10]
    assert Mean(0.1).difference(some, [counted(10)] * 40, 0.1).low < known.low
    assert Mean(0.1).difference(some, [counted(10)] * 40, 0.1).high > known.high


def test_all_differences_hold_together_and_so_do_the_ranks():
    """Three models, 60 seeded samples: a wrong interval or a wrong place at most at the error."""
    rng, runs, error, wrong = np.random.default_rng(11), 60, 0.1, 0
    truth = {"a": 0.7, "b": 0.7, "c": 0.55}
    for _ in range(runs):
        u = rng.random(60)
        local = {
            name: [counted(k) for k in rng.binomial(20, q + 0.3 * (u - 0.5))]
            for name, q in truth.items()
        }
        pairwise = differences(Mean(error), local, error)
        places = population.ranks(list(truth), pairwise)
        missed = any(truth[d.first] - truth[d.second] not in d.interval for d in pairwise)
        misplaced = places["c"].worst < 3 or (places["c"].best > 3)
        wrong += missed or misplaced
        assert not misplaced or missed
    assert wrong <= allowed(runs, error)


def test_an_undecided_one_has_no_made_up_difference():
    local = {"a": [counted(18)] * 20, "b": [Undecided("no", 5)] * 20}
    (pairwise,) = differences(Mean(0.1), local, 0.1)
    assert pairwise.better is None
    assert pairwise.value == pytest.approx((pairwise.interval.low + pairwise.interval.high) / 2)


def pair(first, second, low, high):
    return population.Difference(first, second, (low + high) / 2, Interval(low, high), SOUND)


def test_ranks_leave_open_what_the_differences_leave_open():
    pairwise = [pair("a", "b", -0.1, 0.1), pair("a", "c", 0.1, 0.2), pair("b", "c", -0.1, 0.3)]
    places = population.ranks(["a", "b", "c"], pairwise)
    assert (places["a"].best, places["a"].worst) == (1, 2)
    assert (places["b"].best, places["b"].worst) == (1, 3)
    assert (places["c"].best, places["c"].worst) == (2, 3)
    assert [d.better for d in pairwise] == [None, "a", None]
    assert pair("a", "b", -0.2, -0.1).better == "b"
    assert pair("a", "b", 0.0, 0.1).better is None


def test_candidates_are_those_that_nobody_is_shown_to_beat():
    names = ["a", "b", "c"]
    pairwise = [pair("a", "b", -0.1, 0.3), pair("a", "c", 0.1, 0.2), pair("b", "c", -0.1, 0.3)]
    assert population.candidates(names, pairwise) == ("a", "b")
    circle = [pair("a", "b", 0.1, 0.2), pair("b", "c", 0.1, 0.2), pair("a", "c", -0.2, -0.1)]
    assert population.candidates(names, circle) == ("a", "b", "c")


def test_the_best_is_among_the_candidates():
    """True order a > c > b, close together: 60 seeded samples, rejected at level .001."""
    rng, runs, error, wrong = np.random.default_rng(3), 60, 0.1, 0
    truth = {"a": 0.9, "b": 0.8, "c": 0.88}
    for _ in range(runs):
        ease = rng.beta(8, 1, 80) * 9 / 8
        local = {
            name: [counted(k) for k in rng.binomial(20, np.minimum(1, q * ease))]
            for name, q in truth.items()
        }
        wrong += "a" not in population.candidates(
            list(truth), differences(Mean(error), local, error)
        )
    assert binom.sf(wrong - 1, runs, error) > 0.001


SAME = [frozenset("ab")]


def test_identical_files_differ_by_exactly_nothing_and_cost_no_error():
    rng = np.random.default_rng(4)
    mine, other = ([counted(k) for k in rng.binomial(20, q, 50)] for q in (0.9, 0.8))
    pairwise = differences(Mean(0.1), {"a": mine, "b": mine, "c": other}, 0.1, SAME)
    assert pairwise[0].interval == Interval(0.0, 0.0)
    assert pairwise[0].guarantee.footing is Footing.SOUND
    assert pairwise[1].interval == Mean(0.1).difference(mine, other, 0.1 / 2)
    (alone,) = differences(Mean(0.1), {"a": mine, "b": mine}, 0.1, SAME)
    assert alone.better is None
    assert not_worse(Mean(0.1), {"a": mine, "b": mine}, "a", 0.0, SAME).holds
    assert isinstance(not_worse(Mean(0.1), {"a": mine, "b": mine}, "a", 0.0), Undecided)


def close(rng, gap, n=80):
    """Two models on the same inputs, the second `gap` more robust."""
    ease = rng.beta(8, 2, n) * 0.9
    return {
        name: [counted(k) for k in rng.binomial(20, ease + plus)]
        for name, plus in (("a", 0.0), ("b", gap))
    }


@pytest.mark.parametrize("others", [1, 3])
def test_not_worse_at_the_margin_is_wrong_rarely(others):
    """Every other one is better by exactly the margin, then a hair more: both outcomes rare."""
    rng, runs, error, margin, kept, beaten = np.random.default_rng(5), 150, 0.1, 0.05, 0, 0
    for _ in range(runs):
        local = close(rng, margin)
        for i in range(1, others):
            local[f"b{i}"] = close(rng, margin)["b"]
        pairwise = _holds(Mean(error), local.pop("a"), local, margin, error)
        kept += pairwise is True
        beaten += pairwise is False
    assert binom.sf(kept - 1, runs, error) > 0.001
    assert binom.sf(beaten - 1, runs, error) > 0.001


def test_not_worse_pays_one_side_at_the_whole_error():
    """Where the two-sided interval of the difference still holds the margin."""
    rng = np.random.default_rng(8)
    local = close(rng, 0.0, 200)
    over = Mean(0.05)
    margin = -over.difference(local["a"], local["b"], 0.1).low + 1e-6
    assert over.difference(local["a"], local["b"], 0.05).low < -margin
    assert not_worse(over, local, "a", margin).holds
    open_ = not_worse(over, local, "a", 0.001).reason
    (forecast,) = open_.parts
    assert open_ == Why.MAY_BE_WORSE.of("a", 0.001, forecast, "b")
    assert forecast.why in (Why.LIKELY_DECIDES, Why.MANY_MAY_DECIDE)
    better = {"a": [counted(10)] * 60, "b": [counted(19)] * 60}
    assert not_worse(over, better, "a", 0.1).holds is False
    assert not_worse(over, better, "b", 0.0).holds
    refused("'c' is not among the models compared", not_worse, over, better, "c", 0.1)


@pytest.mark.parametrize(("inputs", "others", "before"), [(5, 40, 0.7), (20, 8, 0.9)])
def test_not_worse_on_other_inputs_is_wrong_rarely_at_the_margin(inputs, others, before):
    """Exactly: one trial of each input, two independent samples, worse by 0.2."""
    error, wrong = 0.2, {True: 0.0, False: 0.0}
    for k, m in product(range(inputs + 1), range(others + 1)):
        local = [[counted(i < c, 1) for i in range(n)] for c, n in ((k, inputs), (m, others))]
        decision = population.not_worse_of_samples(Mean(error), *local, 0.2)
        if not isinstance(decision, Undecided):
            likely = binom.pmf(k, inputs, before - 0.2) * binom.pmf(m, others, before)
            wrong[decision.holds] += likely
    assert error / 40 < max(wrong.values()) <= error  # here it can go wrong, to either side
