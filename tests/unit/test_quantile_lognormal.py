"""The log-normal posterior against an independent one, and at its edges."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from surefoot.core.assumptions import Assumed, Prior
from surefoot.core.reasons import Why
from surefoot.core.results import Undecided
from surefoot.errors import InvalidArgument
from surefoot.population import LogNormalPosterior
from surefoot.population.lognormal import LEAST_INPUTS
from tests.quantiles import brackets, never_refuted, on_grid, points

Z = float(ndtri(0.05))


def by_integration(local, chances, ceiling=0.4):
    """Where the posterior has `chances` below, by sums over the quantile and the median as told."""
    lows = np.log(np.maximum([b.low for b in local], 1e-300))
    highs = np.log([b.high for b in local])
    quantiles = np.linspace(0.0005, 0.1, 400)
    heights = []
    for q in quantiles:
        mu = np.log(np.linspace(q, ceiling, 800)[1:, None])
        s = (math.log(q) - mu) / Z
        mass = ndtr((highs - mu) / s) - ndtr((lows - mu) / s)
        heights.append(np.log(np.maximum(mass, 1e-300)).sum(axis=1))
    weights = np.exp(np.array(heights) - np.max(heights)).mean(axis=1)
    return np.interp(chances, np.cumsum(weights) / weights.sum(), quantiles)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 40])
def test_it_is_the_posterior_of_the_stated_prior(n):
    rng = np.random.default_rng(n)
    local = on_grid(np.exp(rng.normal(math.log(0.05), 0.5, n)))
    quantile = LogNormalPosterior().conclude(local, 0.05)
    message = (quantile.interval.low, quantile.value, quantile.interval.high)
    assert message == pytest.approx(by_integration(local, (0.025, 0.5, 0.975)), rel=0.03)


@pytest.mark.parametrize("n", [25, 300, 30_000])
def test_many_inputs_do_not_underflow(n):
    """The thesis' version ends at about 25 inputs because its likelihood underflows."""
    rng = np.random.default_rng(2)
    quantile = LogNormalPosterior().conclude(on_grid(np.exp(rng.normal(-3, 0.5, n))), 0.05)
    assert math.exp(-3 + 0.5 * Z) in quantile.interval
    assert quantile.interval.width < 0.07 / math.sqrt(n)


def test_the_verdict_tells_a_log_normal_from_another():
    rng = np.random.default_rng(5)
    good = LogNormalPosterior().conclude(on_grid(np.exp(rng.normal(-3, 0.5, 300))), 0.05)
    bad = LogNormalPosterior().conclude(on_grid(rng.uniform(0.01, 0.2, 300)), 0.05)
    assert (good.fit.why, good.fit.values[0]) == (Why.NOT_REJECTED, 5)
    assert (bad.fit.why, bad.fit.values[0]) == (Why.REJECTED, 5)


def test_censored_brackets_are_used_and_the_fit_is_not_tested():
    rng = np.random.default_rng(6)
    values = np.exp(rng.normal(-3, 0.5, 200))
    local = [
        b if v < 0.08 else never_refuted(0.079)
        for b, v in zip(on_grid(values), values, strict=True)
    ]
    quantile = LogNormalPosterior().conclude(local, 0.05)
    assert quantile.fit.why is Why.NOT_TESTED
    assert math.exp(-3 + 0.5 * Z) in quantile.interval


def test_nothing_proved_anywhere_is_not_a_failure():
    quantile = LogNormalPosterior().conclude(brackets([0.0] * 20, [0.05] * 20), 0.05)
    assert 0 < quantile.interval.low < quantile.interval.high < 0.05


def test_exact_levels_have_a_density():
    values = np.exp(np.random.default_rng(7).normal(-3, 0.5, 200))
    exact = LogNormalPosterior().conclude(points(values), 0.05).interval
    near = LogNormalPosterior().conclude(brackets(values * 0.9999, values * 1.0001), 0.05).interval
    assert exact.low == pytest.approx(near.low, rel=1e-3)
    assert exact.high == pytest.approx(near.high, rel=1e-3)


def test_never_refuted_inputs_alone_fit_nothing():
    assert isinstance(LogNormalPosterior().conclude([never_refuted(0.1)] * 30, 0.05), Undecided)


@pytest.mark.parametrize("n", [1, 2, 5, 19])
def test_too_few_inputs_would_only_say_what_the_prior_says(n):
    quantile = LogNormalPosterior().conclude(on_grid(np.linspace(0.02, 0.05, n)), 0.05)
    assert isinstance(quantile, Undecided)
    assert quantile.reason == Why.FEW_FOR_POSTERIOR.of(n, 20)


def test_family_and_prior_are_named():
    local = on_grid(np.linspace(0.02, 0.05, LEAST_INPUTS))
    named = LogNormalPosterior(ceiling=0.3).conclude(local, 0.05).guarantee.assumptions
    assert named == (Assumed.SAMPLED, Assumed.LOG_NORMAL, Prior(0.3))


def test_one_level_for_all_inputs_is_narrow_not_broken():
    quantile = LogNormalPosterior().conclude(brackets([0.05] * 50, [0.052] * 50), 0.05)
    assert 0.0495 < quantile.interval.low < quantile.interval.high < 0.052


@pytest.mark.parametrize("change", [{"share": 0.5}, {"ceiling": 0}, {"ceiling": math.inf}])
def test_what_the_prior_cannot_mean_is_refused(change):
    with pytest.raises(InvalidArgument):
        LogNormalPosterior(**change)
