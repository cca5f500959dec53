"""Curves keep their promises: tried at steps, ties, flats and edges, and never asking twice.

The driver in `tests.curve_worlds` refuses a second question for one input at one level.
"""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.results import Footing, Interval
from surefoot.search import SequentialCurve
from tests.curve_worlds import (
    breaking,
    drive,
    flickering,
    recovering,
    share_at_least,
    share_flickering,
    share_unbroken,
    wiggle_at,
    within,
)


def plateau(rng, n, kept=0.8):
    """Exactly on the threshold from 0.2 to 0.6."""
    good = int(np.ceil(kept * n - 1e-9))
    return rng.permutation(np.repeat([0.6, 0.2], [good, n - good]))


SHAPES = {
    "bell": lambda rng, n: rng.normal(0.5, 0.2, n),
    "steep": lambda rng, n: rng.normal(rng.uniform(), 0.003, n),
    "step": lambda rng, n: np.full(n, rng.uniform()),
    "early": lambda rng, n: rng.exponential(0.3, n),
    "two cliffs": lambda rng, n: rng.choice([0.2, 0.7], n) + rng.normal(0, 0.01, n),
    "flat near 0.8": lambda rng, n: np.where(
        rng.random(n) < 0.8, rng.uniform(0.9, 3, n), rng.uniform(0, 0.1, n)
    ),
    "on the threshold": plateau,
    "on the grid": lambda rng, n: rng.integers(0, 9, n) / 8,
    "never or always": lambda rng, n: rng.choice([-2.0, 2.0], n),
    "always": lambda rng, n: np.full(n, 2.0),
    "never": lambda rng, n: np.full(n, -2.0),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 2, 3, 10, 100, 400])
def test_a_set_that_breaks_one_way_is_caught_to_the_precision(shape, size):
    for seed in range(3):
        critical = SHAPES[shape](np.random.default_rng(seed), size)
        result = drive(SequentialCurve(0.0, 1.0, size=size), breaking(critical)).curve
        (reading,) = result.readings
        truth = share_unbroken(critical, 0.8, 0.0, 1.0)
        assert within(truth, reading.interval)
        assert reading.interval.width <= 0.00101
        assert abs(reading.value - truth) <= 0.00101
        assert reading.guarantee.footing is Footing.CONDITIONAL
        assert reading.guarantee.condition.endswith("goes one way, up or down, from 0 to 1")
        assert result.notes == ()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.sampled_from(sorted(SHAPES)),
    size=st.sampled_from([1, 4, 9, 40, 150]),
    threshold=st.sampled_from([0.01, 0.3, 0.5, 0.8, 0.995, 1.0]),
    span=st.sampled_from([(-1.0, 1.0), (-5.0, -4.9), (0.0, 255.0), (1e-3, 2e-3)]),
    resolution=st.sampled_from([0.001, 0.02, 0.5]),
    rises=st.booleans(),
    cuts=st.lists(st.integers(1, 99), max_size=4),
)
def test_any_threshold_range_and_direction(
    seed, shape, size, threshold, span, resolution, rises, cuts
):
    low, high = span
    critical = low + (high - low) * SHAPES[shape](np.random.default_rng(seed), size)
    breaks = tuple(low + (high - low) * cut / 100 for cut in cuts)
    procedure = SequentialCurve(
        low, high, (threshold,), resolution=resolution, breaks=breaks, size=size
    )
    result = drive(procedure, (recovering if rises else breaking)(critical)).curve
    truth = (
        share_unbroken(-critical, threshold, -high, -low)
        if rises
        else share_unbroken(critical, threshold, low, high)
    )
    assert within(truth, result.readings[0].interval)
    assert result.readings[0].interval.width <= 1.01 * resolution


def constant(size, kept, seed):
    """As many inputs hold at every level, but others each time: a curve without a slope."""

    def world(level):
        rng = np.random.default_rng([seed, int(level * 2**40)])
        return rng.permutation(np.repeat([1.0, 0.0], [kept, size - kept]))

    return world


@pytest.mark.parametrize("kept", [159, 160, 130])
def test_a_flat_curve_of_a_set_at_the_edge_is_seldom_taken_for_the_other_side(kept):
    """Every level is a new chance to be wrong; 0.8 of 200 is 160. Seeded: 1 in 20 allowed."""
    missed = 0
    for seed in range(20):
        procedure = SequentialCurve(0.0, 1.0, error=0.05, size=200)
        result = drive(procedure, constant(200, kept, seed)).curve
        apart = any(kept / 200 not in p.interval for p in result.points)
        missed += apart or not within(float(kept >= 160), result.readings[0].interval)
    assert missed <= 1


def waving(size, wiggle, seed, accuracy):
    """Inputs that come and go by slow waves of their own."""
    rng = np.random.default_rng(seed)
    place = (rng.permutation(size) + 0.5) / size
    phase, speed = rng.uniform(0, 2 * np.pi, (size, 3)), rng.uniform(1, 12, (size, 3))

    def world(level):
        wave = np.sin(2 * np.pi * speed * level + phase).sum(axis=1) / np.sqrt(1.5)
        return (place + wiggle * wave < accuracy(level)) * 1.0

    return world


@pytest.mark.parametrize("wiggle", [0.003, 0.01])
def test_inputs_that_come_and_go_a_little_leave_the_truth_inside(wiggle):
    """The truth on a grid of 1,000 levels, so half a thousandth is its own. 1 in 30 allowed."""
    missed = 0
    for seed in range(30):
        world = waving(200, wiggle, seed, lambda x: 1 / (1 + np.exp(8 * (x - 0.5))))
        result = drive(SequentialCurve(0.0, 1.0, size=200), world).curve.readings[0]
        truth = share_at_least(world, 0.8, 0.0, 1.0, 1000)
        wide = Interval(result.interval.low - 5e-4, result.interval.high + 5e-4)
        missed += truth not in wide
    assert missed <= 1


def stated(assumption):
    """The wiggle that a result takes for granted, as a share."""
    result = re.search(r"wiggles of up to ([\d.]+) points?", assumption)
    return float(result[1]) / 100 if result else 0.0


@pytest.mark.parametrize(("pause", "least"), [(0.0005, 1), (0.005, 10), (0.02, 15)])
def test_inputs_that_flicker_no_more_than_stated_leave_the_truth_inside(pause, least):
    """Each fails, recovers, fails, recovers and fails within some four pauses.

    The promise is on the condition that the curve comes back across the threshold by no more than
    the wiggle stated; how far it does is known here. Where it is more, nothing is promised: the
    shorter the flickers are, the fewer of them are seen. `least` of the 20 must be a trial.
    """
    true = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pauses = rng.exponential(pause, (100, 5))
        turns = rng.normal(0.5, 0.2, (100, 1)) + np.cumsum(pauses, axis=1)
        result = drive(SequentialCurve(0.0, 1.0, size=100), flickering(turns)).curve.readings[0]
        assert result.guarantee.footing is Footing.CONDITIONAL
        if wiggle_at(turns, 0.8, 0.0, 1.0) <= stated(result.guarantee.condition) + 1e-9:
            true += 1
            assert within(share_flickering(turns, 0.8, 0.0, 1.0), result.interval)
    assert true >= least


def valley(size, seed, centre=0.5, half=0.2):
    """Each input fails within its own distance from the centre, if at all."""
    reach = np.random.default_rng(seed).normal(half, 0.05, size)
    return reach, lambda level: (np.abs(level - centre) > reach) * 1.0


@pytest.mark.parametrize("size", [20, 300])
@pytest.mark.parametrize("centre", [0.0, -0.31])
def test_a_valley_is_read_on_both_sides_of_its_break(size, centre):
    for seed in range(5):
        reach, world = valley(size, seed, centre)
        procedure = SequentialCurve(-1.0, 1.0, breaks=(centre,), size=size)
        result = drive(procedure, world).curve
        (reading,) = result.readings
        last = np.sort(reach)[int(np.ceil(0.8 * size)) - 1]
        assert within(1 - last, reading.interval)
        assert reading.interval.width <= 2.02e-3
        assert [c.falls for c in reading.crossings] == [True, False]
        assert [c.level for c in reading.crossings] == pytest.approx(
            [centre - last, centre + last], abs=2.02e-3
        )


@pytest.mark.parametrize("half", [0.2, 0.1, 0.02, 0.004])
@pytest.mark.parametrize("centre", [0.5, 0.47])
def test_a_valley_nobody_spoke_of_is_found_or_the_guarantee_names_what_it_rests_on(half, centre):
    order = np.random.default_rng(1).permutation(100)

    def world(level):
        return (order < (50 if abs(level - centre) < half else 90)) * 1.0

    result = drive(SequentialCurve(0.0, 1.0, size=100), world).curve
    (reading,) = result.readings
    if half >= 0.1:
        assert within(1 - 2 * half, reading.interval)
        assert reading.guarantee.footing is Footing.CONDITIONAL
        assert "stays on that side" in reading.guarantee.condition
        assert "does not go one way" in result.notes[0]
    if not within(1 - 2 * half, reading.interval):
        assert "one way" in reading.guarantee.condition


@pytest.mark.parametrize("size", [50, 1000])
def test_a_curve_no_rougher_than_said_is_covered_without_going_one_way(size):
    """0.75 + 0.2 cos(4 pi x) bends by 0.1 (4 pi)² = 15.8; one input more or less is 1/size."""

    def world(level):
        kept = np.floor(size * (0.75 + 0.2 * np.cos(4 * np.pi * level)) + 1e-9)
        return (order < kept) * 1.0

    for seed in range(4):
        order = np.random.default_rng(seed).permutation(size)
        procedure = SequentialCurve(0.0, 1.0, (0.7,), curvature=40.0, resolution=0.01, size=size)
        result = drive(procedure, world).curve
        (reading,) = result.readings
        assert reading.guarantee.footing is Footing.CONDITIONAL
        assert "depth 40" in reading.guarantee.condition
        truth = share_at_least(world, 0.7, 0.0, 1.0, 4000)
        wide = Interval(reading.interval.low - 5e-4, reading.interval.high + 5e-4)
        assert truth in wide


@pytest.mark.parametrize("shape", ["bell", "two cliffs", "on the grid", "step"])
def test_several_thresholds_at_once_are_read_as_one_by_one(shape):
    thresholds = (0.9, 0.8, 0.1)
    for seed in range(2):
        critical = SHAPES[shape](np.random.default_rng(seed), 150)
        together = drive(SequentialCurve(0.0, 1.0, thresholds, size=150), breaking(critical))
        spent = 0
        for threshold, reading in zip(thresholds, together.curve.readings, strict=True):
            alone = drive(SequentialCurve(0.0, 1.0, (threshold,), size=150), breaking(critical))
            truth = share_unbroken(critical, threshold, 0.0, 1.0)
            spent += alone.curve.trials
            for one in (reading, alone.curve.readings[0]):
                assert one.threshold == threshold
                assert within(truth, one.interval)
                assert abs(one.value - truth) <= 0.00101
        assert together.curve.trials < spent


@pytest.mark.parametrize("size", [1, 25, 300])
@pytest.mark.parametrize("over", ["set", "population"])
def test_mean_confidence_is_caught_too(over, size):
    """Every input's confidence falls from its own start by its own slope, in the mean by 0.5."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        start, slope = rng.uniform(0.8, 1.0, size), rng.uniform(0.2, 0.8, size)

        def world(level, start=start, slope=slope):
            return start - slope * level

        procedure = SequentialCurve(
            0.0, 1.0, (0.6,), measure="confidence", scope=over, size=size, resolution=0.005
        )
        (reading,) = drive(procedure, world).curve.readings
        truth = (start.mean() - 0.6) / slope.mean() if over == "set" else 0.6
        assert within(min(truth, 1.0), reading.interval)
        if over == "set":
            assert reading.interval.width <= 0.0051
