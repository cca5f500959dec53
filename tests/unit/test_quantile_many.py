"""Quantiles of very many brackets: as quick as they must be, and the same as of a few."""

import math
import time

import numpy as np
import pytest

from surefoot.population import LogNormalPosterior, SpreadRanks, lognormal, quantile
from surefoot.population.quantile_comparison import _at_rank
from tests.quantiles import brackets, never_refuted


def log_normal(n, seed=40):
    values = np.exp(np.random.default_rng(seed).normal(-3, 0.5, n))
    return values, brackets(values * 0.9, values * 1.2)


def told(found):
    return np.array([found.interval.low, found.value, found.interval.high])


def test_few_brackets_are_scored_one_by_one_at_every_node():
    """Values of the grid when every bracket was scored at all nodes at once."""
    values, local = log_normal(40)
    once = (0.019423261358758385, 0.02471206103993768, 0.029364588742194105)
    assert told(LogNormalPosterior().conclude(local, 0.05)) == pytest.approx(once, rel=1e-12)
    censored = [b if v < 0.05 else never_refuted(0.04) for b, v in zip(local, values, strict=True)]
    once = (0.021249644956003445, 0.026288427747254775, 0.0300745995032476)
    assert told(LogNormalPosterior().conclude(censored, 0.05)) == pytest.approx(once, rel=1e-12)


@pytest.mark.parametrize("steps", [64, 0.3])
def test_many_brackets_have_the_posterior_of_a_few(monkeypatch, steps):
    """With steps so coarse that rounding misleads, the brackets themselves say where to look."""
    values, local = log_normal(1500)
    local[::7] = [never_refuted(v / 2) for v in values[::7]]
    plain = told(LogNormalPosterior().conclude(local, 0.05))
    monkeypatch.setattr(lognormal, "_MANY", 100)
    monkeypatch.setattr(lognormal, "_STEPS", steps)
    quick = told(LogNormalPosterior().conclude(local, 0.05))
    assert np.abs(quick - plain).max() < 0.01 * (plain[2] - plain[0])


def test_sixty_thousand_different_brackets_take_seconds():
    _, local = log_normal(60_000)
    begun = time.process_time()
    found = LogNormalPosterior().conclude(local, 0.05)
    assert time.process_time() - begun < 6  # 1.2 s on an idle machine
    assert found.interval.width < 0.07 / math.sqrt(60_000)


def test_spread_ranks_read_many_wide_brackets_piece_by_piece(monkeypatch):
    values, local = log_normal(400)
    local[::9] = [never_refuted(v) for v in values[::9]]
    whole = SpreadRanks(0.3).conclude(local, 0.05)
    monkeypatch.setattr(quantile, "_ROOM", 1)
    assert SpreadRanks(0.3).conclude(local, 0.05) == whole
    # The lower end again, counted from the definition.
    lows, highs = (np.array([getattr(b, end) for b in local]) for end in ("low", "high"))
    rank = quantile.shortest(400, 0.3, 0.05).low - 1

    def passed(level):
        closed = np.isfinite(highs)
        parts = np.clip((level - lows[closed]) / (highs - lows)[closed], 0, 1).sum()
        return parts + (level >= lows[~closed]).sum()

    low = whole.interval.low
    assert passed(low - 1e-9) <= rank + 1e-6
    assert passed(low + 1e-6) > rank


def test_a_rank_among_resamples_is_that_of_the_values_drawn():
    rng = np.random.default_rng(3)
    for n, rank in ((1, 0), (30, 0), (30, 29), (500, 24)):
        values = np.round(rng.gamma(2, 0.02, n), 3)
        values[::11] = np.inf
        chosen = rng.integers(0, n, (50, n))
        times = np.stack([np.bincount(row, minlength=n) for row in chosen])
        wanted = np.partition(values[chosen], rank, axis=1)[:, rank]
        assert (_at_rank(values, times, rank) == wanted).all()
