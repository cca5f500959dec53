"""From points to robustness, and the parabolas and grids that it rests on."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from surefoot.results import Footing, Guarantee, Interval, Point
from surefoot.search.reading import lowest, read, same_side, share_above, stays
from surefoot.search.segments import Segment, Stretch, segments

PROMISE = Guarantee(Footing.SOUND, 0.05)
unit = st.floats(0, 1)


def exact(*pairs):
    return [Point(level, 10, value, Interval(value, value)) for level, value in pairs]


def reading(points, threshold=0.8, **more):
    return read(points, threshold, PROMISE, **more)


def whole(found):
    return (found.interval.low, found.interval.high, found.value)


@pytest.mark.parametrize(
    ("value", "robust"), [(0.8, 1.0), (0.9, 1.0), (1.0, 1.0), (0.7999999, 0.0), (0.0, 0.0)]
)
def test_a_tie_counts_as_above_and_a_hair_less_does_not(value, robust):
    found = reading(exact((0, value), (1, value)))
    assert whole(found) == (robust, robust, robust)
    assert found.crossings == ()


def test_one_crossing_is_open_between_its_neighbours_and_guessed_by_a_straight_line():
    found = reading(exact((2, 1.0), (3, 0.9), (4, 0.7), (6, 0.0)))
    assert whole(found) == pytest.approx((0.25, 0.5, 0.375))
    (crossing,) = found.crossings
    assert (crossing.level, crossing.interval, crossing.falls) == (
        pytest.approx(3.5),
        Interval(3, 4),
        True,
    )


def test_a_rising_curve_is_read_the_other_way_round():
    (crossing,) = reading(exact((0, 0.7), (1, 0.9))).crossings
    assert not crossing.falls
    assert crossing.level == pytest.approx(0.5)


def test_several_crossings_each_have_their_place():
    found = reading(exact((0, 0.9), (1, 0.9), (2, 0.7), (3, 0.7), (4, 0.9), (5, 0.9)))
    assert whole(found) == pytest.approx((0.4, 0.8, 0.6))
    assert [c.interval for c in found.crossings] == [Interval(1, 2), Interval(3, 4)]
    assert [c.falls for c in found.crossings] == [True, False]
    assert [c.level for c in found.crossings] == pytest.approx([1.5, 3.5])


def test_undecided_ends_leave_their_part_open():
    loose = [Point(0, 5, 0.9, Interval(0.6, 1.0)), *exact((1, 0.9), (2, 0.9))]
    loose.append(Point(3, 5, 0.7, Interval(0.5, 0.85)))
    found = reading(loose)
    assert whole(found) == pytest.approx((1 / 3, 1.0, 2.5 / 3))
    assert found.crossings == ()


def test_nothing_decided_means_anything_is_possible():
    points = [Point(level, 3, 0.9, Interval(0.1, 1.0)) for level in (0, 1)]
    assert whole(reading(points)) == (0.0, 1.0, 1.0)


def test_points_nearer_to_the_threshold_than_wiggles_settle_nothing():
    points = exact((0, 0.95), (1, 0.81), (2, 0.78), (3, 0.5))
    assert whole(reading(points))[:2] == pytest.approx((1 / 3, 2 / 3))
    wavy = (Stretch(0, 3, 0.025),)
    assert reading(points, stretches=wavy).interval == Interval(0.0, 1.0)


def test_a_point_just_as_far_above_as_wiggles_reach_does_settle():
    """0.8 + 0.03 is a little more than 0.83 in binary."""
    wavy = (Stretch(0, 1, 0.03),)
    assert reading(exact((0, 0.83), (1, 0.83)), stretches=wavy).interval == Interval(1.0, 1.0)


def test_wiggles_of_one_stretch_unsettle_nothing_in_another():
    points = exact((0, 0.81), (1, 0.81), (2, 0.81))
    wavy = (Stretch(0, 1, 0.02), Stretch(1, 2))
    assert reading(points, stretches=wavy).interval == Interval(0.5, 1.0)


@pytest.mark.parametrize("falls", [True, False])
def test_the_way_a_curve_goes_settles_the_end_beyond_a_sure_level(falls):
    """Before a level above by the wiggle, a falling curve is above, looked at or not."""
    loose = Point(0, 5, 0.9, Interval(0.6, 1.0))
    points = [loose, *exact((1, 0.83), (2, 0.76), (3, 0.5))]
    if not falls:
        points = [replace(p, level=3 - p.level) for p in points[::-1]]
    wavy = Stretch(0, 3, 0.03)
    assert reading(points, stretches=(wavy,)).interval.low == 0
    sure = reading(points, stretches=(replace(wavy, falls=falls),))
    assert (sure.interval.low, sure.interval.high) == pytest.approx((1 / 3, 2 / 3))


def test_the_guess_may_meet_half_a_count_below_the_threshold():
    points = exact((0, 0.8), (1, 0.7))
    assert reading(points).value == 0
    assert reading(points, middle=0.75).value == pytest.approx(0.5)


@given(st.lists(unit, min_size=2, max_size=12), st.floats(0.01, 1))
def test_values_lie_in_their_intervals_and_crossings_alternate(values, threshold):
    points = exact(*enumerate(values))
    found = reading(points, threshold)
    assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1
    assert all(a.falls != b.falls for a, b in pairwise(found.crossings))
    assert all(c.level in c.interval for c in found.crossings)
    known = sum(min(a, b) >= threshold for a, b in pairwise(values)) / (len(values) - 1)
    assert found.interval.low == pytest.approx(known)


@given(unit, unit, st.floats(0.01, 1))
def test_the_share_above_is_that_of_the_straight_line(a, b, threshold):
    assume(a == b or abs(a - b) > 1e-9)  # the grid rounds too
    line = np.interp((np.arange(4000) + 0.5) / 4000, [0, 1], [a, b])
    share = share_above(exact((0, a), (1, b)), threshold)
    assert share == pytest.approx(np.mean(line >= threshold), abs=4e-4)


@given(unit, unit, st.floats(0, 600))
def test_the_lowest_point_of_the_parabola_is_where_a_grid_finds_it(first, last, depth):
    x = np.linspace(0, 1, 2001)
    parabola = first + (last - first) * x - depth * x * (1 - x)
    found = lowest(first, last, depth)
    assert found <= parabola.min() + 1e-12
    assert found >= parabola.min() - depth * (0.5 / 2000) ** 2 - 1e-12
    assert found <= min(first, last)


@given(unit, unit, st.floats(0.01, 1), st.floats(0.1, 64), st.floats(0.01, 1))
def test_a_bending_curve_that_is_settled_cannot_reach_the_threshold(a, b, t, bend, width):
    """The extreme curves of that bend are the parabolas; others lie between them."""
    first, last = exact((0.0, a), (width, b))
    x = np.linspace(0, 1, 501)
    chord = a + (b - a) * x
    sag = bend * width**2 * x * (1 - x)
    settled = stays(bend, 1.0)(first, last, t)
    reached = (chord - sag).min() < t - 1e-9 if a >= t else (chord + sag).max() > t + 1e-9
    if same_side(first, last, t) and reached:
        assert not settled
    if settled:
        assert same_side(first, last, t)


def test_bounds_of_the_points_stand_for_the_points():
    a, b = (Point(level, 9, 0.9, Interval(0.82, 0.95)) for level in (0.0, 0.1))
    assert stays(7.9, 1.0)(a, b, 0.8)
    assert not stays(8.1, 1.0)(a, b, 0.8)
    assert stays(32.0, 1.0)(a, b, 0.74)
    assert stays(8.1, 2.0)(a, b, 0.8)


def test_segments_are_cut_at_the_breaks_and_end_exactly_there():
    found = segments(-1.0, 0.7, (0.3, 0.0, 0.3), 5)
    assert [(s.low, s.high) for s in found] == [(-1.0, 0.0), (0.0, 0.3), (0.3, 0.7)]
    assert all(s.level(0) == s.low and s.level(32) == s.high for s in found)
    assert 0.3 in found[1]
    assert 0.3 in found[2]


def test_first_levels_halve_the_range_again_and_again():
    assert Segment(0, 8, 5).first_levels(2) == [0, 8, 4, 2, 6]
    levels = Segment(0.1, 0.7, 13).first_levels(5)
    assert len(set(levels)) == len(levels) == 33


@given(st.floats(-100, 100), st.floats(1e-3, 100), st.integers(1, 14), st.data())
def test_the_nearest_corner_lies_strictly_inside_or_nowhere(low, width, depth, data):
    part = Segment(low, low + width, depth)
    places = data.draw(st.tuples(st.integers(0, 2**depth), st.integers(0, 2**depth)))
    a, b = (part.level(place) for place in sorted(places))
    at = data.draw(st.floats(low, low + width))
    found = part.nearest(at, Interval(a, b))
    if abs(places[0] - places[1]) < 2:
        assert found is None
        return
    assert a < found < b
    cell = width / 2**depth
    assert abs(found - at) <= max(0.51 * cell, a - at + 1.01 * cell, at - b + 1.01 * cell)
    assert a < part.middle(a, b) < b
    assert math.isclose(part.middle(a, b), (a + b) / 2, abs_tol=0.51 * cell)
