"""Curves of a population, and of an expectation over fresh draws, keep their promise."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from surefoot.core.reasons import Why
from surefoot.core.results import Interval
from surefoot.curves import SequentialCurve
from surefoot.curves.levels import MOST_DRAWS, MOST_NOISY_LEVELS
from tests.curve_worlds import breaking, drive, drive_fresh, within
from tests.rates import Runs

RANKS, WALKS = ("monotone",), ("bounded-rise", "one-crossing")
BOTH = RANKS + WALKS
ERROR = 0.05
REFERENCE = {(200, 0.8): 0.114, (1000, 0.5): 0.064}
"""Widths of Clopper-Pearson at fixed levels with all inputs, tested in order from each end."""


def run(critical, assume, thresholds=(0.8,), **more):
    procedure = SequentialCurve(
        0.0, 1.0, thresholds, ERROR, assume=assume, scope="population", size=len(critical), **more
    )
    return drive(procedure, breaking(critical)).curve


@pytest.mark.parametrize("assume", BOTH)
@pytest.mark.parametrize(("size", "many"), [(1, 6), (20, 12), (200, 8), (1000, 6)])
def test_uniform_critical_levels_are_covered(size, many, assume):
    """A new sample each time; both thresholds are to hold at once. A search for ranks is slow."""
    thresholds = (0.8, 0.5) if assume in WALKS else (0.8,)
    runs = Runs(many if assume in WALKS else many // 2, ERROR)
    for seed in runs:
        critical = np.random.default_rng([seed, size]).uniform(size=size)
        readings = run(critical, assume, thresholds).readings
        runs.false += not all(within(1 - r.threshold, r.interval) for r in readings)
    assert not runs.too_often


@pytest.mark.parametrize("assume", BOTH)
@pytest.mark.parametrize(("size", "threshold"), REFERENCE)
def test_intervals_are_not_much_wider_than_the_data_ask_for(size, threshold, assume):
    """A rise of two inputs or half a point costs as much on one side: the curve falls by 1."""
    widths = [
        run(np.random.default_rng([seed, 3]).uniform(size=size), assume, (threshold,))
        .readings[0].interval.width
        for seed in range(2)
    ]  # fmt: skip
    besides = max(0.005, 2 / size) if assume == "bounded-rise" else 0.0
    assert np.mean(widths) <= 1.5 * REFERENCE[size, threshold] + besides


def cliff(rng, n):
    """Half of the inputs fail at one level, the others beyond the range."""
    return np.where(rng.random(n) < 0.5, 0.37, 2.0)


def at_the_threshold(rng, n):
    """The population's curve is exactly 0.8 from 0.2 to 0.6."""
    return np.where(rng.random(n) < 0.8, 0.6, 0.2)


def early(rng, n):
    """A tenth are wrong already when clean."""
    return np.where(rng.random(n) < 0.1, -1.0, rng.exponential(0.5, n))


WORLDS = {
    "cliff": (cliff, (0.37, 0.37)),
    "at the threshold": (at_the_threshold, (0.6, 0.2)),
    "early": (early, (-0.5 * np.log(0.8 / 0.9), -0.5 * np.log(0.8 / 0.9))),
}


@pytest.mark.parametrize("assume", BOTH)
@pytest.mark.parametrize("name", WORLDS)
def test_cliffs_and_flats_are_covered(name, assume):
    """On a flat exactly at the threshold an interval must hold its end: there it still is."""
    sample, (truth, _) = WORLDS[name]
    runs = Runs(10, ERROR)
    for seed in runs:
        (reading,) = run(sample(np.random.default_rng([seed, 9]), 100), assume).readings
        runs.false += not within(truth, reading.interval)
    assert not runs.too_often


@pytest.mark.parametrize("assume", BOTH)
@pytest.mark.parametrize("clean", [0.5, 0.3])
def test_a_range_with_the_clean_level_inside_is_covered(clean, assume):
    """Inputs fail at a uniform distance from the clean level, another one on each side."""
    runs = Runs(4, ERROR)
    reach = 0.5
    truth = min(0.2 * reach, clean) + min(0.2 * reach, 1 - clean)
    for seed in runs:
        left, right = np.random.default_rng([seed, 4]).uniform(0, reach, (2, 200))

        def world(level, left=left, right=right):
            return ((level - clean < right) & (clean - level < left)) * 1.0

        procedure = SequentialCurve(
            0.0, 1.0, (0.8,), ERROR, assume=assume, scope="population", size=200, clean=clean
        )
        curve = drive(procedure, world).curve
        (reading,) = curve.readings
        assert curve.contradiction is None
        assert all(c.interval.high <= clean or c.interval.low >= clean for c in reading.crossings)
        assert [c.falls for c in reading.crossings] == [False, True]
        runs.false += not within(truth, reading.interval)
    assert not runs.too_often


@pytest.mark.parametrize("assume", BOTH)
@pytest.mark.parametrize("size", [1, 30, 300])
def test_inputs_that_are_always_right_or_always_wrong(size, assume):
    (right,) = run(np.full(size, 2.0), assume).readings
    (wrong,) = run(np.full(size, -1.0), assume).readings
    assert right.interval.high == 1
    assert wrong.interval.low == 0
    assert right.crossings == wrong.crossings == ()
    # 30 right of 30 say more than 0.8, but not by two inputs; one input says nothing of 0.8
    if size > (30 if assume == "bounded-rise" else 1):
        assert right.interval == Interval(1.0, 1.0)
        assert wrong.interval == Interval(0.0, 0.0)


def test_two_thresholds_at_once_are_covered_by_ranks():
    runs = Runs(4, ERROR)
    for seed in runs:
        critical = np.random.default_rng([seed, 2]).uniform(size=50)
        readings = run(critical, "monotone", (0.8, 0.5), resolution=0.01).readings
        runs.false += not all(within(1 - r.threshold, r.interval) for r in readings)
    assert not runs.too_often


@pytest.mark.parametrize("assume", BOTH)
def test_one_input_says_next_to_nothing(assume):
    """Nothing for 0.8 at 95 %."""
    for critical in (0.0, 0.5, 1.0):
        (reading,) = run(np.array([critical]), assume).readings
        assert reading.interval == Interval(0.0, 1.0)


@pytest.mark.parametrize("assume", WALKS)
def test_a_population_that_flickers_is_covered_by_walks(assume):
    """Half of the inputs are flipped once, for 0.08 of the range: the curve itself is smooth."""
    runs = Runs(10, ERROR)
    flipped = 0.5 * 0.08 / 1.08
    truth = 1 - (0.8 - flipped) / (1 - 2 * flipped)
    for seed in runs:
        rng = np.random.default_rng([seed, 6])
        critical, begin = rng.uniform(size=300), rng.uniform(-0.08, 1, 300)
        begin[rng.random(300) < 0.5] = 2.0

        def world(level, critical=critical, begin=begin):
            return ((level < critical) != ((begin <= level) & (level < begin + 0.08))) * 1.0

        procedure = SequentialCurve(
            0.0, 1.0, (0.8,), ERROR, assume=assume, scope="population", size=300
        )
        runs.false += not within(truth, drive(procedure, world).curve.readings[0].interval)
    assert not runs.too_often


def test_inputs_that_recover_give_no_interval_by_ranks():
    def world(level):
        return np.repeat([level < 0.5, not 0.2 <= level < 0.6], 50) * 1.0

    procedure = SequentialCurve(0.0, 1.0, assume="monotone", scope="population", size=100)
    curve = drive(procedure, world).curve
    assert curve.contradiction.why is Why.NO_INTERVAL
    assert curve.readings[0].interval == Interval(0.0, 1.0)


@pytest.mark.parametrize("assume", WALKS)
@pytest.mark.parametrize("size", [1, 25, 300])
def test_mean_confidence_of_a_population_is_covered(size, assume):
    """Every input's confidence falls from its own start by its own slope, in the mean by 0.5."""
    runs = Runs(6, ERROR)
    for seed in runs:
        rng = np.random.default_rng(seed)
        start, slope = rng.uniform(0.8, 1.0, size), rng.uniform(0.2, 0.8, size)
        procedure = SequentialCurve(
            0.0, 1.0, (0.6,), ERROR, measure="confidence", assume=assume, scope="population",
            size=size,
        )  # fmt: skip
        (reading,) = drive(procedure, lambda x, a=start, b=slope: a - b * x).curve.readings
        runs.false += not within(0.6, reading.interval)
    assert not runs.too_often


ASSUMPTIONS = ("bounded-rise", "one-crossing")
MARGINS = np.random.default_rng(5).lognormal(-1.3, 0.5, 200)
"""Of 200 inputs of a linear model: under noise of level s a trial is right with Φ(margin / s)."""


def linear(level):
    return float(norm.cdf(MARGINS / max(level, 1e-9)).mean())


LINEAR_CROSSING = float(brentq(lambda level: linear(level) - 0.8, 0.01, 1.0))


def run_fresh(accuracy, assume, seed, thresholds=(0.8,), **more):
    procedure = SequentialCurve(
        0.0, 1.0, thresholds, ERROR, assume=assume, size=200, fresh=True, **more
    )
    return drive_fresh(procedure, accuracy, seed).curve


@cache
def linear_run(assume, seed):
    """Of which several tests ask different things."""
    return run_fresh(linear, assume, seed)


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
        assert (
            run_fresh(lambda level: 0.9 - 0.4 * level, "bounded-rise", seed).contradiction is None
        )


@pytest.mark.parametrize("assume", ASSUMPTIONS)
def test_a_flat_at_the_threshold_ends_undecided(assume):
    """It may be on either side, so both ends of the interval must be there; and it ends."""
    for seed in range(2):
        curve = run_fresh(lambda level: 0.8, assume, seed)
        assert curve.readings[0].interval == Interval(0.0, 1.0)
        assert curve.trials <= MOST_NOISY_LEVELS * MOST_DRAWS
        assert len(curve.points) <= MOST_NOISY_LEVELS


@pytest.mark.parametrize("assume", ASSUMPTIONS)
@pytest.mark.parametrize("beside", [-0.004, 0.001])
def test_a_flat_beside_the_threshold_is_seldom_on_the_wrong_side(beside, assume):
    runs = Runs(4, ERROR)
    for seed in runs:
        (reading,) = run_fresh(lambda level: 0.8 + beside, assume, seed).readings
        runs.false += not within(float(beside > 0), reading.interval)
    assert not runs.too_often


@pytest.mark.parametrize("assume", ASSUMPTIONS)
def test_a_cliff_between_levels_is_covered(assume):
    runs = Runs(6, ERROR)
    for seed in runs:
        at = np.random.default_rng(seed).uniform(0.05, 0.95)
        (reading,) = run_fresh(lambda x, at=at: 0.9 if x < at else 0.3, assume, seed).readings
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
        curve = run_fresh(accuracy, assume, seed)
        assert [part.why for part in curve.contradiction.parts] == [Why.RISES]
        runs.false += not within(truth, curve.readings[0].interval)
    assert not runs.too_often


@pytest.mark.parametrize("assume", ASSUMPTIONS)
def test_each_of_several_thresholds_is_covered(assume):
    thresholds, runs = (0.9, 0.8, 0.7), Runs(3, ERROR)
    truths = [brentq(lambda level, t=t: linear(level) - t, 0.01, 1.0) for t in thresholds]
    for seed in runs:
        readings = run_fresh(linear, assume, seed, thresholds).readings
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
        curve = run_fresh(linear, "monotone", seed)
        assert curve.contradiction is None
        assert within(LINEAR_CROSSING, curve.readings[0].interval)


def test_a_range_with_the_clean_level_inside():
    runs = Runs(3, ERROR)
    for seed in runs:
        curve = run_fresh(
            lambda x: 0.95 - 0.5 * abs(x - 0.4387), "bounded-rise", seed, clean=0.4387
        )
        assert 0.4387 in {point.level for point in curve.points}
        (reading,) = curve.readings
        assert [c.falls for c in reading.crossings] == [False, True]
        runs.false += not within(0.6, reading.interval)
    assert not runs.too_often
