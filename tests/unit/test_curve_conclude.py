"""From levels to a share of the range, to crossings, and to ranks and walks of a population."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.core.procedure import Session
from surefoot.core.results import Interval
from surefoot.curves import SequentialCurve
from surefoot.curves.assumptions import Assumption
from surefoot.curves.conclude import POPULATION_CELLS, STEPS, Walks, length_within, rank_thresholds
from surefoot.curves.levels import Grid
from tests.curve_worlds import breaking, drive, ordered
from tests.step_curves import StepCurve, follow


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.floats(0, 1), min_size=2, max_size=8),
    meets=st.floats(0.01, 0.99),
    low=st.integers(0, 3),
)
def test_the_length_above_is_that_of_straight_lines(values, meets, low):
    """The levels are 0, 1, 2, …; the lines at 20,001 places, an error of one place a crossing."""
    at = [(float(i), value) for i, value in enumerate(values)]
    span = Interval(float(min(low, len(values) - 2)), float(len(values) - 1))
    places = np.linspace(span.low, span.high, 20_001)
    lines = np.interp(places, range(len(values)), values)
    expected = float(np.mean(lines >= meets)) * span.width
    assert length_within(at, meets, span) == pytest.approx(expected, abs=len(values) * 1e-3)


def test_the_length_above_of_nothing_known_is_nothing():
    assert length_within([], 0.8, Interval(0.0, 1.0)) == 0
    assert length_within([(0.5, 0.9)], 0.8, Interval(0.0, 1.0)) == 0
    assert length_within([(0.0, 0.9), (1.0, 0.9)], 0.8, Interval(0.0, 1.0)) == 1
    assert length_within([(0.0, 0.8), (1.0, 0.8)], 0.8, Interval(0.0, 1.0)) == 1
    assert length_within([(0.0, 0.7), (1.0, 0.7)], 0.8, Interval(0.0, 1.0)) == 0


CURVES = {
    "falls": [(0.0, 0.95), (1.0, 0.3)],
    "rises": [(0.0, 0.3), (1.0, 0.95)],
    "valley": [(0.0, 0.95), (0.3, 0.65), (0.6, 0.65), (0.9, 0.95), (1.0, 0.95)],
    "hill": [(0.0, 0.5), (0.3, 0.9), (0.6, 0.9), (1.0, 0.5)],
    "above": [(0.0, 0.95), (1.0, 0.9)],
    "below": [(0.0, 0.7), (1.0, 0.2)],
}


@pytest.mark.parametrize("name", CURVES)
def test_the_value_is_where_the_curve_meets_the_threshold(name):
    """Also after a contradiction; where there is none, it is that of the one crossing."""
    curve = StepCurve.of(follow(CURVES[name], 200))
    result = drive(SequentialCurve(0.0, 1.0, size=200), ordered(curve, 1)).curve
    (reading,) = result.readings
    assert (result.contradiction is not None) == (name in {"rises", "valley", "hill"})
    assert reading.value == pytest.approx(curve.share_at_least(0.8), abs=0.01)
    assert [crossing.falls for crossing in reading.crossings] == [True] * (name == "falls")
    for crossing in reading.crossings:
        assert crossing.level == pytest.approx(reading.value)
        assert crossing.level in crossing.interval


def test_what_is_between_the_levels_covers_the_range_in_order():
    curve = StepCurve.of(follow(CURVES["valley"], 50))
    for assume in ("bounded-rise", "one-crossing", "monotone", "curvature:128"):
        procedure = SequentialCurve(0.0, 1.0, (0.8, 0.7), resolution=0.03, assume=assume, size=50)
        between = drive(procedure, ordered(curve, 1)).curve.between
        assert [b.low for b in between[1:]] == [b.high for b in between[:-1]]
        assert (between[0].low, between[-1].high) == (0.0, 1.0)
        assert all(0 <= b.lowest <= b.highest <= 1 for b in between)


def at_least(count: int, n: int, p: Fraction) -> Fraction:
    """The chance of so many of n, or more, exactly."""
    return sum(
        (math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(max(count, 0), n + 1)),
        Fraction(0),
    )


@pytest.mark.parametrize("error", [0.1, 0.05, 0.001])
@pytest.mark.parametrize("threshold", [Fraction(4, 5), Fraction(1, 2), Fraction(1, 100)])
def test_ranks_are_those_of_exact_binomial_tails(threshold, error):
    """So many a population at the threshold seldom has, or so few."""
    for n in (1, 2, 3, 7, 20, 61, 150):
        enough, few = (round(n * share) for share in rank_thresholds(float(threshold), n, error))
        spare = error * 1e-9
        assert at_least(enough, n, threshold) <= error / 2 + spare
        assert at_least(enough - 1, n, threshold) > error / 2 - spare
        assert 1 - at_least(few, n, threshold) <= error / 2 + spare
        assert 1 - at_least(few + 1, n, threshold) > error / 2 - spare


def places_in_order(size, critical, threshold=0.8, clean=0.0):
    """Which places the walks look at, in order, for inputs that all break at one level."""
    grid = Grid.over(0.0, 1.0, 1 / POPULATION_CELLS, clean)
    walks = Walks(grid, Assumption.parse("one-crossing"), size, 0.05)
    session, places = Session(type("Run", (), {"steps": lambda _: walks.run((threshold,))})()), []
    while (question := session.question) is not None:
        answers = []
        for ask in question:
            places.append(round(ask.level * POPULATION_CELLS))
            right = breaking(np.full(size, critical))(ask.level)[: ask.units]
            answers.append(SequentialCurve(0.0, 1.0).evidence.of(1 - right, 0.5))
        session.tell(answers)
    return places, walks.reached


def test_walks_go_in_finer_and_finer_steps_from_where_they_ended():
    """All inputs fail at 402.5 of 1024 cells."""
    places, reached = places_in_order(100, 402.5 / 1024)
    assert (STEPS, POPULATION_CELLS) == ((63, 16, 4, 1), 1024)
    outwards = [*range(0, 379, 63), 441, 394, 410, 398, 402, 406, 403]
    inwards = [*range(1024, 456, -63)]
    assert places[: len(outwards)] == outwards
    assert [p for p in places[len(outwards) :] if p in inwards] == inwards
    assert reached == {(0.8, 1, True): 402, (0.8, 1, False): 403}
    assert len(places) == len(set(places))


def test_walks_on_both_sides_of_the_clean_level():
    _, reached = places_in_order(100, 0.75, clean=0.5)
    assert set(reached) == {(0.8, -1, True), (0.8, 1, True), (0.8, 1, False)}
    assert reached[0.8, -1, True] == 0
    assert (reached[0.8, 1, True], reached[0.8, 1, False]) == (767, 768)


def test_a_walk_that_does_not_begin_goes_nowhere():
    places, reached = places_in_order(3, 0.5)
    assert (places, reached) == ([0, 1024], {})
