"""Curves of many classes: the weakest first, and what a time limit left out is said."""

import re

import numpy as np

from surefoot.core.results import UNIT, Curve, Footing, Guarantee, Interval, Point, Reading
from surefoot.curves.levels import MOST_DRAWS, Level, Sampling
from surefoot.records.record import CurveRow, Curves
from surefoot.report.figures import svg
from surefoot.report.formatting import points
from surefoot.report.provenance import findings_sections
from surefoot.report.views.curve import (
    _unfinished_classes,
    class_caption,
    class_chart,
    class_row,
    weakest_classes,
)
from tests.worlds import study

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
