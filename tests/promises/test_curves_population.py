"""Curves of a population keep their promise: by ranks of the inputs, and by walks over levels."""

import numpy as np
import pytest

from surefoot.core.reasons import Why
from surefoot.core.results import Interval
from surefoot.curves import SequentialCurve
from tests.curve_worlds import breaking, drive, within
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
