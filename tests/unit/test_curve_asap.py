"""ASAP with its corrections."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.core.reasons import Why
from surefoot.core.results import Footing
from surefoot.curves.published import AdaptiveCurve, parabolas_meet
from tests.curve_worlds import drive_until, drive_whole

FINE = 10**9
"""So many inputs that an accuracy is what the curve says."""


def adaptive(curve, curvature=128.0, thresholds=(0.8,), span=(0.0, 1.0), size=FINE, **more):
    return drive_whole(AdaptiveCurve(*span, thresholds, curvature, size=size, **more), curve)


def true_share(curve, threshold, span=(0.0, 1.0), n=200_000):
    levels = span[0] + (span[1] - span[0]) * (np.arange(n) + 0.5) / n
    return float(np.mean(curve(levels) >= threshold))


@pytest.mark.parametrize(("value", "robust"), [(0.8, 1.0), (0.799, 0.0)])
def test_a_flat_curve_on_the_threshold_is_above_and_below_it_is_not(value, robust):
    found = adaptive(lambda level: value, size=1000, grid=64).curve.readings[0]
    assert found.value == robust
    assert robust in found.interval
    assert found.crossings == ()


@pytest.mark.parametrize(("first", "last"), [(0.8, 0.7), (0.7, 0.8)])
def test_a_tie_at_one_end_and_less_at_the_other_is_a_crossing(first, last):
    """The paper's product test says no: (acc - Θ) is 0."""
    assert parabolas_meet(first, last, 1e-14, 0.8)
    assert not parabolas_meet(0.8, 0.9, 1e-14, 0.8)


def smooth(rng, depth):
    """A curve of sines in [0, 1] whose second derivative is at most twice the depth."""
    waves, phase = rng.uniform(1, 14, 4), rng.uniform(0, 2 * np.pi, 4)
    size = rng.dirichlet(np.ones(4))
    bend = np.sum(size * waves**2)
    scale = min(0.49, 2 * depth / bend)
    middle = rng.uniform(0.5 + scale / 2, 1 - scale) if scale < 0.33 else 0.5

    def curve(level):
        return middle + scale * np.sum(
            size * np.sin(np.multiply.outer(level, waves) + phase), axis=-1
        )

    return curve


@pytest.mark.parametrize("depth", [0.5, 2.0, 16.0])
def test_theorem_1_holds_for_curves_that_bend_no_more(depth):
    """The truth lies in the interval, whose width is ε_A."""
    rng = np.random.default_rng(int(10 * depth))
    for _ in range(60):
        curve, threshold = smooth(rng, depth), float(rng.uniform(0.3, 0.95))
        found = adaptive(curve, depth, (threshold,), grid=256)
        reading = found.curve.readings[0]
        truth = true_share(curve, threshold, n=20_000)
        assert reading.interval.low - 1e-4 <= truth <= reading.interval.high + 1e-4
        open_widths = [
            b.level - a.level
            for a, b in pairwise(found.curve.points)
            if parabolas_meet(a.value, b.value, depth * (b.level - a.level) ** 2, threshold)
        ]
        assert reading.interval.width == pytest.approx(sum(open_widths))
        assert all(width < 1 / 256 for width in open_widths)
        assert reading.guarantee.footing is Footing.CONDITIONAL


@pytest.mark.parametrize("span", [(-1.0, 1.0), (0.0, 255.0), (-0.5, 0.5), (3.0, 3.01)])
def test_levels_are_shares_of_the_range_whatever_its_unit(span):
    def at(share):
        return 1 - 0.4 * share**2

    def curve(level):
        return at((level - span[0]) / (span[1] - span[0]))

    plain, other = adaptive(at), adaptive(curve, span=span)
    assert len(plain.trials_by_level) == len(other.trials_by_level)
    assert {span[0], span[1]} <= set(other.trials_by_level)
    assert other.curve.readings[0].value == pytest.approx(plain.curve.readings[0].value, abs=1e-9)


def test_the_smallest_step_says_the_same_as_the_grid():
    by_grid, by_step = adaptive(smile, grid=256), adaptive(smile, step=1 / 256)
    assert by_step == by_grid
    widths = [b.level - a.level for a, b in pairwise(adaptive(smile, step=0.3).curve.points)]
    assert min(widths) == 0.25


def smile(level):
    """Falls below 0.75 in the middle, twice."""
    return 0.75 + 0.2 * np.cos(4 * np.pi * np.asarray(level))


WAVES = {
    # smooth curves with several crossings, as in the paper's Fig. 5
    "two valleys": smile,
    "falls in waves": lambda x: 0.95 - 0.5 * x + 0.1 * np.sin(15 * x),
    "one bump": lambda x: 0.4 + 0.5 * np.exp(-(((x - 0.6) / 0.2) ** 2)),
    "late cliff": lambda x: 0.95 / (1 + np.exp(60 * (x - 0.83))),
}


@pytest.mark.parametrize("curve", WAVES.values(), ids=WAVES)
@pytest.mark.parametrize("size", [1000, FINE])
def test_a_curvature_of_its_own_choice_finds_every_crossing(curve, size):
    found = adaptive(curve, None, (0.7,), size=size)
    reading, truth = found.curve.readings[0], true_share(curve, 0.7)
    levels = np.linspace(0, 1, 50_001)
    assert len(reading.crossings) == np.count_nonzero(np.diff(curve(levels) >= 0.7))
    assert reading.value == pytest.approx(truth, abs=2e-3)
    assert len(found.trials_by_level) < 500
    assert found.curve.notes[0].why is Why.CURVATURE_CHECKED
    assert reading.guarantee.footing is Footing.CONDITIONAL


def test_a_curvature_of_its_own_choice_grows_when_a_stronger_bend_turns_up():
    """A cliff between two of the first nine levels bends more than they show."""
    mild = adaptive(lambda x: 0.9 - 0.05 * x, None, size=1000)
    cliff = adaptive(lambda x: 0.9 - 0.6 * (x > 0.55), None, size=1000, grid=64)
    assert mild.curve.notes[0].values[0] == 2
    assert cliff.curve.notes[0].values[0] > 2
    assert cliff.curve.readings[0].value == pytest.approx(0.55, abs=1 / 64)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([None, 1.0, 64.0]), st.sampled_from([1, 7, 500]))
def test_no_level_is_evaluated_twice_whatever_comes_back(seed, curvature, size):
    """Pure noise: the driver refuses a second question for one level."""
    rng = np.random.default_rng(seed)
    found = adaptive(lambda level: rng.random(), curvature, size=size, grid=64)
    reading = found.curve.readings[0]
    assert 0 <= reading.interval.low <= reading.value <= reading.interval.high <= 1


@pytest.mark.parametrize("as_printed", [False, True])
def test_between_levels_the_curve_lies_where_the_parabolas_allow(as_printed):
    rng = np.random.default_rng(3)
    for _ in range(20):
        curve = smooth(rng, 8.0)
        found = adaptive(lambda x, f=curve: f(x / 4), 8.0, span=(0.0, 4.0), as_printed=as_printed)
        between = found.curve.between
        assert [(b.low, b.high) for b in between] == list(pairwise(sorted(found.trials_by_level)))
        for part in between:
            values = curve(np.linspace(part.low, part.high, 50) / 4)
            assert 0 <= part.lowest <= values.min() + 1e-8
            assert values.max() - 1e-8 <= part.highest <= 1


def stopped(after, curve, curvature=16.0, thresholds=(0.7,), span=(0.0, 1.0), **more):
    recipe = AdaptiveCurve(*span, thresholds, curvature, size=FINE, **more)
    return drive_until(recipe, curve, after).curve


@pytest.mark.parametrize("as_printed", [False, True])
def test_theorem_1_holds_whenever_the_time_is_up(as_printed):
    rng = np.random.default_rng(8)
    for _ in range(8):
        curve, threshold = smooth(rng, 16.0), float(rng.uniform(0.4, 0.9))
        truth, widths = true_share(curve, threshold, n=20_000), []
        for after in range(40):
            found = stopped(after, curve, 16.0, (threshold,), as_printed=as_printed, grid=64)
            (reading,) = found.readings
            assert reading.interval.low - 1e-4 <= truth <= reading.interval.high + 1e-4
            assert reading.value in reading.interval
            assert reading.guarantee.footing is Footing.CONDITIONAL
            widths.append(reading.interval.width)
        assert as_printed or all(b <= a + 1e-12 for a, b in pairwise(widths))


@pytest.mark.parametrize("more", [{}, {"curvature": None}, {"as_printed": True}])
def test_a_curve_that_is_stopped_says_after_how_many_levels(more):
    for after in (0, 1, 2, 5):
        found = stopped(after, smile, **more)
        note = Why.STOPPED_EARLY.of(after)
        assert found.notes[0] == note
        assert (len(found.points), found.trials) == (after, after * FINE)
        assert (len(found.notes) == 2) == ("curvature" in more)
        assert found.notes[-1].why in (Why.CURVATURE_NOT_CHECKED, note.why)
