"""Whether a curve goes one way, and what is taken for granted where it was not looked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from surefoot.results import Footing, Guarantee, Interval, Point
from surefoot.search.segments import Stretch

_WIGGLE = 0.01
"""A rise after a fall that is worth a word."""


def assumed(
    error: float, curvature: float | None, stretches: Sequence[Stretch], *, broken: bool
) -> Guarantee:
    """The guarantee of a robustness read off, with what it takes for granted.

    A curve was looked at at some levels only, so it is never free of an assumption.
    """
    told = "the curve goes one way, up or down, "
    if curvature is not None:
        told = (
            f"between neighbouring levels the curve bends no more than a parabola of depth "
            f"{curvature:g} (in accuracy per squared share of the range)"
        )
    elif broken:
        told = (
            "between two neighbouring levels on the same side of the threshold the curve stays on "
            "that side, "
        )
    where = " and ".join(_where(stretch) for stretch in stretches)
    return Guarantee(Footing.CONDITIONAL, error, (told if curvature is not None else told + where,))


def _where(stretch: Stretch) -> str:
    size = f"{100 * stretch.wiggle:.2g}"
    wavy = f" but for wiggles of up to {size} point{'s' * (size != '1')} at the threshold"
    slack = wavy if stretch.wiggle else ""
    return f"from {stretch.low:g} to {stretch.high:g}{slack}"


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


def notes(points: Sequence[Point], stretches: Sequence[Stretch]) -> tuple[str, ...]:
    """Where the curve surely both falls and rises on one segment."""
    found = []
    for part in stretches:
        here = [p for p in points if p.level in part]
        rise, fall = _steepest(here, part.wiggle), _steepest(here[::-1], part.wiggle)
        if rise is not None and fall is not None:
            small = min((rise, fall), key=lambda pair: _climb(*pair))
            low, high = sorted(p.level for p in small)
            word = "rises" if small is rise else "falls"
            found.append(
                f"the curve does not go one way from {part.low:g} to {part.high:g}: it {word} by "
                f"at least {100 * _climb(*small):.2g} points between {low:g} and {high:g}"
            )
    return tuple(found)


def falls(points: Sequence[Point], wiggle: float) -> bool | None:
    """Whether the curve surely falls somewhere and surely rises nowhere, or the other way round."""
    down, up = (_steepest(side, wiggle) is not None for side in (points[::-1], points))
    return None if down == up else down


def tightened(points: Sequence[Point], stretches: Sequence[Stretch]) -> tuple[Point, ...]:
    """Bounds that follow from those of other levels, where the curve goes one way.

    Where it falls, it is at no level lower than at any later one, but for the wiggle; and the
    other way round.
    """
    found = {p.level: p for p in points}
    for part in stretches:
        if part.falls is None:
            continue
        here = [p for p in points if p.level in part]
        order = here if part.falls else here[::-1]
        for i, p in enumerate(order):
            low = max(p.interval.low, max(q.interval.low for q in order[i:]) - part.wiggle)
            high = min(p.interval.high, min(q.interval.high for q in order[: i + 1]) + part.wiggle)
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
