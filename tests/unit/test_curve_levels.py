"""Grids of levels, bounds at a level, and which trials are run."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from surefoot.core.counts import Counts
from surefoot.core.results import Interval
from surefoot.curves import levels
from surefoot.curves.known_curve import chance_to_notice
from surefoot.curves.levels import Grid, Level, Sampling, _stratified, mean_bounds
from surefoot.statistics import clopper_pearson

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
@pytest.mark.parametrize("error", [0.5, 0.2, 0.05])
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
