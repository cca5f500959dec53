"""From the levels evaluated to the statements about a curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from surefoot.curve.levels import ROUNDING
from surefoot.curve.tracing import CLEAR, Gap, Tracing
from surefoot.results import Between, Crossing, Guarantee, Interval, Point, Reading

Values = Sequence[tuple[float, float]]
"""Levels in rising order, and the best value known at each."""


def points_of(tracing: Tracing) -> tuple[Point, ...]:
    """Every level looked at, with its bounds."""
    points = []
    for place, level in sorted(tracing.levels.items()):
        if level.first or tracing.complete(place):
            bounds = tracing.bounds(place)
            value = min(max(tracing.estimate(place), bounds.low), bounds.high)
            points.append(Point(level.level, level.trials, value, bounds))
    return tuple(points)


def between_of(tracing: Tracing) -> tuple[Between, ...]:
    """What the curve can do between the levels, whatever the threshold."""
    level = tracing.grid.level
    if not tracing.places():
        return ()
    return tuple(
        Between(
            level(same[0].a),
            level(same[0].b),
            max(gap.reach.low for gap in same),
            min(gap.reach.high for gap in same),
        )
        for same in zip(*(tracing.gaps(t) for t in tracing.thresholds), strict=True)
    )


def reading_of(tracing: Tracing, threshold: float, guarantee: Guarantee) -> Reading:
    """The share of the range at or above the threshold, and where it is crossed."""
    gaps, values, grid = tracing.gaps(threshold), _values(tracing), tracing.grid
    size, meets = tracing.sampling.size, threshold
    if tracing.sampling.counts and not tracing.sampling.fresh:
        # between the last count that is enough and the first that is not
        meets = (math.ceil(threshold * size - ROUNDING) - 0.5) / size
    surely = perhaps = value = 0.0
    for gap in gaps:
        width = grid.share(gap.b) - grid.share(gap.a)
        if gap.above is None:
            span = Interval(grid.level(gap.a), grid.level(gap.b))
            perhaps += width
            value += length_above(values, meets, span) / (grid.high - grid.low)
        elif gap.above:
            surely, perhaps, value = surely + width, perhaps + width, value + width
    interval = Interval(min(surely, 1.0), min(max(surely, perhaps), 1.0))
    value = min(max(value, interval.low), interval.high)
    crossings = _crossings(tracing, gaps, values, meets)
    return Reading(threshold, value, interval, crossings, guarantee)


def _values(tracing: Tracing) -> Values:
    """The best value at each level; of one that was only sketched, if nothing is missing there."""
    values = []
    for place, level in sorted(tracing.levels.items()):
        if level.full or tracing.sampling.fresh:
            values.append((level.level, level.estimate))
            continue
        asks, sketched = tracing.sketch(place)
        if not asks:
            values.append((level.level, float(sketched.mean())))
        elif level.first:
            bounds = tracing.bounds(place)
            value = min(max(tracing.estimate(place), bounds.low), bounds.high)
            values.append((level.level, value))
    return values


def length_above(values: Values, meets: float, span: Interval) -> float:
    """The length, within `span`, on which straight lines from value to value reach `meets`."""
    length = 0.0
    for (a, first), (b, last) in pairwise(value for value in values if value[0] in span):
        if first >= meets and last >= meets:
            length += b - a
        elif (first >= meets) != (last >= meets):
            length += (b - a) * (max(first, last) - meets) / abs(first - last)
    return min(length, span.width)


def _crossings(
    tracing: Tracing, gaps: Sequence[Gap], values: Values, meets: float
) -> tuple[Crossing, ...]:
    """One for every stretch of open gaps with different sides before and after it."""
    grid, crossings = tracing.grid, []
    stretches = [list(group) for _, group in groupby(gaps, key=lambda gap: gap.above)]
    for i, stretch in enumerate(stretches):
        if stretch[0].above is not None:
            continue
        a, b = stretch[0].a, stretch[-1].b
        before = stretches[i - 1][0].above if i else _sure(tracing, a, stretch[0].sides[0])
        last = i + 1 == len(stretches)
        after = _sure(tracing, b, stretch[-1].sides[1]) if last else stretches[i + 1][0].above
        if before is not None and after is not None and before != after:
            span = Interval(grid.level(a), grid.level(b))
            length = length_above(values, meets, span)
            level = span.low + length if before else span.high - length
            crossings.append(Crossing(level, span, before))
    return tuple(crossings)


def _sure(tracing: Tracing, place: int, side: int) -> bool | None:
    """On which side an end of the range lies, where that is sure."""
    return side > 0 if abs(side) == CLEAR or tracing.complete(place) else None
