"""Lines and parabolas between the points of a curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from surefoot.core.results import Between, Crossing, Interval, Point


def above(point: Point, threshold: float) -> bool:
    """Surely at or above; equal counts as above."""
    return point.interval.low >= threshold


def exact_points(rates: Mapping[float, float], size: int) -> tuple[Point, ...]:
    """Points at which all inputs were evaluated, in rising order of level."""
    return tuple(
        Point(level, size, rate, Interval(rate, rate)) for level, rate in sorted(rates.items())
    )


def lowest(first: float, last: float, depth: float) -> float:
    """The least value of the parabola that hangs `depth`/4 below the middle of its chord."""
    if depth <= abs(last - first):  # its vertex is outside
        return min(first, last)
    at = 0.5 - (last - first) / (2 * depth)
    return min(first, last, first + (last - first) * at - depth * at * (1 - at))


def parabolas_meet(first: float, last: float, depth: float, threshold: float) -> bool:
    """Whether a curve between the two parabolas may be on both sides; equal counts as above."""
    if (first >= threshold) != (last >= threshold):
        return True
    if first >= threshold:
        return lowest(first, last, depth) < threshold
    return -lowest(-first, -last, depth) >= threshold


def between_parabolas(points: Sequence[Point], bend: float, span: float) -> tuple[Between, ...]:
    """What a curve can do between neighbours if it bends no more, per squared share of `span`."""
    between = []
    for a, b in pairwise(points):
        depth = bend * ((b.level - a.level) / span) ** 2
        least, most = lowest(a.value, b.value, depth), -lowest(-a.value, -b.value, depth)
        between.append(Between(a.level, b.level, max(least, 0.0), min(most, 1.0)))
    return tuple(between)


def printed_test(x_a: float, acc_a: float, x_b: float, acc_b: float, a: float, t: float) -> bool:
    """The function parabIntsct of ASAP's algorithm 1, letter by letter; `t` is its threshold."""
    if (acc_a - t) * (acc_b - t) < 0:
        return True
    b = (acc_b - acc_a) / (x_b - x_a) - a * (x_a + x_b)
    c = acc_a - a * x_a**2 - b * x_a
    x_v, y_v = -b / (2 * a), -(b**2 - 4 * a * c) / (4 * a)
    return x_a <= x_v <= x_b and (acc_a - t) * (y_v - t) < 0


def length_above(values: Iterable[tuple[float, float]], threshold: float) -> float:
    """The length on which straight lines from value to value are at or above the threshold.

    `values` are levels in rising order, and the value at each.
    """
    length = 0.0
    for (a, first), (b, last) in pairwise(values):
        if first >= threshold and last >= threshold:
            length += b - a
        elif (first >= threshold) != (last >= threshold):
            length += (max(first, last) - threshold) / abs(first - last) * (b - a)
    return length


def share_above(points: Sequence[Point], threshold: float) -> float:
    """The same of points."""
    return length_above(((p.level, p.value) for p in points), threshold)


def linear_crossings(
    points: Sequence[Point], firm: Sequence[Point], threshold: float, meets: float
) -> tuple[Crossing, ...]:
    """One for every two neighbours in `firm` on different sides of the threshold.

    Its level is where the straight lines through `points` meet `meets`.
    """
    crossings = []
    for a, b in pairwise(firm):
        falls = above(a, threshold)
        if falls == above(b, threshold):
            continue
        between = [p for p in points if a.level <= p.level <= b.level]
        length = share_above(between, meets)
        at = a.level + length if falls else b.level - length
        crossings.append(Crossing(at, Interval(a.level, b.level), falls))
    return tuple(crossings)
