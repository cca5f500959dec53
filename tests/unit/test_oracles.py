"""Our numbers beside those of SciPy, statsmodels and plain sums."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import boxcox1p

from surefoot.core.counts import Counts
from surefoot.core.results import Interval
from surefoot.statistics import (
    anderson_darling,
    chernoff,
    clopper_pearson,
    fixed_size,
    worst_miss,
)
from surefoot.statistics.bounds import divergence
from surefoot.statistics.kappa import (
    clean_size,
    log_evidence_above,
    log_evidence_below,
    tail_above,
    tail_below,
)
from surefoot.statistics.tail import TRANSFORMS

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


@pytest.mark.parametrize("error", [0.2, 0.05, 1e-3])
@pytest.mark.parametrize(("trials", "kept"), [(10, 3), (1060, 114), (100_000, 3)])
def test_an_exact_test_at_either_end_of_clopper_pearson_rejects_at_half_the_error(
    trials, kept, error
):
    ends = clopper_pearson(Counts(trials, kept), error)
    low = stats.binomtest(kept, trials, ends.low, alternative="greater").pvalue
    high = stats.binomtest(kept, trials, ends.high, alternative="less").pvalue
    assert (low, high) == pytest.approx((error / 2, error / 2), rel=1e-8)


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


def miss(n, width, p):
    """P(|k/n - p| > width), summed; a nanotolerance for k/n in floats."""
    k = np.arange(n + 1)
    return stats.binom.pmf(k, n, p)[np.abs(k / n - p) > width + 1e-12].sum()


def beside_jumps(n, width):
    """Every p next to a jump of the miss, on both sides; the supremum is a limit there."""
    jumps = np.concatenate([np.arange(n + 1) / n + shift for shift in (-width, width)])
    points = np.concatenate([jumps - 1e-10, jumps + 1e-10, [0.5]])
    return points[(points > 0) & (points < 1)]


@pytest.mark.parametrize(("width", "error"), [(0.2, 0.2), (0.1, 0.05), (0.05, 0.05)])
def test_the_fixed_size_by_plain_sums_is_enough_and_one_trial_less_is_not(width, error):
    n = fixed_size(width, error)
    for size in (n, n - 1):
        result = max(miss(size, width, p) for p in beside_jumps(size, width))
        assert worst_miss(size, width) == pytest.approx(result, rel=1e-6)
        assert (result <= error) == (size == n)


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
    """Beta(a, 1) is uniform in v = u^a, and smooth to integrate there; p^-1.4 in v = p^-0.4."""

    def ratio(p):
        return (p / kappa) ** failed * ((1 - p) / (1 - kappa)) ** (trials - failed)

    def mean(value, low, high):
        area, _ = quad(value, low, high, epsabs=0, epsrel=1e-11, limit=500)
        return area / (high - low)

    parts = [mean(lambda v, a=a: ratio(kappa * v ** (1 / a)), 0, 1) for a in (0.03, 0.4)]
    below = log_evidence_below(failed, trials, kappa)
    assert below == pytest.approx(math.log(sum(parts) / 2), rel=1e-8, abs=1e-8)
    above = math.log(mean(lambda v: ratio(v**-2.5), 1, kappa**-0.4))
    result = log_evidence_above(failed, trials, kappa)
    assert result == pytest.approx(above, rel=1e-8, abs=1e-8) if failed else above < 0


@pytest.mark.parametrize("limit", [0.05, 0.6, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_box_cox_moves_the_limit_as_scipy_does(limit, seed):
    values = np.random.default_rng(seed).gamma(1.0 + seed, 0.1, 400)
    transformed = TRANSFORMS["box-cox"].apply(values, limit)
    moved, end = transformed.values, transformed.limit
    theirs, power = stats.boxcox(values)
    assert moved == pytest.approx(theirs)
    assert end == pytest.approx(float(stats.boxcox(np.array([limit]), lmbda=power)[0]), rel=1e-10)


@pytest.mark.parametrize("limit", [-3.0, -0.2, 0.0, 0.6, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_yeo_johnson_moves_the_limit_as_its_definition_does(limit, seed):
    """Box-Cox of 1 + x; for negative x mirrored, with 2 minus the power."""
    values = np.random.default_rng(seed).gumbel(0.1 * seed, 1.0, 400)
    transformed = TRANSFORMS["yeo-johnson"].apply(values, limit)
    moved, end = transformed.values, transformed.limit
    theirs, power = stats.yeojohnson(values)
    assert moved == pytest.approx(theirs)
    defined = boxcox1p(limit, power) if limit >= 0 else -boxcox1p(-limit, 2 - power)
    assert end == pytest.approx(float(defined), rel=1e-10)
