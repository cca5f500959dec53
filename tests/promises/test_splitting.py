"""Splitting: moves are Poisson where chains mix, and what contradicts that is noticed."""

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, chi2

from surefoot.core.reasons import Why
from surefoot.core.results import RareFailure, Undecided
from surefoot.statistics import Splitting
from surefoot.statistics.splitting import poisson_interval
from tests.claims.rare_worlds import RareWorld, corner, decoy, linear, run_together

SMALL = Splitting(particles=20, runs=2, error=0.1)
RUNS = 60
"""Of each world: too few moves by a twentieth, or half as much variance again, are noticed."""
LEVEL = 0.001


JUMP = RareWorld(lambda z: np.where(z[:, 0] > 4.0, 9.0, z[:, 0]), 1, 5.0, float(ndtr(-4.0)))
"""Past the limit, where every severity is the same: what has failed may be tied."""


@pytest.mark.parametrize(
    "world",
    [linear(1e-2), linear(1e-6), corner(1e-6), JUMP],
    ids=["2", "6", "l∞", "jump"],
)
def test_moves_are_poisson_and_the_interval_covers(world: RareWorld) -> None:
    results = run_together(world, [SMALL.under(1.0)] * RUNS, 1)
    known = [one for one in results if isinstance(one, RareFailure)]
    assert len(known) >= RUNS - 2  # tests that may contradict seldom do by chance
    moves = np.array([one.moves for one in known])
    mean = -SMALL.walkers * math.log(world.failing)
    assert abs(moves.mean() - mean) < 3.3 * math.sqrt(mean / len(known))
    spread = ((moves - moves.mean()) ** 2).sum() / moves.mean()
    assert chi2.sf(spread, len(known) - 1) > LEVEL
    missed = sum(world.failing not in one.interval for one in known)
    assert binom.sf(missed - 1, len(known), SMALL.error) > LEVEL


def test_an_exact_interval_of_a_poisson_number_holds_at_every_mean() -> None:
    for mean in (0.5, 3.0, 40.0):
        failing, moves = math.exp(-mean / 20), np.arange(200)
        weights = np.exp(moves * math.log(mean) - mean - np.cumsum(np.log(np.maximum(moves, 1))))
        around = [poisson_interval(int(m), 20, 0.1) for m in moves]
        covers = sum(w for w, one in zip(weights, around, strict=True) if failing in one)
        assert covers >= 0.9
        left = [poisson_interval(int(m), 20, 0.1, reached=False) for m in moves]
        assert all(
            one.low == 0 and one.high == both.high for one, both in zip(left, around, strict=True)
        )


CONTRADICTED = {
    "a severity with steps": (
        RareWorld(lambda z: np.round(2 * z[:, 0]), 1, 9.0, 3e-6), SMALL, {Why.SEVERITY_TIES}),
    "what was found stays below the limit": (
        RareWorld(lambda z: np.tanh(z[:, 0]), 1, 1.5, 0.0), SMALL, {Why.LEVELS_STALLED}),
    "chains that are too short": (
        linear(1e-6), Splitting(20, 2, chain=1, error=0.1),
        {Why.CHAINS_REMEMBER, Why.CHAINS_STALLED, Why.RUNS_DISAGREE}),
    "a decoy that ends below the limit": (
        decoy(), SMALL, {Why.LEVELS_STALLED, Why.RUNS_DISAGREE}),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTRADICTED)
def test_what_contradicts_the_assumption_leaves_it_undecided(name: str) -> None:
    world, method, reasons = CONTRADICTED[name]
    results = run_together(world, [method.under(1.0)] * 6, 2)
    undecided = [one for one in results if isinstance(one, Undecided)]
    assert len(undecided) >= 5
    assert {one.because.why for one in undecided if one.because} <= reasons
    assert all(one.counted is not None for one in undecided)


def test_a_failure_that_can_be_counted_is_counted() -> None:
    [result] = run_together(linear(2e-3), [SMALL.under(1.0)], 3)
    assert isinstance(result, RareFailure)
    assert result.counted.trials >= 10 / 4e-3
    assert 1 - 2e-3 in result.counted.interval


def test_an_input_far_below_what_is_wanted_is_left_there() -> None:
    method = Splitting(20, 2, error=0.1, least=1e-6)
    [result] = run_together(linear(1e-12), [method.under(1.0)], 4)
    assert isinstance(result, RareFailure)
    assert (result.failure, result.interval.low) == (None, 0.0)
    assert 1e-12 < result.interval.high < 1e-6
    assert 0.8 < result.trials / method.under(1.0).forecast < 1.2
