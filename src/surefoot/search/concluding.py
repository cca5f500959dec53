"""From what was seen at single levels to the curve and its robustness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from surefoot.results import Curve, Footing, Guarantee, Interval, Point
from surefoot.search.looks import Over
from surefoot.search.next_level import Sight
from surefoot.search.oneway import assumed, notes, tightened
from surefoot.search.reading import Settled, read
from surefoot.search.request import CurveRequest
from surefoot.search.seen import Seen
from surefoot.search.segments import Stretch
from surefoot.search.supposing import supposed


def concluded(
    asked: CurveRequest,
    seen: Sequence[Seen],
    guesses: Mapping[float, Sight],
    stretches: Sequence[Stretch],
    settled: Settled,
) -> Curve:
    """The curve, with a reading for every threshold; `guesses` are the best values known."""
    bends = asked.curvature is not None
    best = {
        level: found.mean
        for level, found in supposed(seen).items()
        if level not in guesses or found.doubt <= guesses[level].doubt
    }
    best = {sight.level: sight.value for sight in guesses.values()} | best
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
    inside = [_guessed(s.point, best[s.level]) for s in seen if s.level in best]
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


def middle(asked: CurveRequest, threshold: float) -> float:
    """Between the last count that is enough and the first that is not, where counts step."""
    if asked.measure != "accuracy" or asked.scope != Over.SET:
        return threshold
    return (math.ceil(threshold * asked.size - 1e-9) - 0.5) / asked.size
