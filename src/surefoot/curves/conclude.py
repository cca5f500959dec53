"""From the levels evaluated to the statements about a curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from surefoot.core.results import Between, Crossing, Guarantee, Interval, Point, Reading
from surefoot.curves.known_curve import CLEAR, Gap, KnownCurve
from surefoot.curves.levels import ROUNDING
from surefoot.curves.published import geometry

Values = Sequence[tuple[float, float]]
"""Levels in rising order, and the best value known at each."""


def points_of(known: KnownCurve) -> tuple[Point, ...]:
    """Every level looked at, with its bounds."""
    points = []
    for place, level in sorted(known.levels.items()):
        if level.first or known.complete(place):
            bounds = known.bounds(place)
            value = min(max(known.estimate(place), bounds.low), bounds.high)
            points.append(Point(level.level, level.trials, value, bounds))
    return tuple(points)


def between_of(known: KnownCurve) -> tuple[Between, ...]:
    """What the curve can do between the levels, whatever the threshold."""
    level = known.grid.level
    if not known.places():
        return ()
    return tuple(
        Between(
            level(same[0].a),
            level(same[0].b),
            max(gap.reach.low for gap in same),
            min(gap.reach.high for gap in same),
        )
        for same in zip(*(known.gaps(t) for t in known.thresholds), strict=True)
    )


def reading_of(known: KnownCurve, threshold: float, guarantee: Guarantee) -> Reading:
    """The share of the range at or above the threshold, and where it is crossed."""
    gaps, values, grid = known.gaps(threshold), _values(known), known.grid
    size, meets = known.sampling.size, threshold
    if known.sampling.counts and not known.sampling.fresh:
        # between the last count that is enough and the first that is not
        meets = (math.ceil(threshold * size - ROUNDING) - 0.5) / size
    surely = perhaps = value = 0.0
    for gap in gaps:
        width = grid.share(gap.b) - grid.share(gap.a)
        if gap.above is None:
            span = Interval(grid.level(gap.a), grid.level(gap.b))
            perhaps += width
            value += length_within(values, meets, span) / (grid.high - grid.low)
        elif gap.above:
            surely, perhaps, value = surely + width, perhaps + width, value + width
    surely, perhaps = round(surely, 12), round(perhaps, 12)
    interval = Interval(min(surely, 1.0), min(max(surely, perhaps), 1.0))
    value = min(max(round(value, 12), interval.low), interval.high)
    crossings = _crossings(known, gaps, values, meets)
    return Reading(threshold, value, interval, crossings, guarantee)


def _values(known: KnownCurve) -> Values:
    """The best value at each level; of one that was only sketched, if nothing is missing there."""
    values = []
    for place, level in sorted(known.levels.items()):
        if level.full or known.sampling.fresh:
            values += [(level.level, level.estimate)] * (level.first > 0)
            continue
        asks, sketched = known.sketch(place)
        if not asks:
            values.append((level.level, float(sketched.mean())))
        elif level.first:
            bounds = known.bounds(place)
            value = min(max(known.estimate(place), bounds.low), bounds.high)
            values.append((level.level, value))
    return values


def length_within(values: Values, meets: float, span: Interval) -> float:
    """The length, within `span`, on which straight lines from value to value reach `meets`."""
    inside = [value for value in values if value[0] in span]
    return min(geometry.length_above(inside, meets), span.width)


def _crossings(
    known: KnownCurve, gaps: Sequence[Gap], values: Values, meets: float
) -> tuple[Crossing, ...]:
    """One for every stretch of open gaps with different sides before and after it."""
    grid, crossings = known.grid, []
    stretches = [list(group) for _, group in groupby(gaps, key=lambda gap: gap.above)]
    for i, stretch in enumerate(stretches):
        if stretch[0].above is not None:
            continue
        a, b = stretch[0].a, stretch[-1].b
        before = stretches[i - 1][0].above if i else _sure(known, a, stretch[0].sides[0])
        last = i + 1 == len(stretches)
        after = _sure(known, b, stretch[-1].sides[1]) if last else stretches[i + 1][0].above
        if before is not None and after is not None and before != after:
            span = Interval(grid.level(a), grid.level(b))
            length = length_within(values, meets, span)
            level = span.low + length if before else span.high - length
            crossings.append(Crossing(level, span, before))
    return tuple(crossings)


def _sure(known: KnownCurve, place: int, side: int) -> bool | None:
    """On which side an end of the range lies, where that is sure."""
    return side > 0 if abs(side) == CLEAR or known.complete(place) else None
