"""What each assumption says, what follows from it, and what contradicts it."""

import numpy as np
import pytest

from surefoot.core.reasons import Why
from surefoot.curves.assumptions import Assumption, inwards, outwards
from surefoot.curves.known_curve import KnownCurve
from surefoot.curves.levels import Grid, Level, Sampling
from surefoot.errors import InvalidArgument


@pytest.mark.parametrize(
    ("text", "name", "size"),
    [
        ("bounded-rise", "bounded-rise", 0),
        ("bounded-rise:0.05", "bounded-rise", 0.05),
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
        (("smooth", "", "Monotone", "wiggle:0.01"), "choose bounded-rise, one-crossing, monotone"),
        (("monotone:1", "monotone:"), "takes no number, got .*: write monotone"),
        (tuple(f"bounded-rise:{x}" for x in ("0", "1", "-0.1", "nan", "", "1%")), "0 and 1"),
        (("curvature:0", "curvature:inf", "curvature:x"), "above 0: write curvature:128"),
    ],
)
def test_what_is_no_assumption_is_refused_with_the_way_out(texts, way_out):
    for text in texts:
        with pytest.raises(InvalidArgument, match=way_out) as refused:
            Assumption.parse(text)
        assert repr(text) in str(refused.value)


@pytest.mark.parametrize(("inputs", "rise"), [(1, 1.0), (100, 0.02), (400, 0.005), (9000, 0.005)])
def test_a_rise_that_is_not_given_is_half_a_point_or_two_inputs(inputs, rise):
    assert Assumption().of_inputs(inputs).rise == rise
    assert Assumption.parse("bounded-rise:0.03").of_inputs(inputs).rise == 0.03
    assert Assumption.parse("monotone").of_inputs(inputs).rise == 0


def test_a_rise_that_is_seen_is_doubled_and_concerns_all_levels():
    usual, after = Assumption().of_inputs(500), Assumption().of_inputs(500).after(0.04, 500)
    assert (usual.above, usual.below, usual.stays) == (0.005, 0.0025, True)
    assert (after.above, after.below, after.stays) == (0.08, 0.08, False)
    assert Assumption.parse("monotone").after(0.0, 500) == usual


@pytest.mark.parametrize("centre", [0, 3, 8])
def test_outwards_and_inwards_combine_the_levels_of_one_side(centre):
    values = np.random.default_rng(centre).uniform(0, 1, 9)

    def outside(i, j):
        """Whether j is at least as strong as i, on the same side."""
        return (j - centre) * (i - centre) >= 0 and abs(j - centre) >= abs(i - centre)

    out, within = outwards(values, np.maximum, centre), inwards(values, np.minimum, centre)
    for i in range(9):
        assert out[i] == max(values[j] for j in range(9) if outside(i, j))
        assert within[i] == min(values[j] for j in range(9) if outside(j, i))


def level(place, values, size=None):
    values = np.asarray(values, float)
    known = Level(place, place / 32, Sampling(size or len(values), 0.05, frozenset()))
    known.put(0, values)
    return known


def known(kept, assume, n=100, centre=0.0):
    """Levels a tenth of the range apart, with so many of the inputs right."""
    grid = Grid.over(0.0, 1.0, 0.01, centre)
    curve = KnownCurve(grid, (0.8,), Assumption.parse(assume), Sampling(n, 0.05, frozenset()))
    for i, right in enumerate(kept):
        place = grid.cells * i // (len(kept) - 1)
        curve.level(place).put(0, (np.arange(n) < right) * 1.0)
    curve.put((), ())
    return curve


def test_all_levels_before_one_that_is_high_enough_are_above_and_after_one_below_it_are_not():
    gaps = known([95, 90, 83, 81, 78, 60], "bounded-rise:0.02").gaps(0.8)
    assert [gap.above for gap in gaps] == [True, True, None, None, False]
    assert [round(gap.reach.low, 9) for gap in gaps] == [0.88, 0.81, 0.79, 0.76, 0.58]
    assert [round(gap.reach.high, 9) for gap in gaps] == [0.97, 0.92, 0.85, 0.83, 0.8]
    gaps = known([95, 90, 83, 81, 78, 60], "one-crossing").gaps(0.8)
    assert [gap.above for gap in gaps] == [True, True, True, None, False]


def test_a_curve_that_is_below_when_clean_may_still_come_up_by_the_rise():
    assert {g.above for g in known([79, 79, 79], "bounded-rise:0.02").gaps(0.8)} == {None}
    assert {g.above for g in known([77, 77, 77], "bounded-rise:0.02").gaps(0.8)} == {False}


def test_a_rise_counts_where_it_is_surely_more_than_assumed():
    assert known([90, 85, 87], "bounded-rise:0.02").contradicted() is None
    reason, rise = known([90, 85, 86, 89], "bounded-rise:0.02").contradicted()
    assert (reason.why, round(rise, 9)) == (Why.RISES, 0.04)
    assert known([90, 85, 89], "one-crossing").contradicted() is None
    assert known([90, 75, 85], "one-crossing").contradicted() is not None
    assert known([75, 90, 75], "bounded-rise:0.02", centre=0.5).contradicted() is None


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
    assert grid.centre == 64
    levels = {p + 48: known for p, known in levels.items()}
    assert monotone.turned_back(levels, grid) is None
    back = {56: level(56, [0, 1]), 40: level(40, [1, 1])}
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
