"""From what was seen at single levels to the curve and its robustness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from surefoot.results import Curve, Footing, Guarantee, Interval, Point
from surefoot.search.inner import supposed
from surefoot.search.looks import Over
from surefoot.search.oneway import assumed, backtrack, notes, tightened
from surefoot.search.reading import Settled, read
from surefoot.search.seen import Seen
from surefoot.search.segments import Segment

if TYPE_CHECKING:
    from surefoot.search.sequential import SequentialCurve


def slack_of(seen: Sequence[Seen], thresholds: Sequence[float], near: float) -> int:
    """How many inputs the curve may climb back where it crosses a threshold.

    By those that went the other way between two levels, fully known and at most `near` apart, on
    different sides of it; the widest such pair tells the most. Without one, the narrowest.
    """
    whole = [s for s in seen if s.whole and s.terms.counts]
    pairs = [
        (a, b)
        for a, b in combinations(whole, 2)
        if any((a.value >= t) != (b.value >= t) for t in thresholds)
    ]
    close = [pair for pair in pairs if _distance(pair) <= near]
    chosen = max(close, key=_distance) if close else min(pairs, key=_distance, default=None)
    if chosen is None:
        return 0
    a, b = chosen
    down = int(np.count_nonzero(b.values < a.values))
    up = int(np.count_nonzero(b.values > a.values))
    return backtrack(max(down, up), min(down, up))


def _distance(pair: tuple[Seen, Seen]) -> float:
    return pair[1].level - pair[0].level


def concluded(
    asked: SequentialCurve,
    seen: Sequence[Seen],
    guesses: Mapping[float, float],
    parts: Sequence[Segment],
    settled: Settled,
) -> Curve:
    """The curve, with a reading for every threshold; `guesses` are the best values known."""
    bends = asked.curvature is not None
    near = (asked.high - asked.low) / 8
    caught = _caught(seen, near)
    best = {**guesses, **caught}
    points = [_guessed(s.point, best[s.level]) for s in seen if s.first]
    slack = max(
        0 if bends else slack_of([s for s in seen if s.level in part], asked.thresholds, near)
        for part in parts
    )
    wiggle = slack / asked.size
    found = () if bends else notes(points, parts, wiggle)
    promise = assumed(asked.error, asked.curvature, parts, wiggle, broken=bool(found))
    basis = points if bends else tightened(points, parts, wiggle)
    shown = (
        points
        if bends or found
        else [replace(p, band=q.interval) for p, q in zip(points, basis, strict=True)]
    )
    basis = sorted([*basis, *_between(seen, caught)], key=lambda p: p.level)
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
                breaks=asked.cuts,
                wiggle=wiggle,
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


def _caught(seen: Sequence[Seen], near: float) -> dict[float, float]:
    """Guesses at levels between two, at most `near` apart, at which all inputs are known."""
    whole = [s.level for s in seen if s.whole]
    return {
        level: value
        for level, value in supposed(seen).items()
        if any(a < level < b and b - a <= near for a, b in pairwise(whole))
    }


def _between(seen: Sequence[Seen], caught: Mapping[float, float]) -> list[Point]:
    """Levels where only inputs that differ on both sides were looked at: guesses, no bounds."""
    return [
        Point(s.level, int(s.known.sum()), caught[s.level], Interval(0.0, 1.0))
        for s in seen
        if not s.first and s.level in caught
    ]


def middle(asked: SequentialCurve, threshold: float) -> float:
    """Between the last count that is enough and the first that is not, where counts step."""
    if asked.measure != "accuracy" or asked.over != Over.SET:
        return threshold
    return (math.ceil(threshold * asked.size - 1e-9) - 0.5) / asked.size
