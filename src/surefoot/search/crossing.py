"""How a crossing of exact counts is caught between two levels whose sides are certain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from surefoot.results import Interval
from surefoot.search.inner import Goal, inner
from surefoot.search.looks import looks
from surefoot.search.next_level import Guess, Sight, guess, smoothed
from surefoot.search.seen import LevelRequest, Seen
from surefoot.search.segments import Segment
from surefoot.search.supposing import End, beside

_BEYOND, _STEP, _FAR = 0.7, 0.7, 2.0
"""How far beyond a guess to look, in units of how far off it may well be, and at least, in units of
how near is near enough; and both where the next look will be at most of the inputs."""
_LEAST = 4
"""How many inputs are near enough, for that, where wiggles do not tell."""
_BEND = 0.1
"""How far off a line is that is drawn onwards, per length."""
_LEAN, _MOST = 1.0, 0.06
"""How far beyond the first guess to look, likewise, towards the side that fewer inputs tell; and
the most, in the mean."""
_SAMPLE = 4
"""How many times the inputs of the scan tell where to look at all of them."""
_SMOOTH = 2.0
"""Over how many cells of the scan its steps are smoothed."""
_TURNS = 9
"""Every so many levels the search takes a middle, so that it ends for certain."""


def closing(
    part: Segment,
    known: Sequence[Seen],
    within: Interval,
    sight: Callable[[Seen], Sight],
    goal: Goal,
) -> list[LevelRequest]:
    """What to look at next for a crossing that seems to be within some levels.

    Some inputs where the crossing seems to be, to see where it is; all of them a little beyond.
    From there on the ones that can make a difference, so far back that it is caught between the
    two; then what `inner` asks for.
    """
    size, ends = known[0].terms.size, beside(known, goal.target, goal.against)
    pairs = [
        (a, b)
        for a, b in pairwise(ends)
        if (a.mean >= goal.target) != (b.mean >= goal.target)
        and a.level < within.high
        and within.low < b.level
    ]
    if pairs:
        a, b = min(pairs, key=lambda pair: pair[1].level - pair[0].level)
        close = goal.inputs * (b.level - a.level) / abs(a.mean - b.mean)
        wishes = inner(part, (a, b), known, replace(goal, close=max(goal.close, close)))
        return [fresh for wish in wishes for fresh in _fresh(known, wish)]
    scanned = [s.level for s in known if s.level in s.terms.scan]
    reach = _SMOOTH * (part.high - part.low) / (len(scanned) - 1)
    every = smoothed([sight(s) for s in known if s.first], reach)
    sights = [s for s in every if within.low <= s.level <= within.high]
    found = [guess(sights, goal.target, size), _onwards(ends, goal.target, size)]
    guesses = [g for g in found if g is not None and within.low < g.level < within.high]
    meets = min(guesses, key=lambda g: g.off + g.bend, default=None)
    turns = sum(within.low < s.level < within.high for s in known if s.level not in s.terms.scan)
    often = turns % _TURNS == _TURNS - 1
    if not ends and meets is not None and not often:
        return _first(part, known, within, guess(sights, goal.beyond, size) or meets, goal)
    at = (within.low + within.high) / 2
    if ends and meets is not None:
        nearest = min(ends, key=lambda end: abs(end.level - meets.level))
        heavy = (nearest.mean >= goal.target) != goal.light
        reach = max(
            (_FAR if heavy else _BEYOND) * meets.off + meets.bend,
            (_FAR if heavy else _STEP) * max(goal.inputs, _LEAST / size) * meets.flat,
        )
        at = meets.level + (reach if nearest.level < meets.level else -reach)
        if often:
            at = (nearest.level + (within.high if nearest.level < meets.level else within.low)) / 2
    place = part.nearest(at, within)
    return (
        []
        if place is None
        else _fresh(known, LevelRequest(place, size, _telling(ends, place, goal)))
    )


def _fresh(known: Sequence[Seen], wish: LevelRequest) -> list[LevelRequest]:
    """The wish; all inputs there if it asks for none that are not known."""
    here = [s for s in known if s.level == wish.level]
    if wish.some is not None and all(s.known[wish.some].all() for s in here[:1]) and here:
        return [LevelRequest(wish.level, wish.first)]
    return [wish]


def _first(
    part: Segment, known: Sequence[Seen], within: Interval, meets: Guess, goal: Goal
) -> list[LevelRequest]:
    """Some inputs where the crossing seems to be, then all.

    On the side from which fewer inputs tell where the other side begins: below 0.8 it is those
    that fail.
    """
    terms = known[0].terms
    some = next(n for n in looks(terms.size) if n >= min(_SAMPLE * terms.few, terms.size / 6))
    near = [s for s in known if s.first >= some and abs(s.level - meets.level) <= 2 * meets.off]
    if not near and some > terms.few:
        at = part.nearest(meets.level, within)
        return [] if at is None else [LevelRequest(at, some)]
    reach = min(_LEAN * meets.off, _MOST * meets.flat)
    at = part.nearest(meets.level + (reach if meets.falls != goal.light else -reach), within)
    if at is None:
        return []
    begun = [s.level for s in near if abs(s.level - at) <= meets.off / 2]
    return [LevelRequest(begun[0] if begun else at, terms.size)]


def _telling(ends: Sequence[End], level: float, goal: Goal) -> NDArray[np.intp] | None:
    """The inputs that can make a difference to the nearest end, where they are few; or all.

    Where they are most of them, the rest tells how many come and go.
    """
    if not ends:
        return None
    nearest = min(ends, key=lambda end: abs(end.level - level))
    upper = nearest.mean >= goal.target
    return np.flatnonzero(nearest.values == upper) if upper == goal.light else None


def _onwards(ends: Sequence[End], target: float, size: int) -> Guess | None:
    """Where the line through the two levels nearest to the target meets it."""
    near = sorted(ends, key=lambda end: abs(end.mean - target))[:2]
    if len(near) < 2:
        return None
    to, back = near
    drop, moved = to.mean - back.mean, np.count_nonzero(to.values != back.values)
    if (target - to.mean) * drop <= 0:
        return None
    far = (target - to.mean) / drop * (to.level - back.level)
    chance = math.sqrt(moved) / size / abs(drop)
    falls = (to.level > back.level) == (drop < 0)
    flat = abs((to.level - back.level) / drop)
    return Guess(to.level + far, abs(far) * chance, abs(far) * _BEND, falls, flat)
