"""Bounds, tails and e-values against published, recomputed and independent numbers."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.special import boxcox1p

from surefoot.core.counts import Counts
from surefoot.core.procedure import Session
from surefoot.core.results import Interval
from surefoot.statistics import (
    BuSun,
    ExactSequential,
    FixedSize,
    Okamoto,
    anderson_darling,
    chernoff,
    clopper_pearson,
    design_for,
    okamoto,
)
from surefoot.statistics.bounds import divergence
from surefoot.statistics.designs import expected_trials
from surefoot.statistics.kappa import (
    _ABOVE,
    _BELOW,
    clean_size,
    log_evidence_above,
    log_evidence_below,
    tail_above,
    tail_below,
)
from surefoot.statistics.planning import simulate_trials
from surefoot.statistics.tail import TRANSFORMS
from tests.refusals import refused


def test_chernoff_as_in_the_paper():
    """Examples 5 and 6; the paper's 11347 comes from a rounded end, its 14372 is a total."""
    assert chernoff(clopper_pearson(Counts(100, 8), 0.01), 0.01, 0.04) == 11353
    rest = (0.01 - 5e-4) / (1 - 5e-4)
    assert chernoff(clopper_pearson(Counts(265, 37), 5e-4), 0.01, rest) == 18759
    assert chernoff(clopper_pearson(Counts(1060, 114), 5e-4), 0.01, rest) == 13212


def test_example_six_saves_45_7_percent():
    questions, result = _counts_after(BuSun(0.01, 0.01), [14, 114, 1464])
    assert questions == [100, 1060, 13212]
    assert result.trials == 14372
    assert 1 - result.trials / okamoto(0.01, 0.01) == pytest.approx(0.457, abs=5e-4)


def test_a_pilot_near_one_half_goes_straight_to_okamoto():
    """Example 6, second part: every candidate costs at least 27011."""
    questions, result = _counts_after(BuSun(0.01, 0.01), [41, 10550])
    assert questions == [100, 26492]
    assert result.value == 10550 / 26492
    procedure = BuSun(0.01, 0.01)
    assert min(procedure._total(math.ceil(i * 264.92), 0.41) for i in range(1, 21)) == 27011


def _counts_after(procedure, answers):
    session, questions = Session(procedure), []
    for kept in answers:
        questions.append(session.question)
        session.tell(Counts(session.question, kept))
    return questions, session.result


@pytest.mark.parametrize("width", [1 / 3, 0.4, 0.9])
def test_a_wide_width_uses_okamoto_at_once(width):
    questions, _ = _counts_after(BuSun(width, 0.05), [0])
    assert questions == [okamoto(width, 0.05)]


def test_the_published_sizes_of_the_second_stage_are_whole_percents_of_okamotos_number():
    """0.07 · 100 is 7.000000000000001 in floating point; the published sizes are not rounded so."""
    method = BuSun(0.05, 0.05)
    sizes = {math.ceil(percent * 738 / 100) for percent in range(1, 21)}
    assert {method.bracket_size(Counts(10, k)) for k in range(11)} <= {*sizes, None}
    assert BuSun(0.05, 0.05, candidates=(0.07,)).bracket_size(Counts(10, 10)) == math.ceil(51.66)


@pytest.mark.parametrize("pilot_error", [0.0, -0.01, 0.05, 0.2, math.nan, 1e-15])
def test_a_part_of_the_error_that_leaves_nothing_is_refused(pilot_error):
    refused(r"pilot_error must lie between 0 and the error", BuSun, 0.05, 0.05, pilot_error)


@pytest.mark.parametrize("candidates", [(), (0.0,), (0.1, 1.0), (math.nan,), "ab", 0.1])
def test_sizes_that_are_no_shares_are_refused(candidates):
    refused("candidates are shares of Okamoto", BuSun, 0.05, 0.05, candidates=candidates)


@settings(max_examples=40)
@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.005, 0.3), st.floats(1e-4, 0.3))
def test_chernoff_never_exceeds_okamoto_and_grows_with_the_bracket(a, b, width, error):
    low, high = sorted((a, b))
    wide = chernoff(Interval(low, high), width, error)
    assert 1 <= chernoff(Interval(low, low), width, error) <= wide <= okamoto(width, error)


@pytest.mark.parametrize("method", [BuSun, FixedSize, Okamoto])
@pytest.mark.parametrize(
    ("width", "error"), [(0, 0.1), (1, 0.1), (-0.1, 0.1), (0.1, 0), (0.1, 1), (math.nan, 0.1)]
)
def test_meaningless_widths_and_errors_are_refused(method, width, error):
    refused("must lie between 0 and 1, got", method, width, error)


COUNTS = [(1, 0), (1, 1), (10, 3), (100, 100), (1060, 114), (100_000, 3), (4_000_000, 3_999_000)]


@pytest.fixture(scope="module")
def statsmodels():
    """Some versions warn of deprecations while they are imported; that is theirs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        pytest.importorskip("statsmodels")
        from statsmodels.stats import diagnostic, proportion
    return SimpleNamespace(
        proportion_confint=proportion.proportion_confint, normal_ad=diagnostic.normal_ad
    )


@pytest.mark.parametrize(("trials", "kept"), COUNTS)
@pytest.mark.parametrize("error", [0.2, 0.05, 1e-3, 1e-8])
def test_clopper_pearson_is_the_one_of_statsmodels_and_scipy(statsmodels, trials, kept, error):
    ours = clopper_pearson(Counts(trials, kept), error)
    low, high = statsmodels.proportion_confint(kept, trials, alpha=error, method="beta")
    assert (ours.low, ours.high) == pytest.approx((low, high), rel=1e-9, abs=1e-15)
    exact = stats.binomtest(kept, trials).proportion_ci(1 - error, method="exact")
    assert (ours.low, ours.high) == pytest.approx((exact.low, exact.high), rel=1e-7, abs=1e-11)


@pytest.mark.parametrize("n", [8, 50, 1000])
@pytest.mark.parametrize("kind", ["norm", "logistic", "uniform", "expon", "cauchy"])
def test_anderson_darling_is_the_one_of_statsmodels(statsmodels, kind, n):
    """Samples from far above any level to far below; ours is a bound of 1e-23 where theirs is 0."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        values = getattr(stats, kind).rvs(size=n, random_state=rng)
        _, theirs = statsmodels.normal_ad(values)
        assert anderson_darling(values) == pytest.approx(theirs, rel=1e-7, abs=1e-23)


@pytest.mark.parametrize("kappa", [0.5, 0.1, 1e-3, 1e-5])
@pytest.mark.parametrize("trials", [1, 7, 300, 200_000])
def test_the_tails_are_those_of_scipy(trials, kappa):
    around = round(kappa * trials)
    for failed in {0, 1, around, min(trials, around + 5), min(trials, 2 * around), trials}:
        law = stats.binom(trials, kappa)
        below, above = tail_below(failed, trials, kappa), tail_above(failed, trials, kappa)
        assert below == pytest.approx(law.cdf(failed), rel=1e-8)
        assert above == pytest.approx(law.sf(failed - 1), rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("kappa", [0.5, 0.1, 1e-2, 1e-4])
@pytest.mark.parametrize("error", [0.3, 0.05, 1e-3])
def test_the_clean_size_is_the_first_at_which_no_failure_is_rare_enough(kappa, error):
    n = clean_size(kappa, error)
    assert stats.binom.pmf(0, n, kappa) <= error < stats.binom.pmf(0, n - 1, kappa)


@pytest.mark.parametrize("p", [0.0, 0.02, 0.2, 0.9, 0.985])
@pytest.mark.parametrize(("width", "error"), [(0.1, 0.05), (0.02, 0.01)])
def test_the_chernoff_number_is_the_first_whose_bound_is_small_enough(p, width, error):
    """Scanned, with the divergence summed by SciPy."""
    ends = [q for q in (p - width, p + width) if 0 <= q <= 1]
    rates = [stats.entropy([q, 1 - q], [p, 1 - p]) for q in ends]
    first = next(n for n in range(1, 10**4) if sum(math.exp(-n * r) for r in rates) <= error)
    assert chernoff(Interval(p, p), width, error) == first
    assert divergence(0.3, 0.2) == pytest.approx(stats.entropy([0.3, 0.7], [0.2, 0.8]))


@pytest.mark.parametrize(("failed", "trials"), [(0, 5), (1, 1), (3, 40), (30, 200)])
@pytest.mark.parametrize("kappa", [0.02, 0.1, 0.5])
def test_the_e_values_are_the_integrals_they_stand_for(failed, trials, kappa):
    """Points and an even part below κ; above it, points of the odds and p^-1.4 in v = p^-0.4."""

    def ratio(p):
        return (p / kappa) ** failed * ((1 - p) / (1 - kappa)) ** (trials - failed)

    def mean(value, low, high):
        area, _ = quad(value, low, high, epsabs=0, epsrel=1e-11, limit=500)
        return area / (high - low)

    even = mean(ratio, 0, kappa) * (1 - sum(w for _, w in _BELOW))
    parts = even + sum(w * ratio(kappa * u) for u, w in _BELOW)
    below = log_evidence_below(failed, trials, kappa)
    assert below == pytest.approx(math.log(parts), rel=1e-8, abs=1e-8)
    odds = [(times * kappa / (1 - kappa), w) for times, w in _ABOVE]
    spread = mean(lambda v: ratio(v**-2.5), 1, kappa**-0.4) * (1 - sum(w for _, w in _ABOVE))
    above = math.log(spread + sum(w * ratio(o / (1 + o)) for o, w in odds))
    result = log_evidence_above(failed, trials, kappa)
    assert result == pytest.approx(above, rel=1e-8, abs=1e-8) if failed else above < 0


@pytest.mark.parametrize("limit", [0.05, 0.6, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_box_cox_moves_the_limit_as_scipy_does(limit, seed):
    values = np.random.default_rng(seed).gamma(1.0 + seed, 0.1, 400)
    transformed = TRANSFORMS["box-cox"](values, limit)
    moved, end = transformed.values, transformed.limit
    theirs, power = stats.boxcox(values)
    assert moved == pytest.approx(theirs)
    assert end == pytest.approx(float(stats.boxcox(np.array([limit]), lmbda=power)[0]), rel=1e-10)


@pytest.mark.parametrize("limit", [-3.0, -0.2, 0.0, 0.6, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_yeo_johnson_moves_the_limit_as_its_definition_does(limit, seed):
    """Box-Cox of 1 + x; for negative x mirrored, with 2 minus the power."""
    values = np.random.default_rng(seed).gumbel(0.1 * seed, 1.0, 400)
    transformed = TRANSFORMS["yeo-johnson"](values, limit)
    moved, end = transformed.values, transformed.limit
    theirs, power = stats.yeojohnson(values)
    assert moved == pytest.approx(theirs)
    defined = boxcox1p(limit, power) if limit >= 0 else -boxcox1p(-limit, 2 - power)
    assert end == pytest.approx(float(defined), rel=1e-10)


@pytest.mark.parametrize("p", [1.0, 0.99, 0.7])
def test_a_rehearsal_agrees_with_the_exact_expectation(p):
    simulated = simulate_trials(ExactSequential(0.05, 0.05), p, runs=400)
    assert simulated.mean == pytest.approx(expected_trials(design_for(0.05, 0.05), p), rel=0.05)
