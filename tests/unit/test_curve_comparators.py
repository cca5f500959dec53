"""What ASAP is compared with: even levels, random levels, and an integrator."""

import numpy as np
import pytest

from surefoot.core.reasons import Why
from surefoot.core.results import Footing, Interval
from surefoot.curves.published import QuadCurve, RandomCurve, UniformCurve
from surefoot.report.views.curve import reading_row
from tests.curve_worlds import drive_until, drive_whole

KINDS = [UniformCurve, RandomCurve, QuadCurve]


def compared(kind, curve, thresholds=(0.8,), size=1000, **more):
    return drive_whole(kind(0.0, 1.0, thresholds, size=size, **more), curve)


def line(level):
    return 1 - 0.5 * level


def test_uniform_levels_give_the_share_of_them_at_or_above():
    """1 - x/2 is 0.8 at 0.4 itself: 0, 0.1 ... 0.4 of eleven."""
    found = compared(UniformCurve, line, levels=11)
    assert found.curve.readings[0].value == pytest.approx(5 / 11)
    assert sorted(found.trials_by_level) == pytest.approx(np.linspace(0, 1, 11))
    assert compared(UniformCurve, lambda x: 0.8).curve.readings[0].value == 1
    assert compared(UniformCurve, lambda x: 0.7).curve.readings[0].value == 0


def test_random_levels_are_those_of_the_seed():
    one, same = (compared(RandomCurve, line, levels=50, seed=4) for _ in range(2))
    other = compared(RandomCurve, line, levels=50, seed=5)
    assert one.trials_by_level == same.trials_by_level != other.trials_by_level
    assert one.curve.readings[0].value == np.mean([level <= 0.4 for level in one.trials_by_level])


@pytest.mark.parametrize("span", [(0.0, 1.0), (-1.0, 1.0), (0.0, 255.0), (3.0, 3.01), (0.0, 1e-9)])
@pytest.mark.parametrize(
    ("levels", "thresholds"), [(21, (0.8,)), (41, (0.8,)), (63, (0.7, 0.8, 0.9))]
)
@pytest.mark.parametrize("value", [0.2, 0.85])
def test_quad_settles_on_a_constant_with_a_single_part(value, levels, thresholds, span):
    """With one part SciPy warns even when its error is 0."""
    recipe = QuadCurve(*span, thresholds, levels, size=1000)
    found = drive_whole(recipe, lambda x: value).curve
    assert found.notes == ()
    assert [r.value for r in found.readings] == pytest.approx(
        [float(value >= t) for t in thresholds]
    )


@pytest.mark.parametrize("span", [(-1.0, 1.0), (0.0, 255.0), (3.0, 3.01), (0.0, 1e-9)])
def test_quad_is_as_exact_in_every_unit(span):
    def curve(level):
        return line((level - span[0]) / (span[1] - span[0]))

    found = drive_whole(QuadCurve(*span, (0.71,), size=1000), curve).curve
    assert found.readings[0].value == pytest.approx(0.58, abs=2e-3)


@pytest.mark.parametrize("levels", [21, 63, 100, 1024])
def test_quad_keeps_its_budget_and_makes_the_most_of_it(levels):
    found = compared(QuadCurve, lambda x: 1 - 0.7 * x, levels=levels)
    assert len(found.trials_by_level) <= levels
    assert found.curve.readings[0].value == pytest.approx(2 / 7, abs=0.05 if levels < 63 else 0.02)
    if levels < 1024:
        assert found.curve.notes[0] == Why.INTEGRAL_OPEN.of(0.8)


@pytest.mark.parametrize("kind", KINDS)
def test_comparators_promise_nothing_but_their_points(kind):
    found = compared(kind, line, levels=30).curve
    (reading,) = found.readings
    assert reading.guarantee.footing is Footing.NONE
    assert reading.interval == Interval(0.0, 1.0)
    assert found.guarantee.footing is Footing.SOUND
    assert found.between == ()
    assert all(p.value == pytest.approx(line(p.level), abs=1e-3) for p in found.points)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", [0, 1, 2, 7, 20])
def test_a_comparator_that_is_stopped_concludes_from_the_levels_it_has(kind, after):
    found = drive_until(kind(0.0, 1.0, (0.8, 0.6), size=1000), line, after).curve
    assert found.notes == (Why.STOPPED_EARLY.of(after),)
    assert (len(found.points), found.trials) == (after, 1000 * after)
    for reading in found.readings:
        assert reading.interval == Interval(0.0, 1.0)
        assert reading.guarantee.footing is Footing.NONE
        assert 0 <= reading.value <= 1
    if after == 20:
        assert [r.value for r in found.readings] == pytest.approx([0.4, 0.8], abs=0.15)


def test_quad_keeps_the_integrals_it_has_when_it_is_stopped():
    recipe = QuadCurve(0.0, 1.0, (0.71, 0.6), size=1000)
    alone = drive_whole(QuadCurve(0.0, 1.0, (0.71,), levels=512, size=1000), line)
    found = drive_until(recipe, line, len(alone.trials_by_level) + 3).curve
    assert found.readings[0].value == alone.curve.readings[0].value
    assert found.readings[1].value == pytest.approx(0.8, abs=0.01)


def test_a_crossing_without_guarantee_is_shown_as_the_levels_around_it():
    """The share of eleven levels, 5/11, and a point between 0.4 and 0.5 would contradict it."""
    curve = compared(UniformCurve, lambda x: 0.99 - 0.45 * x, levels=11).curve
    row = reading_row("even", curve, curve.readings[0])
    assert row[2:5] == ("0.4 to 0.5", "45.45 %", "no guarantee")
