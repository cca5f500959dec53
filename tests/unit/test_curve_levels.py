"""Levels of a curve: grids, bounds, which trials are run, what is assumed and found between."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pytest import approx
from scipy.stats import binom

from surefoot.core.counts import Counts
from surefoot.core.reasons import Why
from surefoot.core.results import Interval
from surefoot.curves import SequentialCurve, levels, published
from surefoot.curves.assumptions import Assumption, inwards, outwards
from surefoot.curves.known_curve import KnownCurve, chance_to_notice
from surefoot.curves.levels import (
    LATTICE,
    MOST_NOISY_LEVELS,
    Grid,
    Level,
    Sampling,
    _stratified,
    mean_bounds,
)
from surefoot.curves.published import exact_points
from surefoot.report.views.curve import reading_row
from surefoot.statistics import clopper_pearson
from tests.curve_worlds import breaking, drive, drive_fresh, share_unbroken
from tests.refusals import refused
from tests.unit.test_tracing import shades, study

SPANS = [(0.0, 1.0, 0.0), (-30.0, 30.0, 0.0), (-1.0, 3.0, 0.123), (0.5, 2.0, 0.0), (1e-3, 2e-3, 1)]


@pytest.mark.parametrize(("low", "high", "clean"), SPANS)
@pytest.mark.parametrize("resolution", [0.5, 0.03, 0.001])
def test_a_grid_has_the_ends_the_clean_level_and_no_wide_cell(low, high, clean, resolution):
    grid = Grid.over(low, high, resolution, clean)
    levels = [grid.level(place) for place in range(grid.cells + 1)]
    assert (levels[0], levels[-1]) == (low, high)
    assert levels == sorted(set(levels))
    assert grid.cells & (grid.cells - 1) == 0
    assert grid.cells >= max(128, 1 / resolution)
    shares = [grid.share(place) for place in range(grid.cells + 1)]
    assert max(np.diff(shares)) <= 1.5 * resolution
    if low < clean < high:
        assert levels[grid.centre] == clean
    else:
        assert grid.centre == (0 if clean <= low else grid.cells)


def tail(n: int, right: int, size: int, kept: int) -> Fraction:
    """The chance that `right` or more of n are among the `kept` of size, exactly."""
    ways = (math.comb(kept, k) * math.comb(size - kept, n - k) for k in range(right, n + 1))
    return Fraction(sum(ways), math.comb(size, n))


@pytest.mark.parametrize("error", [0.3, 0.049, 0.0007])
def test_the_fewest_that_explain_what_was_drawn(error):
    """By trying every number, in fractions."""
    for size in range(1, 13):
        for n in range(size + 1):
            for right in range(n + 1):
                possible = range(right, size - (n - right) + 1)
                expected = next((k for k in possible if tail(n, right, size, k) > error), None)
                assert levels._fewest(n, right, size, error) == (expected if right else 0)


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.2, 0.05])
def test_stratified_bounds_are_false_no_more_often_than_stated(error):
    """Every order of eight inputs, whatever they came to at either level."""
    size, drawn = 8, 4
    subsets = [list(chosen) for chosen in combinations(range(size), drawn)]
    for wrong_before, kept in product(range(0, size + 1, 2), range(size + 1)):
        reference = np.repeat([0.0, 1.0], [wrong_before, size - wrong_before])
        for values in {tuple(np.roll(np.arange(size) < kept, shift)) for shift in range(size)}:
            false = 0
            for chosen in subsets:
                rest = [i for i in range(size) if i not in chosen]
                order = chosen + rest
                bounds = _stratified(np.array(values, float)[chosen], reference[order], error)
                false += not bounds.low - 1e-12 <= kept / size <= bounds.high + 1e-12
            assert false / len(subsets) <= error


@pytest.mark.parametrize("fresh", [False, True])
def test_all_levels_and_all_looks_at_them_share_one_error(fresh):
    sampling = Sampling(1000, 0.05, frozenset({0, 3, 7, 9}), fresh)
    values = np.repeat([1.0, 0.0], [50, 14])
    each = 0.05 / (levels.MOST_NOISY_LEVELS if fresh else 4) / len(sampling.looks)
    assert len(sampling.looks) > 4
    assert sampling.bounds(3, values, None) == clopper_pearson(Counts(64, 50), each)
    scores = replace(sampling, counts=False)
    assert scores.bounds(3, values, None) == mean_bounds(50 / 64, 64, each)


@pytest.mark.parametrize("n", [1, 7, 64])
@pytest.mark.parametrize("error", [0.2, 0.01])
def test_bounds_of_a_mean_are_false_no_more_often_than_stated(n, error):
    for p in np.linspace(0, 1, 21):
        missed = sum(
            binom.pmf(k, n, p) for k in range(n + 1) if p not in mean_bounds(k / n, n, error)
        )
        assert missed <= error + 1e-12


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 80, 81, 100, 1000, 50_000])
@pytest.mark.parametrize("fresh", [False, True])
def test_looks_grow_to_all_trials(size, fresh):
    sampling = Sampling(size, 0.05, frozenset(), fresh)
    looks = sampling.looks
    assert looks[-1] == sampling.most == (levels.MOST_DRAWS if fresh else size)
    assert all(1.2 * a <= b for a, b in pairwise(looks))
    first = levels.FIRST_LOOK if fresh else levels.first_look(size)
    assert looks[0] == first or len(looks) == 1


@pytest.mark.parametrize("size", [20, 200, 1000, 50_000])
def test_the_first_look_shows_two_of_a_tenth_that_comes_back(size):
    n, back = levels.first_look(size), math.ceil(0.1 * size)
    missed = 1 - tail(n, 2, size, back)
    assert missed <= 0.1
    assert n <= levels.FIRST_LOOK


def test_where_all_inputs_are_known_so_is_the_accuracy():
    values = np.array([1.0, 0.0, 1.0, 1.0])
    sampling = Sampling(4, 0.05, frozenset({3}))
    assert sampling.bounds(7, values, None) == Interval(0.75, 0.75)
    assert sampling.bounds(7, values[:3], None) == Interval(0.0, 1.0)
    assert sampling.bounds(3, values[:0], None) == Interval(0.0, 1.0)
    assert sampling.bounds(3, values[:3], None) != Interval(0.0, 1.0)


@settings(max_examples=25, deadline=None)
@given(
    size=st.sampled_from([1, 5, 64, 65, 200]),
    place=st.integers(0, 2**17),
    fresh=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_no_trial_is_asked_for_twice_and_none_is_left_out(size, place, fresh, seed):
    rng = np.random.default_rng(seed)
    level = Level(place, 0.5, Sampling(size, 0.05, frozenset(), fresh))
    most, run = level.sampling.most, set()
    first_trial = place * levels.TRIALS_APART if fresh else 0
    for _ in range(4):
        wanted = np.isin(np.arange(most) * 16 // most, rng.integers(0, 16, 5))
        before = set(np.flatnonzero(level.known).tolist())
        trials = []
        for ask in level.asks(wanted):
            trials += range(ask.start - first_trial, ask.start - first_trial + ask.units)
            level.put(ask.start, np.ones(ask.units))
        assert len(trials) == len(set(trials))
        assert set(trials) == set(np.flatnonzero(wanted).tolist()) - before
        assert not run & set(trials)
        run |= set(trials)
        assert level.trials == len(run)
        assert not run or 0 <= min(run) <= max(run) < levels.TRIALS_APART


def test_a_look_counts_when_all_its_trials_are_in():
    level = Level(0, 0.5, Sampling(100, 0.05, frozenset()))
    assert (level.first, level.next_look, level.full) == (0, 33, False)
    assert math.isnan(level.estimate)
    level.put(10, np.ones(60))
    assert level.first == 0
    level.put(0, np.zeros(10))
    assert (level.first, level.next_look) == (53, 100)
    assert level.estimate == 43 / 53
    level.put(70, np.ones(30))
    assert (level.first, level.full, level.trials) == (100, True, 100)
    assert level.asks(np.ones(100, bool)) == []


@pytest.mark.parametrize(("accuracy", "simulated"), [(0.97, 0.675), (0.9, 0.65), (0.8, 0.55)])
def test_of_drawn_levels_a_rise_is_noticed_no_less_often_than_is_said(accuracy, simulated):
    """Whole curves with a dip of a tenth over a twentieth of the range, 40 of each."""
    assert simulated - 0.2 <= chance_to_notice(accuracy, 0.01) <= simulated + 0.02


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
        words = refused(way_out, Assumption.parse, text)
        assert repr(text) in words


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


def test_inputs_that_turned_back_say_nothing_of_a_level_between():
    """The weaker level implies that they fail there, the stronger one that they do not."""
    curve = known([95, 85, 90], "monotone", n=1000)
    between = curve.grid.cells * 3 // 4
    curve.level(between).put(0, np.ones(100))
    curve.put((), ())
    assert curve.contradicted()[0].why is Why.INPUTS_COME_BACK
    assert curve.bounds(between).low >= 0.1


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
