"""What to evaluate next, so that the levels at which a curve crosses a threshold are closed in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from surefoot.core.procedure import Ask
from surefoot.curves.assumptions import Assumption
from surefoot.curves.known_curve import CLEAR, Gap, KnownCurve
from surefoot.curves.levels import FINE, MOST_NOISY_LEVELS, ROUNDING, mean_of

WORTH_A_LEVEL = 8
"""A level is evaluated in full only where that may close more than 1/8 of what is open."""
CHECK_DOUBTS = 2.0
"""Standard deviations by which a check must seem to be on the side of its neighbours."""


def next_asks(known: KnownCurve) -> tuple[Ask, ...]:
    """What to evaluate next; nothing when nothing that is open can be closed.

    First all inputs at the clean level and a few at all levels of the scan; then, threshold by
    threshold, what may close a gap; last, for the value alone, a sketch of what stays open.
    """
    if not known.sampling.fresh and (asks := _fill(known, known.grid.centre)):
        return tuple(asks)
    scan = sorted(known.grid.scan(2 * known.assumption.cells))
    if asks := [ask for p in scan if not known.level(p).first for ask in _look(known, p)]:
        return tuple(asks)
    if contradiction := known.contradicted():
        known.fall_back(Assumption(), contradiction)
        return next_asks(known)
    return next((tuple(asks) for asks in _wanted(known) if asks), ())


def _wanted(known: KnownCurve) -> Iterator[list[Ask]]:
    for threshold in known.thresholds:
        gaps = known.gaps(threshold)
        for gap in gaps:
            if gap.above is None:
                yield _refine(known, gap, gaps, threshold)
        yield _open_sides(known, gaps, threshold)
    for threshold in known.thresholds:
        if not known.sampling.fresh:
            yield _sketch_open(known, threshold)


def _look(known: KnownCurve, place: int) -> list[Ask]:
    """The next look at a level."""
    level = known.level(place)
    return level.asks(np.arange(known.sampling.most) < level.next_look)


def _fill(known: KnownCurve, place: int) -> list[Ask]:
    """All trials at a level that do not follow from others."""
    level, wanted = known.level(place), np.ones(known.sampling.most, dtype=bool)
    if known.by_input:
        least, most = known.implied(place)
        wanted = least < most
    return level.asks(wanted)


def _open_sides(known: KnownCurve, gaps: Sequence[Gap], threshold: float) -> list[Ask]:
    """One more look at each level whose side is open, or seems to be another than implied; and at
    each check that does not seem to be clearly where its neighbours are.
    """
    sides = {gap.a: gap.sides[0] for gap in gaps} | {gaps[-1].b: gaps[-1].sides[1]}
    wanted = []
    for place, side in sides.items():
        seems = CLEAR if known.estimate(place) >= threshold - ROUNDING else -CLEAR
        if not known.complete(place) and side in {0, -seems}:
            wanted.append(place)
    checks = known.checks
    for gap in gaps:
        for place in checks:
            if gap.a < place < gap.b and gap.above is not None:
                beyond = known.estimate(place) - threshold
                clear = CHECK_DOUBTS * known.doubt(place)
                if (beyond if gap.above else -beyond) < clear:
                    wanted.append(place)
    return [ask for place in wanted for ask in _look(known, place)]


def _refine(known: KnownCurve, gap: Gap, gaps: Sequence[Gap], threshold: float) -> list[Ask]:
    """Evaluate between two neighbours, if that may close a part of what is open there."""
    if gap.width <= 1 or 0 in gap.sides or CLEAR not in map(abs, gap.sides):
        return []
    open_width = _open_width(gap, gaps)
    if gap.sides[0] == gap.sides[1] and not known.assumption.narrows:
        unsure = [place for place in (gap.a, gap.b) if not known.complete(place)]
        return [ask for place in unsure for ask in _look(known, place)]
    alike = gap.sides[0] == gap.sides[1]
    if alike or known.sampling.fresh:
        return _middle(known, gap) if alike or gap.width * WORTH_A_LEVEL > open_width else []
    if asks := _fill(known, gap.a) + _fill(known, gap.b):
        return asks
    ends = ((gap.a, gap.b, gap.sides[0]), (gap.b, gap.a, gap.sides[1]))
    for end, other, side in ends:
        if abs(side) == CLEAR:
            target = known.target(threshold, known.margin(gap.a, gap.b), above=side > 0)
            asks, place = _last_place(known, end, other, target, above=side > 0)
            if not asks and abs(place - end) * WORTH_A_LEVEL > open_width:
                asks = _fill(known, place)
            if asks:
                return asks
    return []


def _open_width(gap: Gap, gaps: Sequence[Gap]) -> int:
    """The width of all open gaps in a row of which this is one."""
    first = last = gaps.index(gap)
    while first > 0 and gaps[first - 1].above is None:
        first -= 1
    while last + 1 < len(gaps) and gaps[last + 1].above is None:
        last += 1
    return gaps[last].b - gaps[first].a


def _middle(known: KnownCurve, gap: Gap) -> list[Ask]:
    """Half-way between: a look where a look says something, else all inputs."""
    place = (gap.a + gap.b) // 2
    if known.sampling.fresh:
        # the levels of the finest scan are counted too: a contradiction may still ask for them
        planned = {*known.levels, *known.sampling.sampled}
        return _look(known, place) if len(planned) < MOST_NOISY_LEVELS else []
    return _look(known, place) if place in known.sampling.sampled else _fill(known, place)


def _last_place(
    known: KnownCurve, end: int, other: int, target: float, *, above: bool
) -> tuple[list[Ask], int]:
    """The last place from `end` on that seems to be above the target (or below), by halving; or
    what must be evaluated before that can be said.
    """
    while abs(end - other) > 1:
        middle = (end + other) // 2
        asks, values = known.sketch(middle)
        if asks:
            return asks, end
        if (mean_of(values) >= target - ROUNDING) == above:
            end = middle
        else:
            other = middle
    return [], end


def _sketch_open(known: KnownCurve, threshold: float) -> list[Ask]:
    """For the value alone: sketch what is open, as finely as it may cross the threshold."""
    asks: list[Ask] = []
    for gap in known.gaps(threshold):
        if gap.above is None:
            for place in (gap.a, gap.b):
                if not known.complete(place):
                    asks += _fill_around(known, place) or known.sketch(place)[0]
            asks += [] if asks else _sketch_between(known, gap.a, gap.b, threshold)
    return list(dict.fromkeys(asks))


def _fill_around(known: KnownCurve, place: int) -> list[Ask]:
    """All inputs at the nearest of every second level of the scan, on both sides of a place."""
    coarse = known.grid.scan(FINE // 2)
    before, after = max(p for p in coarse if p <= place), min(p for p in coarse if p >= place)
    return _fill(known, before) + (_fill(known, after) if after != before else [])


def _sketch_between(known: KnownCurve, a: int, b: int, threshold: float) -> list[Ask]:
    """Halve while inputs that differ between the two may take the mean across the threshold."""
    if b - a <= 1:
        return []
    first, last = known.sketch(a)[1], known.sketch(b)[1]
    above = float(np.minimum(first, last).mean()) >= threshold - ROUNDING
    if above or float(np.maximum(first, last).mean()) < threshold - ROUNDING:
        return []
    middle = (a + b) // 2
    return known.sketch(middle)[0] or [
        *_sketch_between(known, a, middle, threshold),
        *_sketch_between(known, middle, b, threshold),
    ]
