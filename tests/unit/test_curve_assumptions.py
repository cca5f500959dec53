"""What each assumption says, what follows from it, and what contradicts it."""

import math
from itertools import pairwise

import numpy as np
import pytest

from surefoot.core.reasons import Why
from surefoot.curves.assumptions import COARSE, Assumption
from surefoot.curves.known_curve import KnownCurve
from surefoot.curves.levels import FINE, Grid, Level, Sampling
from surefoot.errors import InvalidArgument


@pytest.mark.parametrize(
    ("text", "name", "size"),
    [
        ("wiggle", "wiggle", 0.01),
        ("wiggle:0.05", "wiggle", 0.05),
        ("one-crossing", "one-crossing", 0),
        ("monotone", "monotone", 0),
        ("curvature", "curvature", 128),
        ("curvature:2.5", "curvature", 2.5),
    ],
)
def test_an_assumption_is_written_short(text, name, size):
    assert Assumption.parse(text) == Assumption(name, size)


@pytest.mark.parametrize(
    ("texts", "way_out"),
    [
        (("smooth", "", "Wiggle:0.1"), "choose wiggle:0.01, one-crossing, monotone or curvature:1"),
        (("monotone:1", "monotone:"), "takes no number, got .*: write monotone"),
        (("wiggle:0", "wiggle:1", "wiggle:-0.1", "wiggle:nan", "wiggle:", "wiggle:1%"), "0 and 1"),
        (("curvature:0", "curvature:inf", "curvature:x"), "above 0: write curvature:128"),
    ],
)
def test_what_is_no_assumption_is_refused_with_the_way_out(texts, way_out):
    for text in texts:
        with pytest.raises(InvalidArgument, match=way_out) as refused:
            Assumption.parse(text)
        assert repr(text) in str(refused.value)


def test_between_close_levels_a_curve_goes_as_far_as_the_wiggle_and_elsewhere_anywhere():
    wiggle = Assumption.parse("wiggle:0.02")
    assert wiggle.lowest(0.9, 0.8, 1 / FINE, 0.02) == pytest.approx(0.78)
    assert wiggle.lowest(0.8, 0.9, 0.001, 0.05) == pytest.approx(0.75)
    known = KnownCurve(
        Grid.over(0.0, 1.0, 0.001, 0.0), (0.8,), wiggle, Sampling(10, 0.05, frozenset())
    )
    assert (known.margin(0, 64), known.margin(0, 65)) == (0.02, 1.0)
    assert (wiggle.cells, Assumption.parse("monotone").cells) == (FINE, COARSE)


@pytest.mark.parametrize("name", ["monotone", "one-crossing"])
def test_a_curve_that_does_not_come_back_stays_between_its_ends(name):
    assert Assumption.parse(name).lowest(0.9, 0.3, 0.25, 0.0) == 0.3
    assert Assumption.parse(name).margin(0.01) == 0


@pytest.mark.parametrize("width", [0.001, 0.1, 0.25, 1.0])
@pytest.mark.parametrize(("first", "last"), [(0.8, 0.8), (0.9, 0.3), (0.2, 0.21), (0.5, 0.9)])
def test_the_lowest_point_of_a_parabola_is_where_it_is(first, last, width):
    """Of all curves of this bend through both ends, at one in 100,000 places between."""
    curvature, t = Assumption.parse("curvature:7"), np.linspace(0, 1, 100_001)
    parabola = first + (last - first) * t - 7 * width**2 * t * (1 - t)
    assert curvature.lowest(first, last, width, 0.0) == pytest.approx(parabola.min(), abs=1e-8)
    equal = curvature.lowest(0.8, 0.8, width, 0.0)
    assert 0.8 - equal == pytest.approx(curvature.margin(width))


@pytest.mark.parametrize("centre", [0, 3, 8])
def test_monotone_bounds_are_those_of_all_levels_further_out_or_nearer(centre):
    rng = np.random.default_rng(centre)
    lows, highs = rng.uniform(0, 0.5, 9), rng.uniform(0.5, 1, 9)
    tight_lows, tight_highs = Assumption.parse("monotone").tighten(lows, highs, centre, 0.8)

    def outside(i, j):
        """Whether j is at least as strong as i, on the same side."""
        return (j - centre) * (i - centre) >= 0 and abs(j - centre) >= abs(i - centre)

    for i in range(9):
        assert tight_lows[i] == max(lows[j] for j in range(9) if outside(i, j))
        assert tight_highs[i] == min(highs[j] for j in range(9) if outside(j, i))


@pytest.mark.parametrize("centre", [0, 4])
def test_one_crossing_spreads_only_sides(centre):
    lows = np.array([0.1, 0.1, 0.85, 0.1, 0.1, 0.1, 0.9, 0.1, 0.1])
    highs = np.array([0.7, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.75])
    tight_lows, tight_highs = Assumption.parse("one-crossing").tighten(lows, highs, centre, 0.8)
    inner = range(7) if centre == 0 else range(2, 7)
    for i in range(9):
        assert (tight_lows[i] >= 0.8) == (i in inner)
        assert tight_lows[i] in {lows[i], 0.8}
    assert tight_highs[8] == 0.75
    assert (tight_highs[0] < 0.8) and (tight_highs[1] == 1.0 or centre == 0)


def test_wiggle_and_curvature_say_nothing_of_other_levels():
    lows, highs = np.array([0.9, 0.1, 0.9]), np.array([1.0, 0.2, 1.0])
    for name in ("wiggle", "curvature"):
        tight = Assumption.parse(name).tighten(lows, highs, 0, 0.8)
        assert [list(one) for one in tight] == [list(lows), list(highs)]


def level(place, values, size=None):
    values = np.asarray(values, float)
    known = Level(place, place / 32, Sampling(size or len(values), 0.05, frozenset()))
    known.put(0, values)
    return known


def kept(place, right, n=100):
    return level(place, np.arange(n) < right)


def test_what_lies_outside_its_neighbours_raises_the_wiggle_there():
    wiggle = Assumption.parse("wiggle:0.01")
    levels = [kept(0, 90), kept(2, 80), kept(4, 89), kept(6, 97), kept(8, 94)]
    assert wiggle.raised(levels, 0) == pytest.approx({2: 0.09, 6: 0.03})
    assert wiggle.raised(levels, 2) == pytest.approx({6: 0.03})
    assert wiggle.raised([kept(0, 90), kept(2, 85), kept(4, 80)], 0) == {}
    assert wiggle.raised(levels[:2], 0) == {}
    assert Assumption.parse("monotone").raised(levels, 0) == {}


def test_a_wiggle_as_large_as_assumed_raises_nothing():
    levels = [kept(0, 90), kept(2, 89), kept(4, 90)]
    assert Assumption.parse("wiggle:0.01").raised(levels, 0) == {}


def test_only_inputs_evaluated_at_all_three_levels_are_compared():
    """The first 64 of each: the others would show a dip that is none."""
    wiggle, n = Assumption.parse("wiggle:0.01"), 200
    steady = np.arange(n) % 10 > 0
    some = level(2, steady[:64], n)
    assert some.first == 64
    assert wiggle.raised([level(0, steady), some, level(4, steady)], 0) == {}


def test_an_input_that_recovers_has_turned_back():
    grid, monotone = Grid.over(0.0, 1.0, 0.03, 0.0), Assumption.parse("monotone")
    weak, strong = level(8, [1, 0, 1, 1]), level(16, [1, 1, 0, 0])
    back = Why.INPUTS_COME_BACK
    assert monotone.turned_back({8: weak, 16: strong}, grid) == back.of(0.5, 1)
    many = {8: level(8, [0] * 1200), 16: level(16, [1] * 1200)}
    assert monotone.turned_back(many, grid) == back.of(0.5, 1200)
    assert monotone.turned_back({8: level(8, [1, 1, 0]), 16: level(16, [1, 0, 0])}, grid) is None
    assert monotone.turned_back({}, grid) is None


def test_nobody_turns_back_across_the_clean_level():
    """An input may fail on one side and hold on the other."""
    grid, monotone = Grid.over(-1.0, 1.0, 0.03, 0.0), Assumption.parse("monotone")
    levels = {8: level(8, [0, 1]), 16: level(16, [1, 1]), 24: level(24, [1, 0])}
    assert grid.centre == 32
    levels = {p + 16: known for p, known in levels.items()}
    assert monotone.turned_back(levels, grid) is None
    back = {24: level(24, [0, 1]), 8: level(8, [1, 1])}
    assert monotone.turned_back(back, grid).why is Why.INPUTS_COME_BACK


def test_an_input_that_was_not_evaluated_contradicts_nothing():
    grid, monotone = Grid.over(0.0, 1.0, 0.03, 0.0), Assumption.parse("monotone")
    weak = Level(8, 0.25, Sampling(3, 0.05, frozenset()))
    weak.put(1, np.array([0.0]))
    strong = Level(16, 0.5, Sampling(3, 0.05, frozenset()))
    strong.put(0, np.array([1.0]))
    assert monotone.turned_back({8: weak, 16: strong}, grid) is None
    stronger = level(24, [1, 1, 0])
    back = monotone.turned_back({8: weak, 16: strong, 24: stronger}, grid)
    assert back == Why.INPUTS_COME_BACK.of(0.75, 1)


def test_rounding_makes_no_wide_gap_of_neighbouring_levels():
    """Levels of a range that is no power of two are 1/16 apart but for rounding."""
    grid, wiggle = Grid.over(0.1, 0.8, 0.001, 0.1), Assumption.parse("wiggle")
    scan = sorted(grid.scan(FINE))
    widths = [grid.share(b) - grid.share(a) for a, b in pairwise(scan)]
    assert all(wiggle.lowest(0.9, 0.9, width, 0.01) == pytest.approx(0.89) for width in widths)
    assert math.fsum(widths) == pytest.approx(1)
