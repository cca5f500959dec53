"""Is p at most κ? The rate of false certificates, exactly where it can be."""

import math
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from surefoot.core.counts import Counts
from surefoot.core.procedure import Session
from surefoot.core.results import Undecided
from surefoot.population.family import KappaFamily
from surefoot.statistics import ExactBinomial, KappaTest
from surefoot.statistics.bounds import divergence
from surefoot.statistics.kappa import (
    clean_trials,
    log_evidence,
    log_evidence_above,
    log_evidence_below,
    log_largest_ratio,
    supported,
)
from surefoot.statistics.planning import simulate
from tests.refusals import refused


def ends(procedure, p):
    """P(certified), P(refuted), P(neither), by an exact recursion over (failures, next question).

    The questions of these tests depend on the counts alone, so paths that meet can be merged.
    """
    outcome = {"yes": 0.0, "no": 0.0, "open": 0.0}
    states = {(0, 0): 1.0}
    while states:
        grown: dict[tuple[int, int], float] = {}
        for (failed, trials), chance in states.items():
            ask, result = position(procedure, failed, trials)
            if ask is None:
                outcome[result] += chance
                continue
            for more, share in enumerate(shares(ask, p)):
                if chance * share > 1e-12:
                    key = (failed + more, trials + ask)
                    grown[key] = grown.get(key, 0.0) + chance * share
        states = grown
    assert sum(outcome.values()) == pytest.approx(1, abs=1e-6)
    return outcome


@cache
def shares(trials, p):
    """The chance of each number of failures in so many trials."""
    return [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]


below, above = cache(log_evidence_below), cache(log_evidence_above)


@cache
def position(procedure, failed, trials):
    """What the procedure asks, or concludes, once it has seen these counts."""
    target = math.log(1 / procedure.error)
    if trials and below(failed, trials, procedure.kappa) >= target:
        return None, "yes"
    if trials and above(failed, trials, procedure.kappa) >= target:
        return None, "no"
    if trials >= procedure.max_trials:
        return None, "open"
    return procedure._more(Counts(trials, trials - failed)), None


def drive(procedure, failures):
    """Run a procedure on given numbers of failures a question."""
    session, questions = Session(procedure), []
    for failed in failures:
        if (n := session.question) is not None:
            questions.append(n)
            session.tell(Counts(n, n - failed))
    return questions, session.result


@pytest.mark.parametrize("kappa", [0.05, 0.2])
def test_false_certificates_at_kappa_are_rare_exactly(kappa):
    for error in (0.05, 0.2):  # both from the same evidence
        rates = ends(KappaTest(kappa, error, max_trials=150), kappa)
        assert rates["yes"] <= error
        assert rates["no"] <= error
        assert rates["yes"] > error / 4, "the test is far from using its error"


def test_a_worse_model_is_certified_even_more_rarely():
    for factor in (1.05, 2):
        assert ends(KappaTest(0.1, 0.1, max_trials=100), 0.1 * factor)["yes"] <= 0.1
        assert ends(KappaTest(0.1, 0.1, max_trials=100), 0.1 / factor)["no"] <= 0.1


def test_the_mean_of_an_e_value_at_kappa_is_exactly_one():
    """Neither more, which would be unsound, nor less, which would waste samples.

    Without a failure the one above κ is not computed, which here costs less than 1e-8.
    """
    from scipy.stats import binom

    n, kappa = 1000, 0.02
    k = np.arange(n + 1)
    for evidence in (log_evidence_below, log_evidence_above):
        logs = np.array([evidence(int(i), n, kappa) for i in k])
        assert np.exp(binom.logpmf(k, n, kappa) + logs).sum() == pytest.approx(1, abs=1e-6)


@dataclass(frozen=True)
class BothAtEveryLook:
    """The method without its shortcuts: both e-values, by their formula, after every answer."""

    test: KappaTest

    def steps(self):
        target, counts = math.log(1 / self.test.error), Counts(0, 0)
        while True:
            counts += yield self.test._more(counts)
            failed = counts.trials - counts.kept
            if (outcome := log_evidence_below(failed, counts.trials, self.test.kappa)) >= target:
                return self.test.declare(counts, outcome, holds=True)
            if (outcome := log_evidence_above(failed, counts.trials, self.test.kappa)) >= target:
                return self.test.declare(counts, outcome, holds=False)
            if counts.trials >= self.test.max_trials:
                return self.test._undecided(counts)


KAPPAS = st.floats(-6, -0.05).map(lambda power: 10**power)


@settings(deadline=None)
@given(KAPPAS, st.floats(1e-6, 0.99), st.floats(0, 5), st.integers(1, 100), st.integers(0))
def test_evidence_that_is_not_weighed_would_not_have_decided(kappa, error, ratio, budget, seed):
    """The same questions, decisions and p-values, to the last bit."""
    test = KappaTest(kappa, error, max_trials=math.ceil(budget / kappa))
    p = max(0.0, 1 - ratio * kappa)
    ours, plain = (
        simulate(way, p, np.random.default_rng(seed)) for way in (test, BothAtEveryLook(test))
    )
    assert ours == plain


@settings(deadline=None)
@given(KAPPAS, st.integers(1, 10**8), st.floats(0, 5))
def test_no_evidence_exceeds_the_largest_ratio_nor_comes_from_the_other_side(kappa, trials, ratio):
    failed = min(trials, round(ratio * kappa * trials))
    both = [
        evidence(failed, trials, kappa) for evidence in (log_evidence_below, log_evidence_above)
    ]
    assert max(both) <= log_largest_ratio(failed, trials, kappa)
    assert log_evidence(failed, trials, kappa) == max(both) or max(both) < 0
    assert min(both) < 0


@pytest.mark.parametrize(("kappa", "clean"), [(1e-2, 326), (1e-3, 3269), (1e-4, 32697)])
def test_a_clean_run_ends_near_the_floor(kappa, clean):
    """The floor for any test is ln(1/error)/κ."""
    assert clean_trials(0, kappa, 0.05) == clean
    assert clean <= 1.10 * math.log(20) / kappa
    questions, result = drive(KappaTest(kappa, 0.05), [0] * 100)
    assert sum(questions) == result.trials == clean
    assert result.holds


def test_many_failures_are_refuted_early():
    questions, result = drive(KappaTest(1e-3, 0.05), [30] * 10)
    assert len(questions) == 1
    assert not result.holds


def test_a_budget_ends_undecided_with_what_is_shown():
    _, result = drive(KappaTest(1e-3, 0.05, max_trials=2000), [0] * 100)
    assert isinstance(result, Undecided)
    assert result.trials == 2000
    assert result.reason.values[-1] == 0.00164
    bound = supported(0, 2000, 0.05)
    assert log_evidence_below(0, 2000, bound) == pytest.approx(math.log(20), abs=1e-6)


@pytest.mark.parametrize("failures", [1, 2])
def test_a_budget_in_which_everything_fails_shows_nothing(failures):
    _, result = drive(KappaTest(0.9, 0.05, max_trials=failures), [1] * failures)
    assert isinstance(result, Undecided)
    assert result.reason.values[-1] == 1


def mean_trials(kappa, error, ratio):
    """The mean number of trials at p below κ, exactly, if no run ends above κ.

    A run with f failures ends as soon as it has `clean_trials(f)` trials, and is never beyond.
    """
    from scipy.stats import binom

    alive, trials, mean, ended = np.ones(1), 0, 0.0, 0.0
    for failed in range(400):
        more = clean_trials(failed, kappa, error) - trials
        alive = np.convolve(alive, binom.pmf(np.arange(60), more, ratio * kappa))
        alive = alive[: 400 - failed]  # more failures than that do not end a run here
        trials += more
        mean, ended = mean + alive[0] * trials, ended + alive[0]
        alive = alive[1:]
    return mean + (1 - ended) * trials


def least_trials(kappa, error, ratio):
    """Wald: no test that is wrong with at most `error` on either side needs fewer on average."""
    return (1 - 2 * error) * math.log((1 - error) / error) / divergence(ratio * kappa, kappa)


@pytest.mark.parametrize(
    ("error", "over"),
    # two Beta shapes: 1.24 1.36 1.51; 1.39 1.57 1.80; 1.62 1.85 2.17
    [(0.01, (1.34, 1.39, 1.42)), (0.05, (1.51, 1.60, 1.66)), (0.1, (1.76, 1.88, 1.99))],
)
@pytest.mark.parametrize("kappa", [1e-2, 1e-3])
def test_trials_with_failures_stay_near_the_least_that_any_test_needs(kappa, error, over):
    for ratio, most in zip((0.3, 0.5, 0.7), over, strict=True):
        assert mean_trials(kappa, error, ratio) <= most * least_trials(kappa, error, ratio)


def test_the_exact_mean_is_that_of_the_procedure():
    """Seeded; within four standard errors over 300 runs."""
    rng = np.random.default_rng(5)
    trials = [simulate(KappaTest(0.01, 0.05), 1 - 0.003, rng)[0].trials for _ in range(300)]
    apart = abs(np.mean(trials) - mean_trials(0.01, 0.05, 0.3))
    assert apart <= 4 * np.std(trials) / math.sqrt(300)


@settings(deadline=None)
@given(KAPPAS, st.floats(1.001, 3), st.integers(0, 10**6), st.integers(1, 10**6))
@example(1e-6, 2.0, 58, 55)
@example(1e-6, 1.0000001, 58, 39)
@example(1e-6, 2.0, 57, 40)
def test_evidence_grows_with_kappa_and_with_trials_that_hold_and_falls_with_failures(
    kappa, factor, failed, kept_trials
):
    """The first makes the bound of an undecided run valid for the κ that the data choose."""
    trials, larger = failed + kept_trials, min(factor * kappa, 0.95)
    here, slack = log_evidence_below(failed, trials, kappa), 1e-14 * trials * math.log(trials + 1)
    if here > -math.inf:
        assert here <= log_evidence_below(failed, trials, max(kappa, larger)) + slack
        assert here <= log_evidence_below(failed, trials + 1, kappa) + slack
    assert log_evidence_below(failed + 1, trials, kappa) <= here + slack


def test_false_certificates_are_rare_exactly_at_the_smallest_error():
    """All runs at κ with up to 400 failures; every term is positive, so none is lost."""
    from scipy.stats import binom

    kappa, error = 0.2, 1e-12
    alive, trials, certified = np.ones(1), 0, 0.0
    for failed in range(400):
        more = clean_trials(failed, kappa, error) - trials
        alive = np.convolve(alive, binom.pmf(np.arange(more + 1), more, kappa))
        trials += more
        certified += alive[0]
        alive = alive[1:]
    assert 0.5 * error < certified <= error


def test_the_shown_bound_is_wrong_rarely():
    """Seeded; allowance: four standard deviations over 600 runs at error 0.1."""
    rng, runs, error, p = np.random.default_rng(2), 600, 0.1, 0.02
    wrong = sum(supported(int(rng.binomial(1500, p)), 1500, error) < p for _ in range(runs))
    assert wrong <= runs * error + 4 * math.sqrt(runs * error * (1 - error))


@pytest.mark.parametrize(
    ("option", "values"),
    [("kappa", (0, 1, 9e-10, math.nan)), ("error", (0, 1, 9e-13)), ("max_trials", (0, 10**11))],
)
def test_meaningless_tests_are_refused(option, values):
    for method, value in product((KappaTest, ExactBinomial), values):
        refused("", method, **{"kappa": 0.1, "error": 0.1, "max_trials": 10, option: value})


@pytest.mark.parametrize("inputs", [1, 2])
def test_few_inputs_that_always_fail_are_refuted_and_end(inputs):
    session = Session(KappaFamily(KappaTest(0.1, 0.1), 0.0, (None,) * inputs))
    while (asks := session.question) is not None:
        session.tell([Counts(ask.units, 0) for ask in asks])
    assert [result.holds for result in session.result] == [False] * inputs
