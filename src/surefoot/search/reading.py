"""From points to robustness: which parts of the range are settled, and what the rest may add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from surefoot.results import Crossing, Guarantee, Interval, Point, Reading
from surefoot.search.segments import Stretch

Settled = Callable[[Point, Point, float], bool]
_ROUNDING = 1e-9
"""0.8 + 0.03 is more than 0.83 in binary; much less than one input counts."""


def above(point: Point, threshold: float) -> bool:
    """Surely at or above; equal counts as above."""
    return point.interval.low >= threshold


def below(point: Point, threshold: float) -> bool:
    """Surely below."""
    return point.interval.high < threshold


def same_side(a: Point, b: Point, threshold: float) -> bool:
    """Whether both are surely on one side: all that lies between is too, if the curve goes one
    way there.
    """
    return (above(a, threshold) and above(b, threshold)) or (
        below(a, threshold) and below(b, threshold)
    )


def stays(curvature: float, span: float) -> Settled:
    """Whether a curve stays on its side between two points, if it bends no more than so.

    Between them it is no further from the chord than a parabola of that depth, with levels as
    shares of the range. The bounds of the points stand for the points.
    """

    def settled(a: Point, b: Point, threshold: float) -> bool:
        if not same_side(a, b, threshold):
            return False
        depth = curvature * ((b.level - a.level) / span) ** 2
        if above(a, threshold):
            return lowest(a.interval.low, b.interval.low, depth) >= threshold
        return -lowest(-a.interval.high, -b.interval.high, depth) < threshold

    return settled


def lowest(first: float, last: float, depth: float) -> float:
    """The least value of the parabola that hangs `depth`/4 below the middle of its chord."""
    if depth <= abs(last - first):  # its vertex is outside
        return min(first, last)
    at = 0.5 - (last - first) / (2 * depth)
    return first + (last - first) * at - depth * at * (1 - at)


def read(
    points: Sequence[Point],
    threshold: float,
    guarantee: Guarantee,
    settled: Settled = same_side,
    *,
    stretches: Sequence[Stretch] = (),
    middle: float | None = None,
) -> Reading:
    """Robustness and crossings from points in rising order of level, among them the ends of the
    range and of the stretches, one after the other, between which the curve may turn.

    A part of the range between two settled points counts fully or not at all; of any other part,
    only the guess is drawn from the values, and the interval covers it whole. Points closer to the
    threshold than the wiggles of their stretch settle nothing, and one seen on the other side
    unsettles. The guess is where straight lines meet `middle`, the threshold itself if that is not
    given.
    """
    meets = threshold if middle is None else middle
    span = points[-1].level - points[0].level
    surely, perhaps, guess = 0.0, 0.0, 0.0
    sure: dict[float, Point] = {}
    for stretch in stretches or (Stretch(points[0].level, points[-1].level),):
        here = [p for p in points if p.level in stretch]
        firm = {p.level: p for p in here if _firm(p, threshold, stretch.wiggle)}
        sides = {level: above(p, threshold) for level, p in firm.items()}
        lent = _lent(stretch, set(sides.values()))
        sure |= firm
        for a, b in pairwise(p for p in here if p.level in {stretch.low, stretch.high, *firm}):
            width = (b.level - a.level) / span
            between = [p for p in here if a.level <= p.level <= b.level]
            first, last = ((lent | sides).get(p.level) for p in (a, b))
            against = any((below if first else above)(p, threshold) for p in between)
            firmly = {a.level, b.level} <= set(sides) and settled(a, b, threshold)
            if first is not None and first == last and not against and (firmly or lent):
                inside = width if first else 0.0
                surely, perhaps, guess = surely + inside, perhaps + inside, guess + inside
            else:
                perhaps += width
                guess += share_above(between, meets) / span
    return Reading(
        threshold,
        min(max(guess, surely), perhaps, 1.0),
        Interval(min(surely, 1.0), min(max(surely, perhaps), 1.0)),
        crossings(points, list(sure.values()), threshold, meets),
        guarantee,
    )


def _lent(stretch: Stretch, sides: set[bool]) -> dict[float, bool]:
    """Sides of the ends that follow from which way the curve goes: before a level surely above, a
    curve that falls is above.
    """
    if stretch.falls is None:
        return {}
    ends = {stretch.low: stretch.falls, stretch.high: not stretch.falls}
    return {level: side for level, side in ends.items() if side in sides}


def _firm(point: Point, threshold: float, wiggle: float) -> bool:
    """Whether its side is sure by more than the wiggle."""
    spare = min(wiggle, _ROUNDING)
    return above(point, threshold + wiggle - spare) or below(point, threshold - wiggle - spare)


def share_above(points: Sequence[Point], threshold: float) -> float:
    """The length on which straight lines from value to value are at or above the threshold."""
    length = 0.0
    for a, b in pairwise(points):
        width = b.level - a.level
        if a.value >= threshold and b.value >= threshold:
            length += width
        elif (a.value >= threshold) != (b.value >= threshold):
            share = abs(max(a.value, b.value) - threshold) / abs(a.value - b.value)
            length += share * width
    return length


def crossings(
    points: Sequence[Point], firm: Sequence[Point], threshold: float, meets: float
) -> tuple[Crossing, ...]:
    """One for every two neighbours on different sides."""
    found = []
    for a, b in pairwise(firm):
        falls = above(a, threshold)
        if falls == above(b, threshold):
            continue
        between = [p for p in points if a.level <= p.level <= b.level]
        length = share_above(between, meets)
        at = a.level + length if falls else b.level - length
        found.append(Crossing(at, Interval(a.level, b.level), falls))
    return tuple(found)
