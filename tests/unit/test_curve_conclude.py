"""What is concluded of a curve, by its comparators too, and what the curve methods refuse."""

import math
import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.commands.caller import Caller
from surefoot.commands.demo import STEPS
from surefoot.core.procedure import Session
from surefoot.core.reasons import Why
from surefoot.core.results import UNIT, Curve, Footing, Guarantee, Interval, Point, Reading
from surefoot.curves import SequentialCurve
from surefoot.curves.conclude import length_within, rank_thresholds
from surefoot.curves.levels import MOST_DRAWS, Level, Sampling
from surefoot.curves.published import AdaptiveCurve, QuadCurve, RandomCurve, UniformCurve
from surefoot.errors import InvalidArgument
from surefoot.records.record import CurveRow, Curves
from surefoot.report.figures import svg
from surefoot.report.formatting import points
from surefoot.report.provenance import findings_sections
from surefoot.report.views.curve import (
    _unfinished_classes,
    class_caption,
    class_chart,
    class_row,
    curve_in,
    curve_rows,
    reading_row,
    weakest_classes,
)
from tests.curve_worlds import drive, drive_until, drive_whole, ordered
from tests.step_curves import StepCurve, follow
from tests.worlds import study

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


@settings(max_examples=40, deadline=None)
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


@pytest.mark.slow
def test_where_the_curve_of_the_demo_stays_up_to_is_where_it_crosses(tmp_path):
    """At the crossing a level of few inputs would give another number; such a one is in no line."""
    result = STEPS["curve"].run(str(tmp_path / "demo.db"), Caller("surefoot demo"))
    curve, (claim,) = curve_in(result.record), result.record.claims[:1]
    (crossing,) = curve.readings[0].crossings
    assert crossing.level == pytest.approx(claim.value, abs=1e-9)
    rows = curve_rows("", curve)
    firm = [row["firm"] for row in rows]
    assert firm == [point.trials >= 300 for point in curve.points]
    assert 0 < sum(firm) < len(firm)
    for one, other in pairwise(rows):
        assert other["stretch"] - one["stretch"] == (not other["firm"])


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


SOUND = Guarantee(Footing.CONDITIONAL, 0.05, ("it is smooth",))


def curve(share, *, notes=()):
    """At or above 80 % on this share of the levels; not evaluated at all if there is none."""
    around = UNIT if share is None else Interval(share, share + 0.01)
    points = () if share is None else (Point(0.0, 64, 1.0, Interval(0.9, 1.0)),)
    reading = Reading(0.8, share or 0.0, around, (), SOUND)
    return Curve(UNIT, 2, points, (reading,), SOUND, 64 * len(points), notes=notes)


def classes(*shares):
    rows = tuple(CurveRow(f"class {i}", 2, curve(share)) for i, share in enumerate(shares))
    return Curves(curve(0.5), rows, None)


def test_a_class_that_was_not_evaluated_is_not_among_the_weakest():
    curves = classes(None, 0.4, 0.2, None)
    assert [row.name[-1] for row in weakest_classes(curves)] == ["2", "1", "0", "3"]
    cells = class_row("class 0", curve(None), curve(None).readings[0], several=False)
    assert cells == ("class 0", "2", "not evaluated", "not known", "", "")


def test_of_many_classes_the_weakest_are_drawn_and_the_caption_says_of_how_many():
    many = classes(*(i / 100 for i in range(60)))
    assert class_caption(many).startswith("The 20 weakest of 60 classes, and all inputs.")
    drawn = set(re.findall(r">(class \d+)<", svg(class_chart(None, many))))
    assert drawn == {f"class {i}" for i in range(20)}
    few = classes(0.3, *[None] * 40)
    assert class_caption(few).startswith("1 of 41 classes were evaluated. At most 20")
    assert set(re.findall(r">(class \d+)<", svg(class_chart(None, few)))) == {"class 0"}


def test_classes_that_a_time_limit_left_out_are_counted():
    stopped = CurveRow("late", 2, curve(0.3, notes=("stopped early",)))
    begun = Curves(curve(0.5), (*classes(None, 0.4, None).classes, stopped), None)
    assert _unfinished_classes(begun) == [
        "the time limit was reached before 2 of 4 classes were evaluated.",
        "the curves of 1 of 4 classes were stopped early by the time limit.",
    ]
    assert _unfinished_classes(classes(0.1, 0.2)) == []


def test_a_level_of_fresh_draws_takes_memory_for_the_draws_that_were_run():
    level = Level(3, 0.5, Sampling(2, 0.05, frozenset(), fresh=True))
    (ask,) = level.asks(np.arange(MOST_DRAWS) < level.next_look)
    level.put(ask.start, np.ones(ask.units))
    assert (level.first, len(level.values)) == (44, 44)


def test_checks_of_several_runs_say_once_what_is_the_same():
    one, other = study().run().record, study(seed=2).run().record
    (section,) = findings_sections({"one": one, "other": other})
    assert {row[2] for row in section.table.rows} == {"all"}
    assert [row[:2] for row in section.table.rows] == [(f.name, f.finding) for f in one.findings]


def test_no_difference_has_no_sign():
    assert (points(0.0), points(-0.0), points(-0.01)) == ("0.00", "0.00", "-1.00")


ALL_KINDS = [AdaptiveCurve, UniformCurve, RandomCurve, QuadCurve, SequentialCurve]


def refusal(kind, **settings):
    with pytest.raises(InvalidArgument) as refused:
        Session(kind(**{"low": 0.0, "high": 1.0, "size": 10, **settings}))
    return str(refused.value)


EVERYWHERE = {
    "low": (1.0, 2.0, math.nan, -math.inf),
    "high": (math.inf,),
    "thresholds": ((), (0.0,), (1.0,), (80.0,), (0.8, -0.1), (math.nan,), (0.8, 0.7, 0.8)),
    "size": (0, -3),
}


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in EVERYWHERE.items() for v in vs])
def test_every_curve_refuses_what_makes_no_sense(kind, name, value):
    words = refusal(kind, **{name: value})
    if isinstance(value, tuple):
        twice = len(set(value)) < len(value)
        assert (str(list(value)) if twice else f"got {value[-1]:g}" if value else "0.8") in words
    else:
        assert f"{value:g}" in words.partition("got ")[2]


COMPARED = (UniformCurve, RandomCurve, QuadCurve)
ALONE = [
    ((AdaptiveCurve,), "curvature", (0.0, -128.0, math.inf, math.nan), "try 128"),
    ((AdaptiveCurve,), "grid", (1, 0, -5, 2**20 + 1), "try 1024"),
    ((AdaptiveCurve,), "step", (0.0, -0.1, 0.51, 1e-7, 1.0, math.nan, math.inf), "try 0.001"),
    (COMPARED, "levels", (1, 0, -2, 100_001), "levels"),
    ((SequentialCurve,), "error", (0.0, 1.0, math.nan), "try 0.05"),
    ((SequentialCurve,), "resolution", (0.0, 0.6, 9e-6, math.nan), "try 0.001"),
    ((SequentialCurve,), "clean", (math.inf,), "try 0"),
]


@pytest.mark.parametrize(("kinds", "name", "values", "way_out"), ALONE)
def test_a_number_that_makes_no_sense_is_refused_with_the_way_out(kinds, name, values, way_out):
    for kind in kinds:
        for value in values:
            words = refusal(kind, **{name: value})
            assert way_out in words
            assert f"got {value:g}" in words or f"got {value}" in words


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        (AdaptiveCurve, {"step": 0.001, "grid": 512}, "got both: 0.001 and 512"),
        (QuadCurve, {"levels": 41, "thresholds": (0.7, 0.8)}, "got 41 for 2"),
        (SequentialCurve, {"scope": "world"}, "the set or the population, got 'world'"),
        (SequentialCurve, {"measure": "loss"}, "accuracy or confidence, got 'loss'"),
        (SequentialCurve, {"assume": "smooth"}, "'smooth': choose bounded-rise"),
        (SequentialCurve, {"scope": "population", "assume": "curvature:60"}, "is not for a popul"),
        (
            SequentialCurve,
            {"scope": "population", "assume": "monotone", "measure": "confidence"},
            "not about confidence",
        ),
        (SequentialCurve, {"size": 0, "scope": "population"}, "got 0: give size"),
    ],
)
def test_what_does_not_go_together_is_refused(kind, settings, words):
    assert words in refusal(kind, **settings)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_widest_of_what_is_allowed_is_taken(kind):
    Session(kind(-1e6, 1e6, (1 - 1e-9, 1e-9), size=1))
    Session(kind(0.0, 1e-9, (0.5,), size=1))
    Session(QuadCurve(0.0, 1.0, (0.7, 0.8), levels=42, size=1))
    for step in (1e-6, 0.5):
        Session(AdaptiveCurve(0.0, 1.0, step=step, size=1))
