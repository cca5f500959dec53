"""What the search of a curve must not leave open, and must not spend."""

import numpy as np
import pytest
from pytest import approx

import surefoot as sf
from surefoot.commands.curve import CurveOptions
from surefoot.core.reasons import Why
from surefoot.core.results import Interval
from surefoot.curves import SequentialCurve
from surefoot.curves.levels import LATTICE, MOST_NOISY_LEVELS, Grid
from surefoot.report.views.curve import reading_row
from tests.curve_worlds import breaking, drive, drive_fresh, share_unbroken
from tests.unit.test_tracing import shades, study


@pytest.mark.parametrize("resolution", [0.001, 0.01, 0.5])
@pytest.mark.parametrize("clean", [-0.3, 0.0, 0.011, 0.1249, 0.125, 0.1251, 0.3, 0.51, 0.999, 1.2])
def test_levels_of_the_scan_are_close_wherever_the_clean_level_is(clean, resolution):
    grid = Grid.over(0.0, 1.0, resolution, clean)
    shares = [grid.share(place) for place in sorted(grid.lattice(0.5))]
    assert shares[0] == 0
    assert shares[-1] == 1
    assert min(np.diff(shares)) > 0
    assert max(np.diff(shares)) <= 1 / LATTICE + 1 / grid.cells
    assert grid.level(grid.centre) == min(max(clean, 0.0), 1.0)


@pytest.mark.parametrize("low", [-0.25, -0.2504, -0.2496, -0.3])
def test_a_clean_level_off_the_grid_leaves_nothing_open_beside_it(low):
    """Inputs are right from 0 up to levels of their own, and below 0."""
    critical = 0.05 + 0.9 * np.arange(100) / 100
    curve = drive(SequentialCurve(low, 1.75, size=100), breaking(critical)).curve
    (reading,) = curve.readings
    (crossing,) = reading.crossings
    assert 0.23 in crossing.interval
    assert reading.interval.width == approx(crossing.interval.width / (1.75 - low))


@pytest.mark.parametrize(("critical", "threshold", "share"), [(2.0, 0.999, 1.0), (-1.0, 0.001, 0)])
def test_a_share_of_few_inputs_is_a_multiple_of_one_of_them(critical, threshold, share):
    """Of 70 inputs a rise of one point moves none."""
    world = breaking(np.full(70, critical))
    curve = drive(
        SequentialCurve(0.0, 1.0, (threshold,), assume="bounded-rise:0.01", size=70), world
    ).curve
    assert curve.readings[0].interval == Interval(share, share)


def test_a_contradiction_does_not_spend_more_levels_than_the_error_is_for():
    """Many crossings are refined before the curve comes back at the end of the range."""

    def accuracy(level):
        return 0.95 - 0.9 * level + (0.3 if level > 0.97 else 0.0)

    thresholds = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
    procedure = SequentialCurve(
        0.0, 1.0, thresholds, resolution=1e-5, assume="one-crossing", size=50, fresh=True
    )
    driven = drive_fresh(procedure, accuracy, 1)
    said = driven.curve.contradiction
    assert said.why is Why.ASSUMED_INSTEAD
    assert len(driven.trials_by_level) <= MOST_NOISY_LEVELS


def test_confidence_that_rises_is_not_said_to_fail():
    def world(level):
        return np.full(20, 0.6 + 0.2 * level)

    procedure = SequentialCurve(0.0, 1.0, (0.5,), assume="monotone", measure="confidence", size=20)
    said = drive(procedure, world).curve.contradiction
    assert said.parts == [Why.CONFIDENCE_COMES_BACK.of(102 / 4096, 20)]


def test_no_value_is_stated_where_nothing_is_known():
    inputs, _ = shades(40)
    result = study(inputs, SequentialCurve(0.0, 0.5, (0.8,), scope="population")).run(
        time_limit=1e-9
    )
    (claim,) = result.claims
    assert (claim.value, claim.interval) == (None, Interval(0.0, 1.0))
    curve = result.details.curve
    assert reading_row("", curve, curve.readings[0])[3] == "not known"


def test_a_threshold_may_be_repeated_or_listed():
    repeated, listed = (CurveOptions(threshold=texts) for texts in (["0.8", "0.6"], ["0.8,0.6"]))
    methods = [options.method_on(Interval(0, 2), 1, "sequential") for options in (repeated, listed)]
    assert methods[0] == methods[1] == sf.methods.SequentialCurve(0, 2, (0.8, 0.6))


def steps_down(size):
    """Inputs that break evenly between 0.1 and 0.9 of the range, in a random order."""
    return 0.1 + 0.8 * np.random.default_rng(3).permutation(size) / size


def test_the_value_is_nearer_to_the_crossing_than_the_resolution():
    critical = steps_down(1000)
    errors = []
    for threshold in (0.9, 0.8, 0.7, 0.6, 0.5):
        procedure = SequentialCurve(0.0, 1.0, (threshold,), size=1000)
        (reading,) = drive(procedure, breaking(critical)).curve.readings
        errors.append(abs(reading.value - share_unbroken(critical, threshold, 0.0, 1.0)))
        assert reading.interval.width < 0.03
    assert np.mean(errors) <= 0.0002


def test_an_end_of_the_interval_takes_only_the_inputs_that_make_it_certain():
    """Below 0.9 the hundred that are wrong are enough, above it the nine hundred that are right."""
    critical = steps_down(1000)
    driven = drive(SequentialCurve(0.0, 1.0, (0.9,), size=1000), breaking(critical))
    interval = driven.curve.readings[0].interval
    below, above = (driven.trials_by_level[end] for end in (interval.high, interval.low))
    assert 100 < below < 200
    assert 900 < above < 1000


def test_after_a_contradiction_the_value_is_that_of_levels_looked_at_closely():
    """Eighteen of a hundred inputs fail between 0.3 and 0.5 alone."""
    weak = np.random.default_rng(5).permutation(1000) < 180

    def world(level):
        return ~(weak & (0.3 <= level < 0.5)) * 1.0

    curve = drive(SequentialCurve(0.0, 1.0, (0.9,), size=1000), world).curve
    assert curve.contradiction is not None
    assert curve.readings[0].value == approx(0.8, abs=0.0005)
