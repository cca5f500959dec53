"""Quantiles of very many brackets: no more work than they need, and the same as of a few."""

import math

import numpy as np
import pytest
from scipy.special import ndtri

from surefoot.population import LogNormalPosterior, comparison, lognormal, quantile_difference
from tests.quantiles import brackets, never_refuted


def log_normal(n, seed=40):
    values = np.exp(np.random.default_rng(seed).normal(-3, 0.5, n))
    return values, brackets(values * 0.9, values * 1.2)


def message(quantile):
    return np.array([quantile.interval.low, quantile.value, quantile.interval.high])


@pytest.mark.parametrize("steps", [64, 0.3])
def test_many_brackets_have_the_posterior_of_a_few(monkeypatch, steps):
    """With steps so coarse that rounding misleads, the brackets themselves say where to look."""
    values, local = log_normal(1500)
    local[::7] = [never_refuted(v / 2) for v in values[::7]]
    plain = message(LogNormalPosterior().conclude(local, 0.05))
    monkeypatch.setattr(lognormal, "_MANY", 100)
    monkeypatch.setattr(lognormal, "_STEPS", steps)
    quick = message(LogNormalPosterior().conclude(local, 0.05))
    assert np.abs(quick - plain).max() < 0.01 * (plain[2] - plain[0])


def counting(monkeypatch, module, name, size):
    """How much the function has computed so far, in the first of a list."""
    plain, computed = getattr(module, name), [0]

    def counted(*arguments):
        computed[0] += size(*arguments)
        return plain(*arguments)

    monkeypatch.setattr(module, name, counted)
    return computed


@pytest.mark.parametrize("n", [300, 20_000])
def test_a_bracket_is_scored_at_few_of_the_nodes_that_the_finest_grid_has(n, monkeypatch):
    """300 different ones take a hundredth of a second, and 60,000 a second."""
    _, local = log_normal(n)
    scored = counting(
        monkeypatch,
        lognormal,
        "_log_mass",
        lambda lows, _, *grid: lows.size * math.prod(map(len, grid)),
    )
    quantile = LogNormalPosterior().conclude(local, 0.05)
    assert 0 < scored[0] < 0.25 * lognormal._FINE**2 * n
    assert quantile.interval.width < 0.07 / math.sqrt(n)


def test_a_difference_is_tested_a_few_times_for_each_input(monkeypatch):
    """60,000 inputs take half a second."""
    values, local = log_normal(20_000)
    other = brackets(values, values * 1.3)
    tests = counting(monkeypatch, comparison, "mcnemar", lambda *_: 1)
    for share in (0.05, 0.5):
        truth = 0.1 * math.exp(-3 + 0.5 * float(ndtri(share)))
        quantile = quantile_difference(other, local, share, 0.05)
        assert quantile.low < truth < quantile.high
    assert 0 < tests[0] < 2 * 20_000
