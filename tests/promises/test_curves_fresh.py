"""Curves of an expectation over fresh draws of the noise keep their promise.

Every trial is an independent draw of an input and of the noise; the driver refuses a trial that is
run twice, at whatever levels.
"""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from surefoot.core.reasons import Why
from surefoot.core.results import Interval
from surefoot.curves import SequentialCurve
from surefoot.curves.levels import MOST_DRAWS, MOST_NOISY_LEVELS
from tests.curve_worlds import drive_fresh, within
from tests.rates import Runs

ERROR = 0.05
ASSUMPTIONS = ("bounded-rise", "one-crossing")
MARGINS = np.random.default_rng(5).lognormal(-1.3, 0.5, 200)
"""Of 200 inputs of a linear model: under noise of level s a trial is right with Φ(margin / s)."""


def linear(level):
    return float(norm.cdf(MARGINS / max(level, 1e-9)).mean())


LINEAR_CROSSING = float(brentq(lambda level: linear(level) - 0.8, 0.01, 1.0))


def run(accuracy, assume, seed, thresholds=(0.8,), **more):
    procedure = SequentialCurve(
        0.0, 1.0, thresholds, ERROR, assume=assume, size=200, fresh=True, **more
    )
    return drive_fresh(procedure, accuracy, seed).curve


@cache
def linear_run(assume, seed):
    """Of which several tests ask different things."""
    return run(linear, assume, seed)


@pytest.mark.parametrize("assume", ASSUMPTIONS)
def test_the_expected_crossing_of_a_linear_model_is_covered(assume):
    """With one draw for each input the interval was false in 40 of 40 seeds."""
    runs = Runs(6, ERROR)
    for seed in runs:
        (reading,) = linear_run(assume, seed).readings
        runs.false += not within(LINEAR_CROSSING, reading.interval)
    assert not runs.too_often


@pytest.mark.parametrize(("assume", "widest"), [("bounded-rise", 0.085), ("one-crossing", 0.05)])
def test_the_expected_crossing_of_a_linear_model_is_narrowed_down(assume, widest):
    """The curve falls by 0.9 there, so a rise of a point is 0.011 of the range."""
    widths = [linear_run(assume, seed).readings[0].interval.width for seed in range(3)]
    assert np.mean(widths) < widest


def test_the_noise_of_draws_contradicts_nothing():
    for seed in range(3):
        assert run(lambda level: 0.9 - 0.4 * level, "bounded-rise", seed).contradiction is None


@pytest.mark.parametrize("assume", ASSUMPTIONS)
def test_a_flat_at_the_threshold_ends_undecided(assume):
    """It may be on either side, so both ends of the interval must be there; and it ends."""
    for seed in range(2):
        curve = run(lambda level: 0.8, assume, seed)
        assert curve.readings[0].interval == Interval(0.0, 1.0)
        assert curve.trials <= MOST_NOISY_LEVELS * MOST_DRAWS
        assert len(curve.points) <= MOST_NOISY_LEVELS


@pytest.mark.parametrize("assume", ASSUMPTIONS)
@pytest.mark.parametrize("beside", [-0.004, 0.001])
def test_a_flat_beside_the_threshold_is_seldom_on_the_wrong_side(beside, assume):
    runs = Runs(4, ERROR)
    for seed in runs:
        (reading,) = run(lambda level: 0.8 + beside, assume, seed).readings
        runs.false += not within(float(beside > 0), reading.interval)
    assert not runs.too_often


@pytest.mark.parametrize("assume", ASSUMPTIONS)
def test_a_cliff_between_levels_is_covered(assume):
    runs = Runs(6, ERROR)
    for seed in runs:
        at = np.random.default_rng(seed).uniform(0.05, 0.95)
        (reading,) = run(lambda x, at=at: 0.9 if x < at else 0.3, assume, seed).readings
        runs.false += not within(at, reading.interval)
        assert reading.interval.width < 0.03
    assert not runs.too_often


@pytest.mark.parametrize("assume", ASSUMPTIONS)
def test_two_falls_contradict_what_is_assumed(assume):
    levels, accuracies = [0, 0.2, 0.3, 0.5, 0.6, 0.8, 1.0], [0.95, 0.9, 0.7, 0.7, 0.9, 0.9, 0.5]

    def accuracy(level):
        return float(np.interp(level, levels, accuracies))

    truth, runs = 0.25 + (0.85 - 0.55), Runs(3, ERROR)
    for seed in runs:
        curve = run(accuracy, assume, seed)
        assert [part.why for part in curve.contradiction.parts] == [Why.RISES]
        runs.false += not within(truth, curve.readings[0].interval)
    assert not runs.too_often


@pytest.mark.parametrize("assume", ASSUMPTIONS)
def test_each_of_several_thresholds_is_covered(assume):
    thresholds, runs = (0.9, 0.8, 0.7), Runs(3, ERROR)
    truths = [brentq(lambda level, t=t: linear(level) - t, 0.01, 1.0) for t in thresholds]
    for seed in runs:
        readings = run(linear, assume, seed, thresholds).readings
        runs.false += not all(within(t, r.interval) for t, r in zip(truths, readings, strict=True))
    assert not runs.too_often


def test_points_of_noise_hold_together():
    runs = Runs(6, ERROR)
    for seed in runs:
        points = linear_run("bounded-rise", seed).points
        runs.false += any(not within(linear(point.level), point.interval) for point in points)
    assert not runs.too_often


def test_monotone_inputs_say_nothing_where_every_trial_has_its_own_draw():
    """An input that failed with one draw may hold with the next: only the curve is used."""
    for seed in range(2):
        curve = run(linear, "monotone", seed)
        assert curve.contradiction is None
        assert within(LINEAR_CROSSING, curve.readings[0].interval)


def test_a_range_with_the_clean_level_inside():
    runs = Runs(3, ERROR)
    for seed in runs:
        curve = run(lambda x: 0.95 - 0.5 * abs(x - 0.4387), "bounded-rise", seed, clean=0.4387)
        assert 0.4387 in {point.level for point in curve.points}
        (reading,) = curve.readings
        assert [c.falls for c in reading.crossings] == [False, True]
        runs.false += not within(0.6, reading.interval)
    assert not runs.too_often
