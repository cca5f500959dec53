"""Lines and parabolas between the points of a curve."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from surefoot.core.results import Interval
from surefoot.curves import published
from surefoot.curves.published import exact_points

unit = st.floats(0, 1)


def crossings(*values, threshold=0.8, meets=0.8):
    points = exact_points(dict(enumerate(values)), 10)
    return published.linear_crossings(points, threshold, meets)


def test_several_crossings_each_have_their_place():
    several = crossings(0.9, 0.9, 0.7, 0.7, 0.9, 0.9)
    assert [c.interval for c in several] == [Interval(1, 2), Interval(3, 4)]
    assert [c.falls for c in several] == [True, False]
    assert [c.level for c in several] == pytest.approx([1.5, 3.5])


def test_a_tie_is_above_and_a_crossing_may_meet_half_a_count_below_it():
    assert crossings(0.8, 0.8) == crossings(0.7, 0.79) == ()
    assert [c.level for c in crossings(0.8, 0.7)] == [0]
    assert [c.level for c in crossings(0.8, 0.7, meets=0.75)] == pytest.approx([0.5])


@given(st.lists(unit, min_size=2, max_size=12), st.floats(0.01, 0.99))
def test_crossings_alternate_and_lie_in_their_intervals(values, threshold):
    several = crossings(*values, threshold=threshold, meets=threshold)
    assert all(a.falls != b.falls for a, b in pairwise(several))
    assert all(c.level in c.interval for c in several)


@given(unit, unit, st.floats(0.01, 1))
def test_the_share_above_is_that_of_the_straight_line(a, b, threshold):
    assume(a == b or abs(a - b) > 1e-9)  # the grid rounds too
    line = np.interp((np.arange(4000) + 0.5) / 4000, [0, 1], [a, b])
    share = published.share_above(exact_points({0.0: a, 1.0: b}, 10), threshold)
    assert share == pytest.approx(np.mean(line >= threshold), abs=4e-4)


@given(unit, unit, st.floats(0, 600))
def test_the_lowest_point_of_the_parabola_is_where_a_grid_finds_it(first, last, depth):
    x = np.linspace(0, 1, 2001)
    parabola = first + (last - first) * x - depth * x * (1 - x)
    least = published.lowest(first, last, depth)
    assert least <= parabola.min() + 1e-12
    assert least >= parabola.min() - depth * (0.5 / 2000) ** 2 - 1e-12
    assert least <= min(first, last)


@given(unit, unit, st.floats(0, 100), st.floats(0.01, 0.99), st.floats(1e-3, 1e3))
def test_parabolas_meet_a_threshold_where_what_lies_between_them_does(a, b, bend, threshold, span):
    points = exact_points({0.0: a, span: b}, 10)
    (part,) = published.between_parabolas(points, bend, span)
    assert 0 <= part.lowest <= part.highest <= 1
    assert published.parabolas_meet(a, b, bend, threshold) == (
        part.lowest < threshold <= part.highest
    )
