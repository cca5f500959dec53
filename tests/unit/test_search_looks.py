"""What some of the inputs say about all of them: exact where it can be enumerated."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from surefoot.evidence import Counts
from surefoot.results import Interval
from surefoot.search.looks import Over, bounds_after, looks, targets
from surefoot.search.seen import Seen, Terms
from surefoot.statistics.bounds import clopper_pearson

ERRORS = [0.3, 0.05, 0.001]


def marks(n, held):
    return np.repeat([1.0, 0.0], [held, n - held])


def of_set(n, held, size, error):
    return bounds_after(marks(n, held), size, Over.SET, error, counts=True)


@pytest.mark.parametrize(
    ("size", "schedule"),
    [
        (1, (1,)),
        (32, (32,)),
        (35, (35,)),
        (36, (32, 36)),
        (60, (32, 52, 60)),
        (1000, (32, 52, 82, 132, 210, 336, 537, 859, 1000)),
    ],
)
def test_looks_grow_and_end_with_all_inputs(size, schedule):
    assert looks(size) == schedule


@given(st.integers(1, 10**6))
def test_looks_rise_and_the_last_is_worth_the_name(size):
    schedule = looks(size)
    assert schedule[-1] == size
    assert all(a < b for a, b in itertools.pairwise(schedule))
    assert all(n < 0.9 * size + 1 for n in schedule[:-1])
    assert len(schedule) <= 2 + max(0, math.log(size / 32, 1.6))


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 40])
def test_bounds_without_replacement_keep_their_promise_for_every_set(size, error):
    for n in range(1, size + 1):
        found = [of_set(n, held, size, error) for held in range(n + 1)]
        for good in range(size + 1):
            missed = [held for held in range(n + 1) if good / size not in found[held]]
            assert hypergeom.pmf(missed, size, good, n).sum() <= error + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("size", [5, 13, 40])
def test_bounds_without_replacement_are_as_narrow_as_their_tails_allow(size, error):
    """One count further in, and what was seen would be too unlikely to keep."""
    for n in range(1, size):
        for held in range(n + 1):
            found = of_set(n, held, size, error)
            fewest, most = round(found.low * size), round(found.high * size)
            assert hypergeom.sf(held - 1, size, fewest, n) > error / 2 * (1 - 1e-6)
            assert hypergeom.cdf(held, size, most, n) > error / 2 * (1 - 1e-6)
            if fewest > held:
                assert hypergeom.sf(held - 1, size, fewest - 1, n) <= error / 2
            if most < size - (n - held):
                assert hypergeom.cdf(held, size, most + 1, n) <= error / 2


@given(st.data())
def test_bounds_of_a_set_never_leave_out_what_was_seen(data):
    size = data.draw(st.integers(1, 3000))
    n = data.draw(st.integers(1, size))
    held = data.draw(st.integers(0, n))
    found = of_set(n, held, size, data.draw(st.sampled_from(ERRORS)))
    assert found.low * size <= held + 1e-9 + (size - n)
    assert found.low >= held / size - 1e-12
    assert found.high <= 1 - (n - held) / size + 1e-12
    assert held / n in Interval(found.low - 1 / size, found.high + 1 / size)  # a count or less
    turned = of_set(n, n - held, size, 0.05)
    straight = of_set(n, held, size, 0.05)
    assert (turned.low, turned.high) == pytest.approx((1 - straight.high, 1 - straight.low))


@pytest.mark.parametrize(("size", "held"), [(1, 0), (1, 1), (7, 3), (1000, 800)])
def test_all_inputs_of_a_set_tell_the_truth(size, held):
    assert of_set(size, held, size, 0.05) == Interval(held / size, held / size)


def test_one_input_and_nothing_but_good_or_bad_ones():
    assert of_set(1, 1, 100, 0.05) == Interval(0.03, 1.0)
    assert of_set(1, 0, 100, 0.05) == Interval(0.0, 0.97)
    assert of_set(50, 50, 100, 0.05).high == 1
    assert of_set(50, 0, 100, 0.05).low == 0


@pytest.mark.parametrize("error", ERRORS)
def test_bounds_for_a_population_are_clopper_and_pearsons_even_with_all_inputs(error):
    for n, held, size in [(1, 0, 9), (9, 9, 9), (5, 2, 9), (9, 4, 9)]:
        found = bounds_after(marks(n, held), size, Over.POPULATION, error, counts=True)
        assert found == clopper_pearson(Counts(n, held), error)


@pytest.mark.parametrize("n", [1, 2, 10, 60])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.3, 0.8, 0.99, 1.0])
@pytest.mark.parametrize("over", list(Over))
def test_bounds_of_values_between_0_and_1_hold_where_they_spread_the_most(n, p, over):
    """Coins are the worst of them; n of a million is as good as with replacement."""
    found = [bounds_after(marks(n, k), 10**6, over, 0.1, counts=False) for k in range(n + 1)]
    missed = [k for k in range(n + 1) if p not in found[k]]
    assert binom.pmf(missed, n, p).sum() <= 0.1


@pytest.mark.parametrize("value", [0.0, 1e-12, 0.37, 1.0])
def test_values_that_are_all_alike_have_bounds(value):
    found = bounds_after(np.full(50, value), 1000, Over.SET, 0.05, counts=False)
    assert 0 <= found.low <= value <= found.high <= 1
    assert found.width < 0.5
    whole = bounds_after(np.full(50, value), 50, Over.SET, 0.05, counts=False)
    assert whole.width == 0


@given(threshold=st.integers(1, 1000).map(lambda k: k / 1000), size=st.integers(1, 2000))
def test_the_target_of_a_set_parts_the_counts_that_are_enough_from_the_others(threshold, size):
    up, down = targets(threshold, size, Over.SET, 0.05, 0, counts=True)
    assert up == down
    enough = [k for k in range(size + 1) if k / size >= threshold]
    assert [k for k in range(size + 1) if k / size >= up] == enough


@pytest.mark.parametrize("slack", [1, 3, 40])
def test_slack_moves_targets_apart_by_as_many_inputs(slack):
    up, down = targets(0.8, 100, Over.SET, 0.05, slack, counts=True)
    assert (up * 100, down * 100) == pytest.approx((79.5 + slack, 79.5 - slack))


@settings(max_examples=40)
@given(threshold=st.integers(1, 100).map(lambda k: k / 100), size=st.integers(1, 400))
def test_targets_of_a_population_are_where_clopper_and_pearson_decide(threshold, size):
    up, down = targets(threshold, size, Over.POPULATION, 0.01, 0, counts=True)
    for held in range(size + 1):
        found = clopper_pearson(Counts(size, held), 0.01)
        assert (held / size >= up) == (found.low >= threshold)
        assert (held / size < down) == (found.high < threshold)


def test_targets_of_confidence():
    assert targets(0.8, 100, Over.SET, 0.05, 0, counts=False) == (0.8, 0.8)
    up, down = targets(0.8, 100, Over.POPULATION, 0.05, 0, counts=False)
    assert down < 0.8 < up


@pytest.mark.parametrize("over", list(Over))
@pytest.mark.parametrize("size", [1, 10, 36, 1000, 10_000])
def test_all_looks_together_spend_no_more_than_the_error(over, size):
    scan = frozenset(range(33))
    terms = Terms(size, over, True, 0.05, scan, 8192)
    final_is_exact = over is Over.SET
    times = max(1, len(looks(size)) - final_is_exact)
    others = times if final_is_exact else 1
    spent = sum(terms.spend(level) * times for level in scan) + 8192 * terms.spend(-1) * others
    assert spent <= 0.05 * (1 + 1e-9)


def seen_with(values):
    seen = Seen(0.5, Terms(len(values), Over.SET, True, 0.05, frozenset(), 100))
    return seen, np.asarray(values, float)


@pytest.mark.slow
@given(st.lists(st.booleans(), min_size=40, max_size=300))
def test_later_looks_only_narrow_and_the_last_is_exact(values):
    seen, values = seen_with(values)
    before = seen.interval
    for n in looks(len(values)):
        seen.put(0, values[:n])
        seen.look(n)
        assert seen.whole or before.low <= seen.interval.low <= seen.interval.high <= before.high
        before = seen.interval
    assert seen.interval == Interval(values.mean(), values.mean())
    assert seen.point.trials == len(values)


@given(st.sets(st.integers(0, 39)), st.sets(st.integers(0, 39), min_size=1))
def test_questions_are_for_the_missing_inputs_in_runs(known, wanted):
    seen, values = seen_with([True] * 40)
    for place in known:
        seen.put(place, values[place : place + 1])
    asks = seen.asks(np.array(sorted(wanted)))
    asked = [i for ask in asks for i in range(ask.start, ask.start + ask.units)]
    assert asked == sorted(wanted - known)
    assert all(a.start + a.units < b.start for a, b in itertools.pairwise(asks))


def test_a_level_is_on_a_side_only_when_its_bounds_are():
    seen, values = seen_with([1.0] * 8 + [0.0] * 2)
    assert seen.side(0.8) is None
    seen.put(0, values)
    seen.look(10)
    assert (seen.side(0.8), seen.side(0.81)) == (True, False)
    assert math.isnan(Seen(0.1, seen.terms).value)
