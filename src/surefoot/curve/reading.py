"""From the levels evaluated to the statements about a curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from surefoot.curve.tracing import SPARE, Gap, Tracing
from surefoot.results import Between, Crossing, Guarantee, Interval, Point, Reading


def points_of(tracing: Tracing) -> tuple[Point, ...]:
    """Every level looked at, with its bounds."""
    found = []
    for place in tracing.places():
        level, bounds = tracing.levels[place], tracing.bounds(place)
        value = min(max(level.estimate, bounds.low), bounds.high)
        found.append(Point(level.level, level.trials, value, bounds))
    return tuple(found)


def between_of(tracing: Tracing) -> tuple[Between, ...]:
    """What the curve can do between the levels, whatever the threshold."""
    grid = tracing.grid
    gaps = [tracing.gaps(threshold) for threshold in tracing.thresholds]
    return tuple(
        Between(
            grid.level(same[0].a),
            grid.level(same[0].b),
            max(gap.reach.low for gap in same),
            min(gap.reach.high for gap in same),
        )
        for same in zip(*gaps, strict=True)
    )


def reading_of(tracing: Tracing, threshold: float, guarantee: Guarantee) -> Reading:
    """The share of the range at or above the threshold, and where it is crossed."""
    gaps, guesses = tracing.gaps(threshold), _guesses(tracing)
    meets = _meets(tracing, threshold)
    surely = perhaps = value = 0.0
    for gap in gaps:
        width = tracing.grid.share(gap.b) - tracing.grid.share(gap.a)
        if gap.above is None:
            perhaps += width
            value += _length_above(_within(guesses, gap.a, gap.b), meets, tracing)
        elif gap.above:
            surely, perhaps, value = surely + width, perhaps + width, value + width
    interval = Interval(min(surely, 1.0), min(max(surely, perhaps), 1.0))
    return Reading(
        threshold,
        min(max(value, interval.low), interval.high),
        interval,
        _crossings(tracing, gaps, guesses, threshold, meets),
        guarantee,
    )


def _meets(tracing: Tracing, threshold: float) -> float:
    """Where straight lines are cut: between the last count that is enough and the next one."""
    size = tracing.sampling.size
    if tracing.sampling.fresh or not tracing.sampling.counts:
        return threshold
    return (math.ceil(threshold * size - SPARE) - 0.5) / size


def _guesses(tracing: Tracing) -> list[tuple[int, float]]:
    """The best value at each place; of one that was only sketched, if nothing is missing there."""
    found = []
    for place in sorted(tracing.levels):
        level = tracing.levels[place]
        if level.full or tracing.sampling.fresh:
            found.append((place, level.estimate))
            continue
        asks, values = tracing.sketch(place)
        if not asks:
            found.append((place, float(values.mean())))
        elif level.first:
            bounds = tracing.bounds(place)
            found.append((place, min(max(tracing.estimate(place), bounds.low), bounds.high)))
    return found


def _within(guesses: Sequence[tuple[int, float]], a: int, b: int) -> list[tuple[int, float]]:
    return [guess for guess in guesses if a <= guess[0] <= b]


def _length_above(guesses: Sequence[tuple[int, float]], meets: float, tracing: Tracing) -> float:
    """The share of the range on which straight lines from value to value reach `meets`."""
    length = 0.0
    for (a, first), (b, last) in pairwise(guesses):
        width = tracing.grid.share(b) - tracing.grid.share(a)
        if first >= meets and last >= meets:
            length += width
        elif (first >= meets) != (last >= meets):
            length += width * (max(first, last) - meets) / abs(first - last)
    return length


def _crossings(
    tracing: Tracing,
    gaps: Sequence[Gap],
    guesses: Sequence[tuple[int, float]],
    threshold: float,
    meets: float,
) -> tuple[Crossing, ...]:
    """One for every stretch of open gaps with different sides before and after it."""
    grid, found = tracing.grid, []
    before = _side_of_end(gaps[0].sides[0])
    stretches = [list(group) for _, group in groupby(gaps, key=lambda gap: gap.above)]
    for i, stretch in enumerate(stretches):
        if stretch[0].above is not None:
            before = stretch[0].above
            continue
        after = stretches[i + 1][0].above if i + 1 < len(stretches) else None
        if after is None:
            after = _side_of_end(stretch[-1].sides[1])
        if None in (before, after) or before == after:
            continue
        a, b = stretch[0].a, stretch[-1].b
        length = _length_above(_within(guesses, a, b), meets, tracing) * (grid.high - grid.low)
        at = grid.level(a) + length if before else grid.level(b) - length
        span = Interval(grid.level(a), grid.level(b))
        found.append(Crossing(min(max(at, span.low), span.high), span, bool(before)))
    return tuple(found)


def _side_of_end(side: int) -> bool | None:
    """On which side an end of the range lies, where that is sure."""
    return side > 0 if side else None
