"""Coverage of the interval for a mean of bounded values, and of the mean over a population."""

import math

import numpy as np
import pytest

from surefoot.evidence import Counts
from surefoot.population import Mean, RobustShare, all_robust, requirement
from surefoot.results import Decision, Estimate, Footing, Guarantee, Interval, Undecided
from surefoot.statistics import betting, clopper_pearson

WORLDS = {
    "mostly one": (lambda rng, n: np.where(rng.random(n) < 0.85, 1.0, rng.random(n)), 0.925),
    "rare zeros": (lambda rng, n: (rng.random(n) < 0.97).astype(float), 0.97),
    "coins": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5),
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "constant": (lambda rng, n: np.full(n, 0.3), 0.3),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [1, 5, 40, 300])
def test_betting_covers_the_mean(world, n):
    """Seeded; allowance: four standard deviations over 600 samples at error 0.1."""
    draw, truth = WORLDS[world]
    rng, runs, error = np.random.default_rng(3), 600, 0.1
    misses = sum(truth not in betting(draw(rng, n), error) for _ in range(runs))
    assert misses <= runs * error + 4 * math.sqrt(runs * error * (1 - error))


@pytest.mark.parametrize("error", [0.05, 0.2])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.8, 0.99])
def test_betting_covers_exactly_however_often_one_looks(error, p):
    """Coins until the interval first misses, by the number of ones: an interval for each length."""
    still, missed = np.ones(1), 0.0  # probability of so many ones, no look so far having missed
    for n in range(1, 61):
        still = np.append(still * (1 - p), 0.0) + np.append(0.0, still * p)
        for ones in np.flatnonzero(still):
            if p not in betting(np.repeat([1.0, 0.0], [ones, n - ones]), error):
                missed += still[ones]
                still[ones] = 0.0
    assert missed <= error


def log_capital(x, m, error):
    """The log capital of the bets that the mean exceeds m, value by value as they are written."""
    sizes = [2.0**k for k in range(2, 17)]
    parts = [0.8**k for k in range(15)]
    wealth = [0.25, *(0.75 * part / sum(parts) for part in parts)]
    best = [math.sqrt(2 * math.log(2 / error) / (n * m * (1 - m))) for n in sizes]
    stakes = [1 / m, *(min(1 / m, stake) for stake in best)]
    for value in x:
        wealth = [w * (1 + s * (value - m)) for w, s in zip(wealth, stakes, strict=True)]
    return math.log(sum(wealth))


@pytest.mark.parametrize("error", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("n", [15, 40, 200])
def test_betting_ends_where_the_capital_reaches_two_over_the_error(n, error):
    for values in (np.random.default_rng(n).beta(3, 1, n), np.arange(n) % 2 * 0.9 + 0.05):
        ends = betting(values, error)
        assert log_capital(values, ends.low, error) == pytest.approx(math.log(2 / error), abs=1e-8)
        mirrored = log_capital(1 - values, 1 - ends.high, error)
        assert mirrored == pytest.approx(math.log(2 / error), abs=1e-8)


def test_betting_narrows_with_more_values():
    rng = np.random.default_rng(1)
    widths = [betting(rng.random(n), 0.05).width for n in (10, 100, 1000)]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_betting_on_no_values_says_nothing():
    assert betting(np.zeros(0), 0.05) == Interval(0.0, 1.0)


def estimate(value, unbiased=True, error=0.01):
    around = Interval(max(0, value - 0.1), min(1, value + 0.1))
    exact = value if unbiased else None
    return Estimate(value, around, Guarantee(Footing.SOUND, error), 10, exact)


def test_the_mean_spends_its_error_once_and_says_so():
    values = np.random.default_rng(0).beta(3, 1, 30)
    found = Mean(0.1).conclude([estimate(v) for v in values.tolist()], 0.03)
    assert found.interval == betting(values, 0.03)
    assert (found.guarantee.footing, found.guarantee.error) == (Footing.CONDITIONAL, 0.03)


def test_the_mean_covers_the_population_when_local_values_are_themselves_estimates():
    """Local values are k/n of a random p each: the interval must hold the mean of p."""
    rng, runs, error, misses = np.random.default_rng(9), 400, 0.1, 0
    for _ in range(runs):
        p = rng.beta(4, 1, 60)
        local = [estimate(k / 20) for k in rng.binomial(20, p)]
        found = Mean(error).conclude(local, error)
        misses += 0.8 not in found.interval
    assert misses <= runs * error + 4 * math.sqrt(runs * error * (1 - error))


def test_an_estimate_that_may_be_biased_enters_with_its_ends_and_its_error():
    a = Mean(0.1).conclude([estimate(0.4)] * 50, 0.1)
    b = Mean(0.1).conclude([estimate(0.5, unbiased=False)] * 50, 0.1)
    assert b.interval.low == pytest.approx(a.interval.low - 0.01)
    assert b.interval.high == pytest.approx(1 - b.interval.low)
    mixed = [estimate(0.5, unbiased=False)] * 49 + [estimate(0.5, unbiased=False, error=0.05)]
    c = Mean(0.1).conclude(mixed, 0.1)
    assert c.interval.low == pytest.approx(a.interval.low - 0.05), "the largest error counts"
    assert c.interval.high == pytest.approx(1 - c.interval.low)


def test_undecided_inputs_count_against_both_ends():
    known = [estimate(0.9)] * 40
    whole = Mean(0.1).conclude(known, 0.1)
    partial = Mean(0.1).conclude([*[Undecided("no", 5)] * 10, *known], 0.1)
    assert partial.interval.low < whole.interval.low
    assert partial.interval.high > whole.interval.high
    assert partial.interval.low == betting(np.array([0.0] * 10 + [0.9] * 40), 0.1).low
    assert partial.interval.high == betting(np.array([1.0] * 10 + [0.9] * 40), 0.1).high
    assert "10 of 50 inputs were undecided" in partial.guarantee.condition
    assert partial.trials == 450


def test_no_estimate_at_all_is_undecided():
    assert isinstance(Mean(0.1).conclude([Undecided("no", 5)], 0.1), Undecided)


def test_a_requirement_holds_is_refuted_or_stays_undecided():
    """One-sided: it is met up to the lower end of an interval of twice the error."""
    over, local = Mean(0.01), [estimate(v) for v in [0.85, 0.95] * 30]
    within = over.conclude(local, 0.02).interval
    met = requirement(over, local, within.low - 1e-6)
    assert (met.claim.split(" is ")[0], met.holds, met.trials) == ("the mean robustness", True, 600)
    assert met.guarantee == over.conclude(local, 0.01).guarantee
    assert requirement(over, local, within.high + 1e-6).holds is False
    for least in (within.low + 1e-6, 0.9, within.high - 1e-6):
        assert "either side" in requirement(over, local, least).reason


def decision(holds, p_value=0.01, error=0.05):
    return Decision("p is at most 0.1", holds, Guarantee(Footing.SOUND, error), 10, 9, p_value)


def test_the_robust_share_corrects_for_wrong_decisions():
    """(P(w) - a)/(1 - a) and P(w)/(1 - a), with Clopper-Pearson ends for P(w)."""
    local = [decision(True)] * 80 + [decision(False)] * 20
    found = RobustShare(0.05).conclude(local, 0.05)
    exact = clopper_pearson(Counts(100, 80), 0.05)
    assert found.value == 0.8
    assert found.interval.low == pytest.approx((exact.low - 0.05) / 0.95)
    assert found.interval.high == pytest.approx(exact.high / 0.95)
    assert (found.guarantee.footing, found.guarantee.error) == (Footing.CONDITIONAL, 0.05)
    worse = RobustShare(0.05).conclude([*local[1:], decision(True, error=0.1)], 0.05)
    assert worse.interval.low == pytest.approx((exact.low - 0.1) / 0.9), "the largest error counts"


def test_undecided_inputs_are_declared_neither():
    local = [decision(True)] * 60 + [decision(False)] * 20 + [Undecided("no", 10)] * 20
    found = RobustShare(0.05).conclude(local, 0.05)
    assert found.interval.low == pytest.approx(
        (clopper_pearson(Counts(100, 60), 0.05).low - 0.05) / 0.95
    )
    assert found.interval.high == pytest.approx(clopper_pearson(Counts(100, 80), 0.05).high / 0.95)
    assert "20 of 100 inputs were undecided" in found.guarantee.condition
    assert isinstance(RobustShare(0.05).conclude([Undecided("no", 10)], 0.05), Undecided)


@pytest.mark.parametrize("truth", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("wrong", [0.0, 0.05])
def test_the_robust_share_covers_the_truth_when_decisions_err(truth, wrong):
    """Seeded; allowance: four standard deviations over 600 populations at error 0.1."""
    rng, runs, error, missed = np.random.default_rng(4), 600, 0.1, 0
    for _ in range(runs):
        robust = rng.random(80) < truth
        flipped = rng.random(80) < wrong
        local = [decision(bool(r) != bool(f)) for r, f in zip(robust, flipped, strict=True)]
        missed += truth not in RobustShare(error).conclude(local, error).interval
    assert missed <= runs * error + 4 * math.sqrt(runs * error * (1 - error))


def test_all_inputs_are_robust_only_if_every_one_was_declared_so():
    held = all_robust([decision(True)] * 4 + [decision(True, error=0.1)])
    assert held.holds
    assert held.guarantee == Guarantee(Footing.SOUND, 0.1)
    assert isinstance(all_robust([decision(True)] * 5 + [Undecided("no", 3)]), Undecided)
    assert isinstance(all_robust([Undecided("no", 3)]), Undecided)


def test_one_fragile_input_refutes_if_its_evidence_survives_the_search():
    weak = [decision(True)] * 9 + [decision(False, p_value=0.0043)]
    strong = [decision(True)] * 9 + [decision(False, p_value=0.0042)]
    assert isinstance(all_robust(weak), Undecided)
    assert all_robust(strong).holds is False
