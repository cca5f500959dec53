"""How many inputs are robust: of these, and of the population. Exactly where it can be."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from surefoot.core.counts import Counts
from surefoot.core.results import Decision, Footing, Guarantee, Undecided
from surefoot.population import RobustShare, all_robust, fragile_at_least, robust_at_least
from surefoot.population.family import KappaFamily
from surefoot.population.share import refutation_limits
from surefoot.statistics import KappaTest, clopper_pearson
from surefoot.statistics.kappa import clean_trials
from surefoot.statistics.planning import simulate, simulate_all

OPEN = Undecided("no", 10)


def decision(holds, p_value=0.05, error=0.05):
    return Decision("p is at most 0.1", holds, Guarantee(Footing.SOUND, error), 10, 9, p_value)


def decisions(robust, fragile, undecided=0, error=0.05):
    """Declarations with no more evidence than they need."""
    decided = [decision(holds, error, error) for holds in [True] * robust + [False] * fragile]
    return [*decided, *[OPEN] * undecided]


def most_allowed(runs, error):
    """More false claims than this reject the promise at level .001, one-sided."""
    return int(binom.isf(0.001, runs, error))


@pytest.mark.parametrize(("a", "error"), [(0.05, 0.05), (0.01, 0.05), (0.2, 0.2), (0.1, 0.01)])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 100])
def test_refuting_spends_its_error_and_no_more_exactly(n, a, error):
    """The number by its binomial tail, the sum of e-values by its mean."""
    limits = refutation_limits(n, a, error)
    spent = binom.sf(limits.number - 1, n, a) + n / limits.total
    assert spent <= error * (1 + 1e-9)
    assert spent >= 0.5 * min(error, 1 - (1 - a) ** n)


def test_a_hundred_inputs_at_twice_kappa_are_refuted_every_time():
    rng, test = np.random.default_rng(3), KappaTest(0.01, 0.05, max_trials=10_000)
    for _ in range(10):
        local = [simulate(test, 0.98, rng)[0] for _ in range(100)]
        assert all_robust(local).holds is False
        assert fragile_at_least(local, 0.05) > 90


@pytest.mark.parametrize("n", [1, 2, 10, 100])
def test_robust_inputs_are_refuted_rarely_when_decisions_err_at_full_rate(n):
    """Seeded, 1,000 runs: uniform p-values, declared fragile where they are at most the error."""
    rng, runs, error, wrong = np.random.default_rng(n), 1000, 0.05, 0
    for p_values in rng.random((runs, n)):
        local = [decision(False, p) if p <= error else decision(True) for p in p_values]
        result = all_robust(local)
        wrong += isinstance(result, Decision) and not result.holds
    assert wrong <= most_allowed(runs, error)


FRAGILE_ONES = {
    "strong": lambda rng, m: [decision(False, 1e-9)] * m,
    "weak": lambda rng, m: decisions(0, m),
    "robust": lambda rng, m: decisions(m, 0),
    "undecided": lambda rng, m: [OPEN] * m,
    "mixed": lambda rng, m: [decision(False, p) if p < 0.05 else OPEN for p in 0.1 * rng.random(m)],
}


@pytest.mark.parametrize("kind", FRAGILE_ONES)
@pytest.mark.parametrize("truly", [0, 1, 5])
def test_too_many_are_counted_rarely_whatever_is_declared_of_the_fragile_ones(kind, truly):
    """Seeded, 750 runs of 20 inputs; the others are declared fragile at their full rate."""
    rng, runs, error, wrong = np.random.default_rng(truly), 750, 0.1, 0
    for _ in range(runs):
        others = [decision(False, p) if p <= 0.05 else OPEN for p in rng.random(20 - truly)]
        local = [*FRAGILE_ONES[kind](rng, truly), *others]
        wrong += fragile_at_least(local, error) > truly
    assert wrong <= most_allowed(runs, error)


@pytest.mark.parametrize("n", [5, 20, 60])
@pytest.mark.parametrize("a", [0.01, 0.05])
@pytest.mark.parametrize("error", [0.01, 0.05])
def test_the_count_is_the_smallest_that_leaves_so_many_likely_enough(n, a, error):
    """P(m + Binomial(n - m, a) ≥ F) exceeds half of the error, where evidence is weak."""
    for fragile in range(n + 1):
        result = fragile_at_least(decisions(n - fragile, fragile, error=a), error)
        tails = [binom.sf(fragile - m - 1, n - m, a) for m in range(fragile + 1)]
        plain = next(m for m, tail in enumerate(tails) if tail > 0.5 * error)
        assert result >= plain
        if refutation_limits(n - plain, a, error).number > 1:
            assert result == plain


def test_six_of_twenty_decided_at_one_percent_are_at_least_five():
    assert fragile_at_least(decisions(10, 6, 4, error=0.01), 0.05) == 5


def test_robust_inputs_are_counted_alike():
    assert robust_at_least(decisions(14, 6, error=0.01), 0.05) == 13
    assert robust_at_least(decisions(20, 0), 0.05) == 20, "as `all_robust` says"
    assert robust_at_least([OPEN] * 3, 0.05) == fragile_at_least([OPEN] * 3, 0.05) == 0


def family(test, failure, seed):
    """Results and trials of inputs that fail with these probabilities, tested as a family."""
    family_of_tests = KappaFamily(test, 0.0, (None,) * len(failure))
    results = simulate_all(family_of_tests, 1 - np.array(failure), np.random.default_rng(seed))
    return results, np.array([one.trials for one in results])


@pytest.mark.parametrize("ratio", [5, 10, 20])
def test_one_fragile_input_among_many_clean_ones_is_found_and_clean_ones_pay_nothing(ratio):
    """Tests that stopped for themselves refuted in 1 of 60 to 9 of 60 runs."""
    test, refuted = KappaTest(0.05, 0.05), 0
    for seed in range(10):
        local, trials = family(test, [0.05 * min(ratio, 19)] + [0.0] * 99, seed)
        refuted += getattr(all_robust(local), "holds", True) is False
        assert trials[1:].tolist() == [clean_trials(0, 0.05, 0.05)] * 99
    assert refuted >= 8


def test_thirty_fragile_inputs_of_a_thousand_are_counted():
    local, trials = family(KappaTest(0.05, 0.05), [0.95] * 30 + [0.0] * 970, 1)
    assert fragile_at_least(local, 0.05) >= 25
    assert trials[:30].sum() <= 0.5 * trials.sum()


def test_inputs_near_kappa_take_no_more_than_the_extra_trials():
    test = KappaTest(0.05, 0.05, max_trials=4000)
    alone, _ = family(replace(test, extra_trials=0.0), [0.075] * 5 + [0.0] * 15, 2)
    local, trials = family(test, [0.075] * 5 + [0.0] * 15, 2)
    assert trials.sum() <= 1.5 * sum(one.trials for one in alone)
    assert [one.holds for one in local] == [one.holds for one in alone]


@pytest.mark.parametrize("fragile", [0, 2])
def test_a_family_exactly_at_kappa_is_refuted_no_more_often_than_stated(fragile):
    """Seeded, 200 runs; going on with whatever looks fragile adds nothing to the error."""
    test, wrong = KappaTest(0.2, 0.1, max_trials=300, extra_trials=3.0), 0
    for seed in range(200):
        local, _ = family(test, [0.9] * fragile + [0.2] * 8, seed)
        wrong += fragile_at_least(local, 0.1) > fragile
    assert wrong <= most_allowed(200, 0.1)


@pytest.mark.parametrize("p_value", [1e-6, 0.001, 0.05])
@pytest.mark.parametrize("fragile", [1, 2, 5, 12])
@pytest.mark.parametrize("n", [12, 50, 300])
def test_not_all_are_robust_where_one_at_least_is_counted(n, fragile, p_value):
    local = [*decisions(n - fragile, fragile - 1), decision(False, p_value)]
    result = all_robust(local)
    refuted = isinstance(result, Decision) and not result.holds
    assert refuted == (fragile_at_least(local, 0.05) > 0)


def miss(n, share, a, undecided, error):
    """P(the interval of the share misses it), each end exactly: it depends on one count alone.

    A robust input is declared fragile, and a fragile one robust, with probability a; of the right
    declarations a part stays undecided instead.
    """
    over, right = RobustShare(error), (1 - a) * (1 - undecided)
    robust, fragile = share * right + (1 - share) * a, (1 - share) * right + share * a
    low = high = 0.0
    for k in range(n + 1):
        low += binom.pmf(k, n, robust) * over_low(over, n, k, a, error, share)
        high += binom.pmf(k, n, fragile) * over_high(over, n, k, a, error, share)
    return low + high


def over_low(over, n, robust, a, error, share):
    local = decisions(robust, 0, n - robust, error=a)
    return robust > 0 and over.conclude(local, error).interval.low > share + 1e-12


def over_high(over, n, fragile, a, error, share):
    local = decisions(0, fragile, n - fragile, error=a)
    return fragile > 0 and over.conclude(local, error).interval.high < share - 1e-12


@pytest.mark.parametrize("undecided", [0.0, 0.3])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(("n", "a"), [(5, 0.05), (60, 0.05), (60, 0.2)])
def test_the_share_is_missed_rarely_where_decisions_err_at_full_rate_exactly(
    n, a, share, undecided
):
    assert miss(n, share, a, undecided, 0.05) <= 0.05


@pytest.mark.parametrize("least", [0.5, 0.9, 0.97])
@pytest.mark.parametrize(("n", "a"), [(40, 0.05), (100, 0.05), (300, 0.01)])
def test_a_requirement_of_the_share_is_decided_wrongly_with_at_most_the_whole_error(n, a, least):
    """Exactly, at the requirement itself, where decisions err at full rate; and no side wastes."""
    over, error = RobustShare(0.05), 0.05
    passes = [
        over.tested(decisions(k, 0, n - k, error=a), least).p_values.above <= error
        for k in range(1, n + 1)
    ]
    fails = [
        over.tested(decisions(0, k, n - k, error=a), least).p_values.below <= error
        for k in range(1, n + 1)
    ]
    counts = np.arange(1, n + 1)
    passed = binom.pmf(counts, n, least * (1 - a) + a)[passes].sum()
    failed = binom.pmf(counts, n, 1 - least * (1 - a))[fails].sum()
    assert passed <= error
    assert error / 5 < failed <= error


@pytest.mark.parametrize(
    ("least", "fragile", "one_sided", "two_sided"), [(0.9, 0, 31, 37), (0.9, 2, 65, 74)]
)
def test_a_requirement_pays_one_side(least, fragile, one_sided, two_sided):
    """The inputs it takes: by its p-value, and by the interval of the share."""
    over = RobustShare(0.05)

    def first(decides):
        return next(n for n in range(fragile + 1, 500) if decides(decisions(n - fragile, fragile)))

    assert first(lambda local: over.tested(local, least).p_values.above <= 0.05) == one_sided
    assert first(lambda local: over.conclude(local, 0.05).interval.low >= least) == two_sided


def test_the_upper_end_is_that_of_what_was_not_declared_fragile():
    result = RobustShare(0.05).conclude(decisions(50, 30, 20), 0.05)
    lower = clopper_pearson(Counts(100, 50), 0.05).low
    upper = clopper_pearson(Counts(100, 70), 0.05).high
    assert result.interval.low == pytest.approx((lower - 0.05) / 0.95)
    assert result.interval.high == pytest.approx(upper / 0.95)
