"""Rows of the tables of curves: one for each curve and threshold."""

from __future__ import annotations

from collections.abc import Iterable

from surefoot.core.results import UNIT, Crossing, Curve, Footing, Interval, Reading
from surefoot.report.formatting import (
    four_digits,
    percent,
    percent_range,
    radius_range,
)

SECONDS = "seconds"
_MOST = 3
"""Crossings in a cell: without a guarantee there may be many next to each other."""
_SPARE = 1e-9
"""Of the range: evenly spread levels miss 0 by the rounding of binary numbers."""


def reading_headings(name: str, heights: Iterable[str]) -> tuple[str, ...]:
    """Of the cells of `reading_row`; `heights` say what the curves are of."""
    return (name, "threshold", *_findings_headings(heights), "evaluations")


def reading_row(name: str, curve: Curve, reading: Reading) -> tuple[str, ...]:
    """The cells of one threshold; the robustness is the share of the levels at or above it."""
    return (
        name,
        percent(reading.threshold),
        *_findings(curve, reading),
        f"{curve.trials:,}",
    )


def class_headings(word: str, heights: Iterable[str], *, several: bool) -> tuple[str, ...]:
    """Of the cells of `class_row`; `several` thresholds have a column, `word` is for a class."""
    threshold = ("threshold",) if several else ()
    return (word, "inputs", *threshold, *_findings_headings(heights))


def class_row(name: str, curve: Curve, reading: Reading, *, several: bool) -> tuple[str, ...]:
    """The cells of one class and threshold."""
    threshold = (percent(reading.threshold),) if several else ()
    return (name, f"{curve.size:,}", *threshold, *_findings(curve, reading))


def _findings_headings(heights: Iterable[str]) -> tuple[str, ...]:
    height, *others = dict.fromkeys(heights)
    return (
        "crosses at",
        "robustness",
        "interval",
        f"{'height' if others else height} at level 0",
    )


def _findings(curve: Curve, reading: Reading) -> tuple[str, ...]:
    if not curve.points:
        return ("not evaluated", "not known", "", "")
    guaranteed = reading.guarantee.footing is not Footing.NONE
    return (
        _crossings(curve, reading, guaranteed=guaranteed),
        "not known" if guaranteed and reading.interval == UNIT else percent(reading.value),
        percent_range(reading.interval) if guaranteed else "no guarantee",
        _at_zero(curve),
    )


def seconds_cell(seconds: float) -> str:
    """How long it took, where that was measured."""
    return f"{seconds:.1f}" if seconds else ""


def _at_zero(curve: Curve) -> str:
    """The height of the curve at the clean inputs, if that level was evaluated."""
    near = (p for p in curve.points if abs(p.level) <= _SPARE * curve.span.width)
    point = next(near, None)
    return "" if point is None else percent(point.value)


def _crossings(curve: Curve, reading: Reading, *, guaranteed: bool) -> str:
    if reading.crossings:
        shown = [_crossing(crossing, guaranteed) for crossing in reading.crossings[:_MOST]]
        more = len(reading.crossings) - _MOST
        return "; ".join([*shown, *([f"{more} more"] if more > 0 else [])])
    decided = reading.interval.low == reading.interval.high if guaranteed else curve.points
    return "nowhere" if decided else "not located"


def _crossing(crossing: Crossing, guaranteed: bool) -> str:
    around: Interval = crossing.interval
    ends = f" ({radius_range(around)})" if guaranteed else ""
    return four_digits(crossing.level) + ends
