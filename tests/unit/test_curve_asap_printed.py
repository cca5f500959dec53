"""ASAP as printed, against algorithm 1 and theorem 1 in exact fractions."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from surefoot.core.results import Footing, Interval
from surefoot.curves.published import AdaptiveCurve
from tests.curve_worlds import drive_until, drive_whole


def parab_intsct(x_a, acc_a, x_b, acc_b, a, theta):
    """The paper's function; b and c solve its two equations."""
    if (acc_a - theta) * (acc_b - theta) < 0:
        return True
    b = (acc_b - acc_a - a * (x_b**2 - x_a**2)) / (x_b - x_a)
    c = acc_b - a * x_b**2 - b * x_b
    x_v, y_v = -b / (2 * a), -(b**2 - 4 * a * c) / (4 * a)
    return x_a <= x_v <= x_b and (acc_a - theta) * (y_v - theta) < 0


def published(accuracy, theta, depth, n):
    """Robustness, ε_A and the levels, on the range from 0 to 1."""
    theta, depth, res = Fraction(theta), Fraction(depth), {}

    def intersected(x_a, x_b):
        return any(parab_intsct(x_a, res[x_a], x_b, res[x_b], a, theta) for a in (depth, -depth))

    def evaluate(x_a, x_b):
        for x in (x_a, x_b):
            if x not in res:
                res[x] = Fraction(accuracy(float(x)))
        if intersected(x_a, x_b) and x_b - x_a >= Fraction(1, n):
            evaluate(x_a, (x_a + x_b) / 2)
            evaluate((x_a + x_b) / 2, x_b)

    evaluate(Fraction(0), Fraction(1))
    pairs = list(pairwise(sorted(res)))
    robustness = sum((b - a for a, b in pairs if res[b] >= theta), Fraction(0))
    bound = sum((b - a for a, b in pairs if intersected(a, b)), Fraction(0))
    return float(robustness), float(bound), {float(x) for x in res}


def hashed(x):
    """A different number at every level, not smooth at all."""
    return float(np.random.default_rng(int(x * 2**40)).uniform(0.5, 1.0))


CURVES = {
    "a line": lambda x: 1 - 0.4 * x,
    "rises": lambda x: 0.6 + 0.4 * x,
    "two valleys": lambda x: 0.75 + 0.2 * np.cos(4 * np.pi * x),
    "late cliff": lambda x: 0.95 / (1 + np.exp(60 * (x - 0.83))),
    "flat and high": lambda x: 0.9,
    "on the threshold": lambda x: 0.8,
    "from the threshold down": lambda x: 0.8 - 0.6 * x,
    "down to the threshold": lambda x: 1 - 0.4 * min(x, 0.5),
    "a step to the threshold": lambda x: 0.9 if x < 0.3 else 0.8 if x < 0.6 else 0.5,
    "no curve": hashed,
}


@pytest.mark.parametrize("size", [10, 1000, 10**9])
@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
@pytest.mark.parametrize(("depth", "n"), [(None, 1024), (2.0, 1024), (256.0, 50)])
def test_it_is_the_papers_algorithm_to_the_last_bit(curve, size, depth, n):
    recipe = AdaptiveCurve(0.0, 1.0, (0.8,), depth, n, as_printed=True, size=size)
    found = drive_whole(recipe, curve)
    value, bound, levels = published(
        lambda x: round(curve(x) * size) / size, 0.8, depth or 128.0, n
    )
    (reading,) = found.curve.readings
    assert reading.value == value
    assert reading.interval == Interval(max(value - bound, 0.0), min(value + bound, 1.0))
    assert set(found.trials_by_level) == levels


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
def test_every_threshold_is_read_from_the_levels_of_its_own_recursion(curve):
    def run(*thresholds):
        recipe = AdaptiveCurve(0.0, 1.0, thresholds, as_printed=True, grid=128, size=1000)
        return drive_whole(recipe, curve)

    several, alone = run(0.6, 0.8, 0.9), [run(t) for t in (0.6, 0.8, 0.9)]
    assert several.curve.readings == tuple(one.curve.readings[0] for one in alone)
    assert set(several.trials_by_level) == set().union(*(one.trials_by_level for one in alone))


def test_a_threshold_not_reached_in_time_is_read_from_the_levels_of_the_others():
    recipe = AdaptiveCurve(0.0, 1.0, (0.9, 0.8), as_printed=True, grid=128, size=1000)
    found = drive_until(recipe, CURVES["a line"], 12).curve
    for reading, truth in zip(found.readings, (0.25, 0.5), strict=True):
        assert truth in reading.interval


@pytest.mark.parametrize(("span", "levels"), [((0, 1), 33), ((-1, 1), 65)])
def test_flat_curves_take_as_many_levels_as_in_the_paper(span, levels):
    """Table I, where robustness is 100 %: 34 on [0, 1], and 65 and 68 on [-1, 1]: â = 128 is per
    squared unit of the level."""
    recipe = AdaptiveCurve(*span, (0.8,), as_printed=True, size=1000)
    found = drive_whole(recipe, lambda x: 0.9)
    assert len(found.trials_by_level) == levels
    assert found.curve.readings[0].value == 1


def test_nothing_is_promised_where_an_accuracy_equals_the_threshold():
    """The product test takes the pair of a tie and less for closed: the sum is wrong there."""

    def read(curve, as_printed):
        recipe = AdaptiveCurve(0.0, 1.0, (0.8,), 1.0, 256, as_printed, size=1000)
        return drive_whole(recipe, curve).curve.readings[0]

    def tie(x):
        return 0.8 if x < 0.7 else 0.8 - (x - 0.7)

    wrong, right = read(tie, as_printed=True), read(tie, as_printed=False)
    assert 0.7 not in wrong.interval
    assert 0.7 in right.interval
    assert wrong.guarantee.footing is Footing.NONE
    assert read(CURVES["late cliff"], as_printed=True).guarantee.footing is Footing.CONDITIONAL
