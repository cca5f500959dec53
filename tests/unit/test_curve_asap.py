"""ASAP with its corrections, and as printed."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.core.reasons import Why
from surefoot.core.results import Footing, Interval
from surefoot.curves.published import AdaptiveCurve, parabolas_meet
from tests.curve_worlds import drive_until, drive_whole

FINE = 10**9
"""So many inputs that an accuracy is what the curve says."""


def adaptive(curve, curvature=128.0, thresholds=(0.8,), span=(0.0, 1.0), size=FINE, **more):
    return drive_whole(AdaptiveCurve(*span, thresholds, curvature, size=size, **more), curve)


def true_share(curve, threshold, span=(0.0, 1.0), n=200_000):
    levels = span[0] + (span[1] - span[0]) * (np.arange(n) + 0.5) / n
    return float(np.mean(curve(levels) >= threshold))


@pytest.mark.parametrize(("value", "robust"), [(0.8, 1.0), (0.799, 0.0)])
def test_a_flat_curve_on_the_threshold_is_above_and_below_it_is_not(value, robust):
    found = adaptive(lambda level: value, size=1000, grid=64).curve.readings[0]
    assert found.value == robust
    assert robust in found.interval
    assert found.crossings == ()


@pytest.mark.parametrize(("first", "last"), [(0.8, 0.7), (0.7, 0.8)])
def test_a_tie_at_one_end_and_less_at_the_other_is_a_crossing(first, last):
    """The paper's product test says no: (acc - Θ) is 0."""
    assert parabolas_meet(first, last, 1e-14, 0.8)
    assert not parabolas_meet(0.8, 0.9, 1e-14, 0.8)


def smooth(rng, depth):
    """A curve of sines in [0, 1] whose second derivative is at most twice the depth."""
    waves, phase = rng.uniform(1, 14, 4), rng.uniform(0, 2 * np.pi, 4)
    size = rng.dirichlet(np.ones(4))
    bend = np.sum(size * waves**2)
    scale = min(0.49, 2 * depth / bend)
    middle = rng.uniform(0.5 + scale / 2, 1 - scale) if scale < 0.33 else 0.5

    def curve(level):
        return middle + scale * np.sum(
            size * np.sin(np.multiply.outer(level, waves) + phase), axis=-1
        )

    return curve


@pytest.mark.parametrize("depth", [0.5, 2.0, 16.0])
def test_theorem_1_holds_for_curves_that_bend_no_more(depth):
    """The truth lies in the interval, whose width is ε_A."""
    rng = np.random.default_rng(int(10 * depth))
    for _ in range(60):
        curve, threshold = smooth(rng, depth), float(rng.uniform(0.3, 0.95))
        found = adaptive(curve, depth, (threshold,), grid=256)
        reading = found.curve.readings[0]
        truth = true_share(curve, threshold, n=20_000)
        assert reading.interval.low - 1e-4 <= truth <= reading.interval.high + 1e-4
        open_widths = [
            b.level - a.level
            for a, b in pairwise(found.curve.points)
            if parabolas_meet(a.value, b.value, depth * (b.level - a.level) ** 2, threshold)
        ]
        assert reading.interval.width == pytest.approx(sum(open_widths))
        assert all(width < 1 / 256 for width in open_widths)
        assert reading.guarantee.footing is Footing.CONDITIONAL


@pytest.mark.parametrize("span", [(-1.0, 1.0), (0.0, 255.0), (-0.5, 0.5), (3.0, 3.01)])
def test_levels_are_shares_of_the_range_whatever_its_unit(span):
    def at(share):
        return 1 - 0.4 * share**2

    def curve(level):
        return at((level - span[0]) / (span[1] - span[0]))

    plain, other = adaptive(at), adaptive(curve, span=span)
    assert len(plain.trials_by_level) == len(other.trials_by_level)
    assert {span[0], span[1]} <= set(other.trials_by_level)
    assert other.curve.readings[0].value == pytest.approx(plain.curve.readings[0].value, abs=1e-9)


def smile(level):
    """Falls below 0.75 in the middle, twice."""
    return 0.75 + 0.2 * np.cos(4 * np.pi * np.asarray(level))


WAVES = {
    # smooth curves with several crossings, as in the paper's Fig. 5
    "two valleys": smile,
    "falls in waves": lambda x: 0.95 - 0.5 * x + 0.1 * np.sin(15 * x),
    "one bump": lambda x: 0.4 + 0.5 * np.exp(-(((x - 0.6) / 0.2) ** 2)),
    "late cliff": lambda x: 0.95 / (1 + np.exp(60 * (x - 0.83))),
}


@pytest.mark.parametrize("curve", WAVES.values(), ids=WAVES)
@pytest.mark.parametrize("size", [1000, FINE])
def test_a_curvature_of_its_own_choice_finds_every_crossing(curve, size):
    found = adaptive(curve, None, (0.7,), size=size)
    reading, truth = found.curve.readings[0], true_share(curve, 0.7)
    levels = np.linspace(0, 1, 50_001)
    assert len(reading.crossings) == np.count_nonzero(np.diff(curve(levels) >= 0.7))
    assert reading.value == pytest.approx(truth, abs=2e-3)
    assert len(found.trials_by_level) < 500
    assert found.curve.notes[0].why is Why.CURVATURE_CHECKED
    assert reading.guarantee.footing is Footing.CONDITIONAL


def test_a_curvature_of_its_own_choice_grows_when_a_stronger_bend_turns_up():
    """A cliff between two of the first nine levels bends more than they show."""
    mild = adaptive(lambda x: 0.9 - 0.05 * x, None, size=1000)
    cliff = adaptive(lambda x: 0.9 - 0.6 * (x > 0.55), None, size=1000, grid=64)
    assert mild.curve.notes[0].values[0] == 2
    assert cliff.curve.notes[0].values[0] > 2
    assert cliff.curve.readings[0].value == pytest.approx(0.55, abs=1 / 64)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([None, 1.0, 64.0]), st.sampled_from([1, 7, 500]))
def test_no_level_is_evaluated_twice_whatever_comes_back(seed, curvature, size):
    """Pure noise: the driver refuses a second question for one level."""
    rng = np.random.default_rng(seed)
    found = adaptive(lambda level: rng.random(), curvature, size=size, grid=64)
    reading = found.curve.readings[0]
    assert 0 <= reading.interval.low <= reading.value <= reading.interval.high <= 1


@pytest.mark.parametrize("as_printed", [False, True])
def test_between_levels_the_curve_lies_where_the_parabolas_allow(as_printed):
    rng = np.random.default_rng(3)
    for _ in range(20):
        curve = smooth(rng, 8.0)
        found = adaptive(lambda x, f=curve: f(x / 4), 8.0, span=(0.0, 4.0), as_printed=as_printed)
        between = found.curve.between
        assert [(b.low, b.high) for b in between] == list(pairwise(sorted(found.trials_by_level)))
        for part in between:
            values = curve(np.linspace(part.low, part.high, 50) / 4)
            assert 0 <= part.lowest <= values.min() + 1e-8
            assert values.max() - 1e-8 <= part.highest <= 1


def stopped(after, curve, curvature=16.0, thresholds=(0.7,), span=(0.0, 1.0), **more):
    recipe = AdaptiveCurve(*span, thresholds, curvature, size=FINE, **more)
    return drive_until(recipe, curve, after).curve


@pytest.mark.parametrize("as_printed", [False, True])
def test_theorem_1_holds_whenever_the_time_is_up(as_printed):
    rng = np.random.default_rng(8)
    for _ in range(8):
        curve, threshold = smooth(rng, 16.0), float(rng.uniform(0.4, 0.9))
        truth, widths = true_share(curve, threshold, n=20_000), []
        for after in range(40):
            found = stopped(after, curve, 16.0, (threshold,), as_printed=as_printed, grid=64)
            (reading,) = found.readings
            assert reading.interval.low - 1e-4 <= truth <= reading.interval.high + 1e-4
            assert reading.value in reading.interval
            assert reading.guarantee.footing is Footing.CONDITIONAL
            widths.append(reading.interval.width)
        assert as_printed or all(b <= a + 1e-12 for a, b in pairwise(widths))


@pytest.mark.parametrize("more", [{}, {"curvature": None}, {"as_printed": True}])
def test_a_curve_that_is_stopped_says_after_how_many_levels(more):
    for after in (0, 1, 2, 5):
        found = stopped(after, smile, **more)
        note = Why.STOPPED_EARLY.of(after)
        assert found.notes[0] == note
        assert (len(found.points), found.trials) == (after, after * FINE)
        assert (len(found.notes) == 2) == ("curvature" in more)
        assert found.notes[-1].why in (Why.CURVATURE_NOT_CHECKED, note.why)


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
