"""Whether a curve goes one way, and what is taken for granted where it was not looked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from surefoot.results import Footing, Guarantee, Interval, Point
from surefoot.search.segments import Segment

_WIGGLE = 0.01
"""A rise after a fall that is worth a word."""


def assumed(
    error: float,
    curvature: float | None,
    parts: Sequence[Segment],
    wiggle: float,
    *,
    broken: bool,
) -> Guarantee:
    """The guarantee of a robustness read off, with what it takes for granted."""
    if curvature is not None:
        told = (
            f"between neighbouring levels the curve bends no more than a parabola of depth "
            f"{curvature:g} (in accuracy per squared share of the range)"
        )
        return Guarantee(Footing.CONDITIONAL, error, told)
    slack = f", but for wiggles of up to {100 * wiggle:.2g} points" if wiggle else ""
    if broken:
        told = (
            "between two neighbouring levels on the same side of the threshold the curve stays on "
            f"that side{slack}"
        )
        return Guarantee(Footing.CONDITIONAL, error, told)
    where = " and ".join(f"from {part.low:g} to {part.high:g}" for part in parts)
    footing = Footing.CONDITIONAL if wiggle else Footing.SOUND
    return Guarantee(footing, error, f"the curve goes one way, up or down, {where}{slack}")


def backtrack(with_it: int, against: int) -> int:
    """How many inputs a curve may climb back, if single inputs come and go at these rates.

    A walk that goes down `with_it` times for every `against` times that it goes up is ever m steps
    above where it was with probability (against / with_it)^m, the gambler's ruin. m is the first
    for which that is at most 1 in 100; and no more than a walk without a trend would wander.
    """
    if against == 0:
        return 0
    wander = math.ceil(2 * math.sqrt(with_it + against))
    if with_it <= against:
        return wander
    return min(math.ceil(math.log(100) / math.log(with_it / against)), wander)


def notes(points: Sequence[Point], parts: Sequence[Segment], wiggle: float) -> tuple[str, ...]:
    """Where the curve surely both falls and rises on one segment."""
    found = []
    for part in parts:
        here = [p for p in points if part.low <= p.level <= part.high]
        rise, fall = _steepest(here, wiggle), _steepest(here[::-1], wiggle)
        if rise is not None and fall is not None:
            small = min((rise, fall), key=lambda pair: _climb(*pair))
            low, high = sorted(p.level for p in small)
            word = "rises" if small is rise else "falls"
            found.append(
                f"the curve does not go one way from {part.low:g} to {part.high:g}: it {word} by "
                f"at least {100 * _climb(*small):.2g} points between {low:g} and {high:g}"
            )
    return tuple(found)


def tightened(
    points: Sequence[Point], parts: Sequence[Segment], wiggle: float
) -> tuple[Point, ...]:
    """Bounds that follow from those of other levels, where the curve goes one way.

    Where it surely falls somewhere on a segment and surely rises nowhere, it is at no level lower
    than at any later one, but for the wiggle; and the other way round.
    """
    found = {p.level: p for p in points}
    for part in parts:
        here = [p for p in points if part.low <= p.level <= part.high]
        falls, rises = (_steepest(side, wiggle) is not None for side in (here[::-1], here))
        if falls == rises:
            continue
        order = here if falls else here[::-1]
        for i, p in enumerate(order):
            low = max(p.interval.low, max(q.interval.low for q in order[i:]) - wiggle)
            high = min(p.interval.high, min(q.interval.high for q in order[: i + 1]) + wiggle)
            if low <= high:
                found[p.level] = replace(p, interval=Interval(low, high))
    return tuple(found[p.level] for p in points)


def _climb(a: Point, b: Point) -> float:
    """By how much b is surely above a."""
    return b.interval.low - a.interval.high


def _steepest(points: Sequence[Point], wiggle: float) -> tuple[Point, Point] | None:
    """The two, in this order, between which the curve surely climbs the most."""
    best: tuple[Point, Point] | None = None
    for a, b in combinations(points, 2):
        if _climb(a, b) > (max(_WIGGLE, 2 * wiggle) if best is None else _climb(*best)):
            best = (a, b)
    return best
