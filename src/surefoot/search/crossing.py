"""How a crossing of exact counts is caught between two levels whose sides are certain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from surefoot.results import Interval
from surefoot.search.inner import End, Goal, inner
from surefoot.search.next_level import Guess, Sight, guess
from surefoot.search.seen import Seen, Wish
from surefoot.search.segments import Segment

_BEYOND = 0.7
"""How far beyond a guess to look, in units of how far off it may well be."""
_BEND = 0.1
"""How far off a line is that is drawn onwards, per length."""


def closing(
    part: Segment,
    known: Sequence[Seen],
    within: Interval,
    sight: Callable[[Seen], Sight],
    goal: Goal,
    turn: int,
) -> list[Wish]:
    """What to look at next for a crossing that seems to be within some levels.

    All inputs where the crossing seems to be; then again, so far beyond that it is caught between
    the two; then what `inner` asks for.
    """
    whole, size = [s for s in known if s.whole], known[0].terms.size
    pairs = [
        (a, b)
        for a, b in pairwise(whole)
        if a.side(goal.target) != b.side(goal.target)
        and a.level < within.high
        and within.low < b.level
    ]
    if pairs:
        a, b = min(pairs, key=lambda pair: pair[1].level - pair[0].level)
        return inner(part, (End.of(a), End.of(b)), known, goal)
    sights = [sight(s) for s in known if s.first and within.low <= s.level <= within.high]
    found = [guess(sights, goal.target, size), _onwards(whole, goal.target, size)]
    guesses = [g for g in found if g is not None and within.low < g.level < within.high]
    at = (within.low + within.high) / 2
    if guesses and turn % 4 != 3:
        meets = min(guesses, key=lambda g: g.off + g.bend)
        at = meets.level
        if whole:
            nearest = min(whole, key=lambda s: abs(s.level - at))
            reach = _BEYOND * meets.off + meets.bend
            at += reach if nearest.level < at else -reach
    place = part.nearest(at, within)
    return [] if place is None else [Wish(place, size)]


def _onwards(whole: Sequence[Seen], target: float, size: int) -> Guess | None:
    """Where the line through the two whole levels nearest to the target meets it."""
    near = sorted(whole, key=lambda s: abs(s.value - target))[:2]
    if len(near) < 2:
        return None
    to, back = near
    drop, moved = to.value - back.value, np.count_nonzero(to.values != back.values)
    if (target - to.value) * drop <= 0:
        return None
    far = (target - to.value) / drop * (to.level - back.level)
    chance = math.sqrt(moved) / size / abs(drop)
    return Guess(to.level + far, abs(far) * chance, abs(far) * _BEND)
