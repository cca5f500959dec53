"""Coverage of the mean and of the robust share over a population."""

import numpy as np
import pytest
from scipy.stats import binom

from surefoot.core.claims import Continues, Sampling
from surefoot.core.counts import Counts
from surefoot.core.results import UNIT, Estimate, Footing, Guarantee, Interval, Undecided
from surefoot.population import Mean, RobustShare, all_robust
from surefoot.statistics import clopper_pearson
from tests.in_words import condition
from tests.promises.local_results import SOUND, bets, decided

STRATA = {
    "none and all": (0.0, 1.0),
    "far apart": (0.0, 0.0, 1.0, 1.0, 0.5),
    "one weak": (1.0, 1.0, 1.0, 1.0, 0.0),
    "alike": (0.7, 0.7, 0.7),
    "one doubtful": (0.9, 1.0, 1.0, 1.0),
}


@pytest.mark.parametrize("trials", [1, 4])
@pytest.mark.parametrize("quota", [1, 3, 20])
@pytest.mark.parametrize("world", STRATA)
def test_a_sample_stratified_by_class_keeps_the_promise(world, quota, trials):
    """Each input of class c holds with the class's probability: exactly, by convolution.

    With one trial an input this is Clopper-Pearson, else the bets; both see only the sum of held
    trials if each input's are spread evenly, so the worst spread, all or none, is summed.
    """
    means, error, over = STRATA[world], 0.05, Mean(0.05, Sampling.STRATIFIED)
    sums = np.ones(1)
    for p in means:
        sums = np.convolve(sums, binom.pmf(np.arange(quota + 1), quota, p))
    n, missed = quota * len(means), 0.0
    for kept, chance in enumerate(sums):
        if chance > 0:
            local = [Estimate(1.0, UNIT, SOUND, trials, 1.0, trials)] * kept
            local += [Estimate(0.0, UNIT, SOUND, trials, 0.0, trials)] * (n - kept)
            missed += chance * (np.mean(means) not in over.conclude(local, error).interval)
    assert missed <= error


def test_the_sampling_is_named_in_the_assumption():
    local = [estimate(0.9)] * 10
    independent, stratified, grouped = (
        condition(Mean(0.05, sampling).conclude(local, 0.05).guarantee) for sampling in Sampling
    )
    assert "independent random sample of the population" in independent
    assert "classes in equal shares" in stratified
    assert "these 10 groups are an independent random sample of groups" in grouped


@pytest.mark.parametrize("n", [1, 2, 30])
def test_one_trial_an_input_is_counted_exactly_and_read_once(n):
    once = [Estimate(1.0, UNIT, SOUND, 1, 1.0, 1)] * n
    result = Mean(0.05).conclude(once, 0.05)
    assert result.interval.low == pytest.approx(0.025 ** (1 / n))
    assert Mean(0.05).continues is Continues.LADDER
    assert Mean(0.05, anytime=True).continues is Continues.ANYTIME


def estimate(value, unbiased=True, error=0.01):
    around = Interval(max(0, value - 0.1), min(1, value + 0.1))
    exact = value if unbiased else None
    return Estimate(value, around, Guarantee(Footing.SOUND, error), 10, exact)


def test_the_mean_spends_its_error_once_and_says_so():
    values = np.random.default_rng(0).beta(3, 1, 30)
    over = Mean(0.1, anytime=True)
    result = over.conclude([estimate(v) for v in values.tolist()], 0.03)
    assert result.interval == bets(values, 0.03)
    assert (result.guarantee.footing, result.guarantee.error) == (Footing.CONDITIONAL, 0.03)


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
    over = Mean(0.1, anytime=True)
    whole = over.conclude(known, 0.1)
    partial = over.conclude([*[Undecided("no", 5)] * 10, *known], 0.1)
    assert partial.interval.low < whole.interval.low
    assert partial.interval.high > whole.interval.high
    assert partial.interval.low == bets(np.array([0.0] * 10 + [0.9] * 40), 0.1).low
    assert partial.interval.high == bets(np.array([1.0] * 10 + [0.9] * 40), 0.1).high
    assert partial.trials == 450


def test_no_estimate_at_all_is_undecided():
    assert isinstance(Mean(0.1).conclude([Undecided("no", 5)], 0.1), Undecided)


def test_the_robust_share_corrects_for_wrong_decisions():
    """(P(w) - a)/(1 - a) and P(w)/(1 - a), with Clopper-Pearson ends for P(w)."""
    local = [decided(True)] * 80 + [decided(False)] * 20
    result = RobustShare(0.05).conclude(local, 0.05)
    exact = clopper_pearson(Counts(100, 80), 0.05)
    assert result.value == 0.8
    assert result.interval.low == pytest.approx((exact.low - 0.05) / 0.95)
    assert result.interval.high == pytest.approx(exact.high / 0.95)
    assert (result.guarantee.footing, result.guarantee.error) == (Footing.CONDITIONAL, 0.05)
    worse = RobustShare(0.05).conclude([*local[1:], decided(True, error=0.1)], 0.05)
    assert worse.interval.low == pytest.approx((exact.low - 0.1) / 0.9), "the largest error counts"


def test_undecided_inputs_are_declared_neither():
    local = [decided(True)] * 60 + [decided(False)] * 20 + [Undecided("no", 10)] * 20
    result = RobustShare(0.05).conclude(local, 0.05)
    assert result.interval.low == pytest.approx(
        (clopper_pearson(Counts(100, 60), 0.05).low - 0.05) / 0.95
    )
    assert result.interval.high == pytest.approx(clopper_pearson(Counts(100, 80), 0.05).high / 0.95)
    assert isinstance(RobustShare(0.05).conclude([Undecided("no", 10)], 0.05), Undecided)


def test_all_inputs_are_robust_only_if_every_one_was_declared_so():
    kept = all_robust([decided(True)] * 4 + [decided(True, error=0.1)])
    assert kept.holds
    assert kept.guarantee == Guarantee(Footing.SOUND, 0.1)
    assert isinstance(all_robust([decided(True)] * 5 + [Undecided("no", 3)]), Undecided)
    assert isinstance(all_robust([Undecided("no", 3)]), Undecided)


def test_one_fragile_input_refutes_if_its_evidence_survives_the_search():
    weak = [decided(True)] * 9 + [decided(False, p_value=1.6e-6)]
    strong = [decided(True)] * 9 + [decided(False, p_value=1.5e-6)]
    assert isinstance(all_robust(weak), Undecided)
    assert all_robust(strong).holds is False
