"""From what was seen at single levels to the curve and its robustness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from surefoot.results import Curve, Footing, Guarantee, Interval, Point
from surefoot.search.looks import Over
from surefoot.search.oneway import assumed, backtrack, notes, tightened
from surefoot.search.reading import Settled, read
from surefoot.search.seen import Seen, Values
from surefoot.search.segments import Stretch
from surefoot.search.supposing import supposed

if TYPE_CHECKING:
    from surefoot.search.sequential import SequentialCurve


def slack_of(seen: Sequence[Seen], thresholds: Sequence[float], near: float) -> int:
    """How many inputs the curve may climb back where it crosses a threshold.

    By those that went the other way from one level to the next, between and around two levels,
    fully known and at most `near` apart, on different sides of it; the widest such pair tells the
    most. Without one, the narrowest.
    """
    full = [s for s in seen if s.full(thresholds) and s.terms.counts]
    pairs = [
        (a, b)
        for a, b in combinations(full, 2)
        if any(None is not a.side(t) != b.side(t) is not None for t in thresholds)
    ]
    close = [pair for pair in pairs if _distance(pair) <= near]
    chosen = max(close, key=_distance) if close else min(pairs, key=_distance, default=None)
    if chosen is None:
        return 0
    middle = (chosen[0].level + chosen[1].level) / 2
    low = min(chosen[0].level, middle - near / 2)
    high = max(chosen[1].level, middle + near / 2)
    down, up = _moves([s.values for s in seen if low <= s.level <= high])
    return backtrack(max(down, up), min(down, up))


def caught(seen: Sequence[Seen], thresholds: Sequence[float]) -> bool:
    """Whether there are two levels, next to fully known, on different sides of a threshold."""
    full = [s for s in seen if s.full(thresholds)]
    return any({True, False} <= {s.side(t) for s in full} for t in thresholds)


def scanned_moves(seen: Sequence[Seen]) -> tuple[int, int]:
    """How many moves went with the curve and how many against it, of the inputs of the scan."""
    few = seen[0].terms.few
    moves = _moves([s.values[:few] for s in seen if s.first])
    return max(moves), min(moves)


def all_moves(seen: Sequence[Seen]) -> tuple[int, int]:
    """The same, of all inputs."""
    moves = _moves([s.values for s in seen])
    return max(moves), min(moves)


def _moves(rows: Sequence[Values]) -> tuple[int, int]:
    """How often an input got worse, and better, from a level to the next at which it is known."""
    last, down, up = rows[0].copy(), 0, 0
    for row in rows[1:]:
        down += int(np.count_nonzero(row < last))
        up += int(np.count_nonzero(row > last))
        np.copyto(last, row, where=~np.isnan(row))
    return down, up


def _distance(pair: tuple[Seen, Seen]) -> float:
    return pair[1].level - pair[0].level


def concluded(
    asked: SequentialCurve,
    seen: Sequence[Seen],
    guesses: Mapping[float, float],
    stretches: Sequence[Stretch],
    settled: Settled,
) -> Curve:
    """The curve, with a reading for every threshold; `guesses` are the best values known."""
    bends = asked.curvature is not None
    supposed_to_be = {level: float(v.mean()) for level, v in supposed(seen).items()}
    full = [s.level for s in seen if s.full(asked.thresholds)]
    close = _caught(full, supposed_to_be, (asked.high - asked.low) / 8)
    best = {**supposed_to_be, **guesses, **close}
    points = [
        _guessed(s.point, best[s.level])
        for s in seen
        if s.first or any(s.side(t) is not None for t in asked.thresholds)
    ]
    found = () if bends else notes(points, stretches)
    promise = assumed(asked.error, asked.curvature, stretches, broken=bool(found))
    basis = points if bends else tightened(points, stretches)
    shown = (
        points
        if bends or found
        else [replace(p, band=q.interval) for p, q in zip(points, basis, strict=True)]
    )
    inside = [_guessed(s.point, close[s.level]) for s in seen if s.level in close]
    told = {p.level for p in points}
    basis = sorted([*basis, *(p for p in inside if p.level not in told)], key=lambda p: p.level)
    return Curve(
        span=Interval(asked.low, asked.high),
        size=asked.size,
        points=tuple(shown),
        readings=tuple(
            read(
                basis,
                t,
                promise,
                settled,
                stretches=stretches,
                middle=middle(asked, t),
            )
            for t in asked.thresholds
        ),
        guarantee=Guarantee(Footing.SOUND, asked.error),
        trials=sum(int(s.known.sum()) for s in seen),
        notes=tuple(found),
    )


def _guessed(point: Point, guess: float) -> Point:
    low, high = point.interval.low, point.interval.high
    return replace(point, value=min(max(guess, low), high))


def _caught(
    full: Sequence[float], means: Mapping[float, float], near: float
) -> dict[float, float]:
    """Of the means supposed, those between two levels, at most `near` apart, that are full."""
    return {
        level: mean
        for level, mean in means.items()
        if any(a <= level <= b and b - a <= near for a, b in pairwise(full))
    }


def middle(asked: SequentialCurve, threshold: float) -> float:
    """Between the last count that is enough and the first that is not, where counts step."""
    if asked.measure != "accuracy" or asked.over != Over.SET:
        return threshold
    return (math.ceil(threshold * asked.size - 1e-9) - 0.5) / asked.size
