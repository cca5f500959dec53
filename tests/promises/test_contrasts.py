"""Many tests, one error; groups that differ and groups that do not."""

import importlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from surefoot.core.reasons import Why
from surefoot.core.results import Undecided
from surefoot.statistics import agreement, contrasts, differing, holm, permutation, shares, welch
from surefoot.statistics.contrasts import MOST_GROUPS, orders_for
from tests.refusals import refused

module = importlib.import_module("surefoot.statistics.contrasts")
LAW = settings(deadline=None, database=None, derandomize=True, max_examples=80)
PS = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@given(PS)
@LAW
def test_holm_is_the_step_down_procedure(ps):
    """The smallest p against error/m, the next against error/(m-1), until one fails."""
    for error in (0.01, 0.05, 0.3):
        decided = [False] * len(ps)
        for rank, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
            if ps[i] * (len(ps) - rank) > error:
                break
            decided[i] = True
        assert [p <= error for p in holm(ps)] == decided


def test_holm_matches_the_worked_example():
    """Holm 1979 as computed by hand: p = .01 .04 .03 .005 gives .03 .06 .06 .02."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


def test_shares_and_holm_refuse_what_is_meaningless():
    refused("", holm, [0.5, 1.2])
    refused("", shares, 0.1, 0)
    assert holm([]) == ()


def test_welch_equals_scipy():
    rng = np.random.default_rng(1)
    for n, m in ((10, 10), (15, 40), (30, 11)):
        a, b = rng.random(n), rng.random(m) * 0.8
        assert welch(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_permutation_agrees_with_every_relabelling():
    """Ten of five: all 252, against ours at random; allowance four standard deviations."""
    rng = np.random.default_rng(3)
    a, b = rng.random(5), rng.random(5) + 0.6

    def t(x, y, axis):
        return np.abs(stats.ttest_ind(x, y, equal_var=False, axis=axis).statistic)

    exact = stats.permutation_test(
        (a, b), t, vectorized=True, n_resamples=np.inf, alternative="greater"
    ).pvalue
    assert exact < 0.05
    ours = np.mean([permutation(a, b, rng) for _ in range(40)])
    assert abs(ours - exact) < 4 * exact / math.sqrt(20 * 40) + 2e-4


SIZES = {
    "one to sixty": (1, 2, 3, 5, 12, 30, 60),
    "few beside many": (2, 3, 60),
    "alike": (12, 12, 12, 12),
}
VALUES = {
    "skewed": lambda rng, n: rng.beta(5, 1, n),
    "mostly one": lambda rng, n: np.where(rng.random(n) < 0.8, 1.0, rng.random(n)),
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("sizes", SIZES)
def test_equal_classes_are_told_apart_rarely(sizes, values):
    """All classes alike: 100 seeded samples, error .1 about any pair; rejected at level .001."""
    rng, runs, error, wrong = np.random.default_rng(7), 100, 0.1, np.zeros(2)
    for _ in range(runs):
        groups = {str(i): VALUES[values](rng, n) for i, n in enumerate(SIZES[sizes])}
        compared = contrasts(groups, rng, error)
        by_welch = any(c.welch is not None and c.welch <= error for c in compared)
        wrong += [len(differing(compared, error)) > 0, by_welch]
    assert stats.binom.sf(wrong[0] - 1, runs, error) > 0.001
    assert wrong[1] <= 2 * runs * error, "Welch's is approximate"


@pytest.mark.parametrize(
    ("sizes", "level"),
    [((2, 5), 0.1), ((3, 3), 0.5), ((2, 60), 0.02), ((2, 60), 0.1), ((20, 30), 0.02),
     ((20, 30), 0.5)],
)  # fmt: skip
def test_the_permutation_test_keeps_its_level(sizes, level):
    """Also where it ended early: 200 seeded samples of one pair; rejected at level .001."""
    rng, runs = np.random.default_rng(5), 200
    wrong = sum(
        permutation(rng.beta(2, 1, sizes[0]), rng.beta(2, 1, sizes[1]), rng, 999) <= level
        for _ in range(runs)
    )
    assert stats.binom.sf(wrong - 1, runs, level) > 0.001


@pytest.mark.parametrize("level", [0.1, 0.5])
def test_the_permutation_test_of_large_groups_keeps_its_level(monkeypatch, level):
    """Blocks of four values move together, and two values stay: 200 seeded samples of one pair."""
    monkeypatch.setattr(module, "_FEWEST_BLOCKS", 5)
    rng, runs = np.random.default_rng(5), 200
    wrong = sum(
        permutation(rng.beta(2, 1, 20), rng.beta(2, 1, 30), rng, 999) <= level for _ in range(runs)
    )
    assert stats.binom.sf(wrong - 1, runs, level) > 0.001


def test_the_permutation_test_of_large_groups_agrees_with_welchs():
    """3,000 values, whose means are nearly normal; allowance four standard deviations and 10 %."""
    rng = np.random.default_rng(2)
    a, b = rng.beta(2, 1, 1500), rng.beta(2, 1, 1500)
    a += b.mean() - a.mean() + 2.2 * math.sqrt((a.var() + b.var()) / 1500)
    ours = np.mean([permutation(a, b, rng, 2_000) for _ in range(10)])
    assert ours == pytest.approx(welch(a, b), rel=0.1 + 4 / math.sqrt(20 * 10))


def test_fifteen_classes_can_be_told_apart():
    """105 pairs: the adjusted p-value of every pair can reach a fifth of the error."""
    rng = np.random.default_rng(7)
    compared = contrasts({str(i): i + rng.random(12) for i in range(15)}, rng, 0.05)
    assert len(differing(compared, 0.05)) == len(compared) == 105
    assert max(c.permutation for c in compared) <= 0.05 / 5


def test_welch_is_left_blank_where_it_has_nothing_to_rest_on():
    rng = np.random.default_rng(7)
    groups = {"few": rng.random(9), "some": rng.random(10), "more": rng.random(30)}
    compared = {(c.first, c.second): c.welch for c in contrasts(groups, rng, 0.05)}
    assert compared[("few", "some")] is None
    assert compared[("few", "more")] is None
    expected = stats.ttest_ind(groups["some"], groups["more"], equal_var=False).pvalue
    assert compared[("some", "more")] == pytest.approx(expected), "adjusted for one test alone"


def test_different_groups_are_told_apart():
    rng = np.random.default_rng(7)
    compared = contrasts(
        {"low": rng.random(30) * 0.5, "high": 0.5 + rng.random(30) * 0.5}, rng, 0.05
    )
    assert compared[0].first == "low"
    assert compared[0].difference < -0.3
    assert max(compared[0].welch, compared[0].permutation) < 0.01


def test_values_that_do_not_vary_have_no_t_but_still_an_order():
    rng = np.random.default_rng(1)
    compared = contrasts({"a": np.ones(20), "b": np.ones(20), "c": np.full(20, 0.7)}, rng, 0.05)
    assert [c.welch for c in compared] == [None, None, None]
    assert compared[0].permutation == 1.0
    assert compared[1].permutation < 0.01


def test_groups_of_one_are_left_out_and_too_many_refused():
    rng = np.random.default_rng(1)
    assert contrasts({"a": np.ones(1), "b": np.ones(5)}, rng, 0.05) == ()
    refused("at most", contrasts, {str(i): np.ones(2) for i in range(MOST_GROUPS + 1)}, rng, 0.05)


def test_enough_relabellings_are_drawn_for_an_adjusted_p_value_far_below_the_error():
    for pairs in (1, 45, 105, 190):
        for error in (0.05, 0.01):
            assert pairs / (1 + orders_for(pairs, error)) <= error / 5


def test_agreement_equals_scipy_and_counts_reorderings():
    ours, reference = [0.9, 0.8, 0.7, 0.75, 0.2], [0.95, 0.7, 0.72, 0.6, 0.1]
    compared = agreement(ours, reference, 0.05)
    theirs = stats.pearsonr(ours, reference)
    assert compared.pearson == pytest.approx(theirs.statistic)
    assert compared.pearson_interval.low == pytest.approx(theirs.confidence_interval(0.95).low)
    assert compared.spearman == pytest.approx(stats.spearmanr(ours, reference).statistic)
    perfect = agreement([1, 2, 3, 4], [2, 4, 6, 8], 0.05)
    assert perfect.spearman_p == pytest.approx(2 / 24)
    assert perfect.pearson_p == pytest.approx(2 / 24)


def test_agreement_owns_up_to_too_little():
    assert agreement([1, 2], [1, 2], 0.05).reason == Why.FEW_MODELS.of(2)
    assert isinstance(agreement([1, 1, 1], [1, 2, 3], 0.05), Undecided)
    three = agreement([1, 2, 3], [1, 2, 4], 0.05)
    assert (three.pearson_interval.low, three.pearson_interval.high) == (-1, 1)
    refused("one for each", agreement, [1, 2, 3], [1, 2], 0.05)
    refused("finite", agreement, [1, 2, 3], [1, 2, math.nan], 0.05)


def test_a_binomial_test_of_all_trials_calls_classes_different_that_are_alike():
    """Why RoMA's binomial test is not offered: trials of one input are no sample of its class.

    30 inputs of 1,000 trials in each of two classes, failure probabilities from one distribution.
    """
    rng, runs = np.random.default_rng(5), 40
    rejected = 0
    for _ in range(runs):
        a, b = (int(rng.binomial(1000, rng.beta(1, 4, 30) / 2).sum()) for _ in range(2))
        rejected += stats.fisher_exact([[a, 30_000 - a], [b, 30_000 - b]])[1] <= 0.05
    assert rejected > runs / 2
