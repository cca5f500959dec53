"""What the figures of curves show, in numbers, for readers who do not see them."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.core.results import Curve
from surefoot.records.record import Curves, Record
from surefoot.report.curve.class_figure import weakest_classes
from surefoot.report.curve.figures import curve_in
from surefoot.report.curve_quantity import curve_quantity
from surefoot.report.formatting import four_digits, percent, radius_range

_MOST_CURVES, _MOST_CROSSINGS = 6, 3
"""Curves and crossings in words: a description is listened to."""


def describe_curves(records: Mapping[str, Record]) -> str:
    """Where each curve begins and ends, its band there, and where it crosses the thresholds."""
    lines = [
        _describe(name, curve_quantity(record.study.property.kind), curve_in(record))
        for name, record in list(records.items())[:_MOST_CURVES]
    ]
    more = len(records) - _MOST_CURVES
    return " ".join([*lines, *([f"{more} more curves."] if more > 0 else [])])


def describe_classes(curves: Curves) -> str:
    """The weakest and the strongest class at the highest level."""
    ends = [(row.name, _last(row.curve)) for row in weakest_classes(curves) if row.curve.points]
    if not ends:
        return "No level was evaluated."
    (low_name, low), (high_name, high) = min(ends, key=_second), max(ends, key=_second)
    return (
        f"Curves of {len(curves.classes):,} classes and of all inputs. At the highest level they "
        f"lie between {percent(low)} ({low_name}) and {percent(high)} ({high_name})."
    )


def _describe(name: str, quantity: str, curve: Curve) -> str:
    head = f"{name}: {quantity}" if name else quantity.capitalize()
    if not curve.points:
        return f"{head}: no level was evaluated."
    points = sorted(curve.points, key=lambda point: point.level)
    first, last = points[0], points[-1]
    verb = "falls" if last.value < first.value else "rises"
    change = f"{verb} from {percent(first.value)}" if first.value != last.value else "is"
    line = f"{head} {change} {'' if change == 'is' else f'at level {four_digits(first.level)} to '}"
    line += f"{percent(last.value)} at level {four_digits(last.level)}."
    if curve.between:
        gap = max(curve.between, key=lambda between: between.high)
        low, high = max(gap.lowest, 0.0), min(gap.highest, 1.0)
        line += f" There the band reaches from {percent(low)} to {percent(high)}."
    for reading in curve.readings:
        for crossing in reading.crossings[:_MOST_CROSSINGS]:
            line += (
                f" It crosses {percent(reading.threshold)} at {four_digits(crossing.level)} "
                f"({radius_range(crossing.interval)})."
            )
    return line


def _last(curve: Curve) -> float:
    return max(curve.points, key=lambda point: point.level).value


def _second(pair: tuple[str, float]) -> float:
    return pair[1]
