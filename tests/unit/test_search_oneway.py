"""Curves that go one way, or nearly; and the search among the inputs that differ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.results import Footing, Interval, Point
from surefoot.search.inner import Goal, inner
from surefoot.search.looks import Over
from surefoot.search.next_level import Sight, around, may_cross, sharpest_bend
from surefoot.search.oneway import assumed, backtrack, falls, notes, tightened
from surefoot.search.seen import Seen, Terms
from surefoot.search.segments import Segment, Stretch
from surefoot.search.supposing import End, supposed

FALLS, RISES, EITHER = ((Stretch(0.0, 1.0, falls=way),) for way in (True, False, None))


def bounded(*rows):
    return [Point(level, 10, (low + high) / 2, Interval(low, high)) for level, low, high in rows]


@pytest.mark.parametrize(
    ("with_it", "against", "slack"),
    # the gambler's ruin: (1/9)^3 is the first power below 1 in 100, (1/100)^1 is not above it
    [(0, 0, 0), (50, 0, 0), (90, 10, 3), (100, 1, 1), (200, 100, 7), (1, 1, 3), (50, 50, 20)],
)
def test_how_far_a_walk_may_climb_back(with_it, against, slack):
    assert backtrack(with_it, against) == slack


@pytest.mark.parametrize(("with_it", "against"), [(90, 10), (80, 20), (70, 30)])
def test_a_simulated_walk_climbs_back_further_once_in_a_hundred_times(with_it, against):
    """Seeded; allowance: four standard deviations over 4,000 walks."""
    rng, walks, steps = np.random.default_rng(1), 4000, 400
    up = rng.random((walks, steps)) < against / (with_it + against)
    highest = np.cumsum(np.where(up, 1, -1), axis=1).max(axis=1)
    slack = backtrack(with_it, against)
    allowed = 0.01 + 4 * np.sqrt(0.01 * 0.99 / walks)
    assert np.mean(highest >= slack) <= allowed
    assert np.mean(highest >= slack - 1) > 0.01


@given(st.integers(0, 10**4), st.integers(0, 10**4))
def test_slack_is_never_more_than_a_walk_without_a_trend_needs(with_it, against):
    slack = backtrack(with_it, against)
    assert 0 <= slack <= 2 * np.sqrt(with_it + against) + 1
    assert (slack == 0) == (against == 0)


def test_a_falling_curve_lends_its_bounds_to_other_levels():
    points = bounded((0.0, 0.9, 1.0), (0.25, 0.2, 1.0), (0.5, 0.6, 0.95), (1.0, 0.1, 0.7))
    assert falls(points, 0.0)
    found = [(p.interval.low, p.interval.high) for p in tightened(points, FALLS)]
    assert found == [(0.9, 1.0), (0.6, 1.0), (0.6, 0.95), (0.1, 0.7)]
    wavy = (Stretch(0.0, 1.0, 0.05, falls=True),)
    eased = [(p.interval.low, p.interval.high) for p in tightened(points, wavy)]
    assert eased[1] == pytest.approx((0.55, 1.0))


def test_a_rising_curve_lends_them_the_other_way():
    points = bounded((0.0, 0.1, 0.3), (0.5, 0.0, 1.0), (1.0, 0.7, 0.9))
    assert falls(points, 0.0) is False
    assert tightened(points, RISES)[1].interval == Interval(0.1, 0.9)


@pytest.mark.parametrize(
    "rows",
    [
        [(0.0, 0.5, 0.6), (0.5, 0.0, 1.0), (1.0, 0.5, 0.6)],
        [(0.0, 0.9, 1.0), (0.5, 0.1, 0.2), (1.0, 0.9, 1.0)],
    ],
    ids=["no direction", "both directions"],
)
def test_nothing_is_lent_where_no_single_direction_is_sure(rows):
    assert falls(bounded(*rows), 0.0) is None
    assert tightened(bounded(*rows), EITHER) == tuple(bounded(*rows))


@given(st.lists(st.tuples(st.floats(0, 0.4), st.floats(0, 0.4)), min_size=2, max_size=8), st.data())
def test_bounds_that_follow_are_true_of_every_falling_curve(margins, data):
    drops = data.draw(st.lists(st.floats(0, 1), min_size=len(margins), max_size=len(margins)))
    truth = sorted(drops, reverse=True)
    rows = [
        (i / len(margins), max(0.0, t - a), min(1.0, t + b))
        for i, (t, (a, b)) in enumerate(zip(truth, margins, strict=True))
    ]
    assert falls(bounded(*rows), 0.0) is not False
    found = tightened(bounded(*rows), FALLS)
    assert all(t in p.interval for t, p in zip(truth, found, strict=True))
    assert all(p.interval.width <= q[2] - q[1] + 1e-12 for p, q in zip(found, rows, strict=True))
    assert notes(bounded(*rows), EITHER) == ()


def test_a_curve_that_surely_goes_both_ways_is_told_of():
    points = bounded((0.0, 0.9, 0.95), (0.5, 0.5, 0.55), (1.0, 0.6, 0.65))
    (told,) = notes(points, EITHER)
    assert "does not go one way from 0 to 1" in told
    assert "rises by at least 5 points between 0.5 and 1" in told
    assert notes(points, (Stretch(0.0, 1.0, 0.03),)) == ()


def test_what_is_taken_for_granted_is_said():
    plain = assumed(0.05, None, (Stretch(0, 1), Stretch(1, 2)), broken=False)
    assert plain.footing is Footing.CONDITIONAL
    assert plain.condition == "the curve goes one way, up or down, from 0 to 1 and from 1 to 2"
    wavy = (Stretch(0, 1, 0.012), Stretch(1, 2))
    assert assumed(0.05, None, wavy, broken=False).condition == (
        "the curve goes one way, up or down, from 0 to 1 but for wiggles of up to 1.2 points "
        "at the threshold and from 1 to 2"
    )
    broken = assumed(0.05, None, wavy, broken=True)
    assert broken.footing is Footing.CONDITIONAL
    assert "stays on that side, from 0 to 1 but for wiggles of up to 1.2" in broken.condition
    bending = assumed(0.05, 128.0, wavy, broken=False)
    assert bending.footing is Footing.CONDITIONAL
    assert "depth 128" in bending.condition


def known(level, values, size):
    seen = Seen(level, Terms(size, Over.SET, True, 0.05, frozenset(), 100))
    seen.put(0, values)
    seen.look(size)
    return seen


def search_among(critical, goal):
    """Follow what `inner` asks for until it asks for no more."""
    size, part = len(critical), Segment(0.0, 1.0, 12)
    ends = known(0.0, critical > 0.0, size), known(1.0, critical > 1.0, size)
    seen, asked = {end.level: end for end in ends}, 0
    while found := inner(part, (End.of(ends[0]), End.of(ends[1])), list(seen.values()), goal):
        for wish in found:
            here = seen.setdefault(wish.level, Seen(wish.level, ends[0].terms))
            for ask in here.asks(np.arange(size) if wish.some is None else wish.some):
                chosen = slice(ask.start, ask.start + ask.units)
                here.put(ask.start, (critical > wish.level)[chosen])
                asked += ask.units
        seen = dict(sorted(seen.items()))
    return list(seen.values()), asked


@pytest.mark.parametrize("sides", [(True, False), (True,), (False,)])
@pytest.mark.parametrize("held", [20, 50, 99])
def test_the_search_among_differing_inputs_ends_beside_the_crossing(sides, held):
    critical = np.random.default_rng(held).uniform(0, 1.0, 100)
    crossing = np.sort(critical)[::-1][held - 1]
    goal = Goal((held - 0.5) / 100, sides, 1 / 256)
    seen, asked = search_among(critical, goal)
    for side in sides:
        sure = [s.level for s in seen if s.side(goal.target) is side]
        assert all((level < crossing) == side for level in sure)
        assert min(abs(level - crossing) for level in sure) <= 2 / 256
    assert asked < 4 * 100  # a pass or less to prove each side, and what differs to find it


def test_a_side_is_proved_by_the_few_inputs_that_can():
    """21 of 100 that fail are proof that fewer than 80 hold, whatever the others do."""
    seen = Seen(0.5, Terms(100, Over.SET, True, 0.05, frozenset(), 100))
    seen.put(0, np.zeros(20))
    assert seen.side(0.795) is None
    seen.put(20, np.zeros(1))
    assert seen.side(0.795) is False
    assert seen.interval == Interval(0.0, 0.79)
    seen.put(21, np.ones(50))
    assert seen.interval == Interval(0.5, 0.79)


def test_what_few_inputs_prove_of_a_set_is_no_proof_for_a_population():
    seen = Seen(0.5, Terms(100, Over.POPULATION, True, 0.05, frozenset(), 100))
    seen.put(0, np.zeros(60))
    assert seen.interval == Interval(0.0, 1.0)


def test_inputs_not_looked_at_are_supposed_to_lie_between_their_neighbours():
    before, after = known(0.0, np.array([1.0, 1.0, 0.0]), 3), known(1.0, np.array([1.0, 0, 0]), 3)
    middle = Seen(0.5, before.terms)
    assert supposed([before, middle, after])[0.5].mean == pytest.approx(0.5)
    middle.put(1, np.array([1.0]))
    assert supposed([before, middle, after])[0.5].mean == pytest.approx(2 / 3)
    assert supposed([before, after]) == {}


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=8),
    st.floats(0, 1),
    st.integers(0, 7),
    st.sampled_from([0.0, 0.01, 0.2]),
)
def test_the_next_levels_lie_strictly_between_the_ends(values, target, turn, doubt):
    n = len(values) - 1
    sights = [Sight(i / n, v, doubt) for i, v in enumerate(values)]
    found = around(sights, target, 0.001, turn, 1000)
    assert 1 <= len(found) <= 2
    assert all(0 <= level <= 1 for level in found)
    if turn % 4 == 3:
        assert found == [0.5]


def test_a_bend_is_a_second_difference_and_may_hide_a_crossing():
    sights = [Sight(x, 1 - 0.3 * x**2, 0.0) for x in (0.0, 0.5, 1.0)]
    assert sharpest_bend(sights) == pytest.approx(0.3)
    a, b = Sight(0.0, 0.9, 0.0), Sight(1.0, 0.85, 0.0)
    assert may_cross(a, b, 0.21, 0.8)
    assert not may_cross(a, b, 0.19, 0.8)
    assert not may_cross(a, Sight(1.0, 0.7, 0.0), 9.0, 0.8)
