"""Between two levels at which every input is known, only the inputs that differ matter much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from surefoot.results import Interval
from surefoot.search.next_level import Guess, Sight, guess
from surefoot.search.seen import LevelRequest, Seen
from surefoot.search.segments import Segment
from surefoot.search.supposing import End, within

HALF = 0.5
"""From here on fewer inputs prove a mean to be below a target than to be above."""
_HALVE = 3
"""Every so many levels the search takes the middle, so that the bracket shrinks for certain."""
_REACH = 1.5
"""How far beyond a guess to look, in units of how far off it may well be."""
_LEAN, _SPREAD, _NEAR = (0.6, 1.3), 0.7, (1.5, 3.0)
"""Where wiggles blur it, how far from a guess to look for certainty, how far from there an end may
be to do as well, and how far is still near enough; in units of what is close, first for the side
that takes few inputs. It costs little to miss it, and much to miss the other."""
_LOOSE = 0.1
"""The share of inputs that differ that need not be known to tell a mean."""
_SINGLE, _UNSEEN, _COARSE = 2.5, 1.5, 8.0
"""Inputs that are too few to search among; how many may well come and go unseen, and how far they
may move a guess, in units of what is close, before all inputs are looked at."""
_BESIDE, _OFTEN = 4.5, 4
"""That is done while levels so well known, and within so many inputs, are fewer than that."""


@dataclass(frozen=True)
class Goal:
    """A mean to find the level of: on which sides of it a level must be certain, how near to it.

    Where wiggles blur the crossing, `inputs` is how near in the mean is near enough, and all inputs
    are looked at on the side that takes the most of them: how far the wiggles go is told by those
    that come and go, and the value is then a guess, and is the better for it.
    """

    target: float
    sides: tuple[bool, ...]
    close: float
    inputs: float = 0.0
    beyond: float = math.nan
    """The mean to be on the other side of, at first, where that is not the target."""
    against: float = 0.0
    """How many inputs go against the curve, for each one that goes with it, as the scan shows."""

    @property
    def light(self) -> bool:
        """The side that fewer inputs prove: below 0.8, a fifth of them that fail."""
        return self.target < HALF

    @property
    def blurred(self) -> bool:
        """Whether wiggles blur the crossing."""
        return self.inputs > 0

    def lacking(self, ends: tuple[End, End], meets: float, known: Sequence[Seen]) -> list[bool]:
        """Sides on which no level is certain and close enough, first the one that takes more."""
        return [
            side
            for side in (not self.light, self.light)
            if side in self.sides
            and not any(
                s.side(self.target) is side and self._near(s.level, ends, meets, side)
                for s in known
            )
        ]

    def _near(self, level: float, ends: tuple[End, End], meets: float, side: bool) -> bool:
        if not self.blurred:
            return ends[0].level <= level <= ends[1].level
        return abs(level - meets) <= _NEAR[side != self.light] * self.close


def inner(
    part: Segment, ends: tuple[End, End], known: Sequence[Seen], goal: Goal
) -> list[LevelRequest]:
    """Which inputs to look at, at which level: to find the crossing, then to make it certain.

    Inputs that are alike at both ends are supposed, for the search alone, to be the same in
    between. Once it is plain where the crossing must be, as many inputs are looked at as it takes
    to be certain: all of them, or those that can prove it. So what is concluded rests on no
    supposition.
    """
    left, right, meets = _bracket(ends, known, goal.target)
    upper, size = left.mean >= goal.target, len(left.values)
    lacking = goal.lacking((left, right), meets.level, known)
    sides = [(side, left if side == upper else right) for side in lacking]
    if goal.blurred:
        found, vague = _certain(part, (left, right), meets, sides, goal), bool(lacking)
    else:
        found, vague = [], right.level - left.level > 2 * goal.close
    if vague and not found:
        found = _among(part, ends, (left, right), meets, known)
    return found or [
        LevelRequest(end.level, size, _proving(goal, side, end, end)) for side, end in sides[:1]
    ]


def guessed(
    part: Segment, ends: tuple[End, End], known: Sequence[Seen], goal: Goal
) -> list[LevelRequest]:
    """What to look at to guess where the target is met, between two levels that are well known.

    The inputs that differ, as long as they are more than a few; then, where the curve is so flat
    that single inputs that come and go unseen move the crossing far, all of them.
    """
    left, right, meets = _bracket(ends, known, goal.target)
    size, drop = len(left.values), abs(ends[0].mean - ends[1].mean)
    found: list[LevelRequest] = []
    if meets.off + meets.bend > 2 * goal.close and abs(left.mean - right.mean) * size > _SINGLE:
        found = _among(part, ends, (left, right), meets, known)
    moved = _UNSEEN / size * (ends[1].level - ends[0].level) / drop
    done = sum(1 for s in known if s.whole and abs(s.value - goal.target) * size <= _BESIDE)
    if not found and moved > _COARSE * goal.close and drop * size > _BESIDE and done < _OFTEN:
        at = part.nearest(meets.level, Interval(ends[0].level, ends[1].level))
        return [] if at is None else [LevelRequest(at, size)]
    return found


def _bracket(ends: tuple[End, End], known: Sequence[Seen], target: float) -> tuple[End, End, Guess]:
    """The first two neighbours with the target between them, and where it seems to be met."""
    upper = ends[0].mean >= target
    left, right = next(
        (a, b)
        for a, b in pairwise(within(ends, known, _LOOSE))
        if (a.mean >= target) == upper != (b.mean >= target)
    )
    return left, right, _meets(left, right, target)


def _among(
    part: Segment,
    ends: tuple[End, End],
    bracket: tuple[End, End],
    meets: Guess,
    known: Sequence[Seen],
) -> list[LevelRequest]:
    """Look at the inputs that differ, between the two; nothing if there is no level."""
    left, right = bracket
    asked = sum(1 for s in known if ends[0].level < s.level < ends[1].level and not s.first)
    at = part.nearest(_place(left, right, meets, asked), Interval(left.level, right.level))
    differ = np.flatnonzero(left.values != right.values)
    return [] if at is None else [LevelRequest(at, len(left.values), differ)]


def _certain(
    part: Segment,
    ends: tuple[End, End],
    meets: Guess,
    lacking: Sequence[tuple[bool, End]],
    goal: Goal,
) -> list[LevelRequest]:
    """Make a side certain where an end lies well for it, or where the crossing is plain enough."""
    left, right = ends
    size = len(left.values)
    for side, end in lacking:
        far, lean = abs(end.level - meets.level), _LEAN[side != goal.light] * goal.close
        if abs(far - lean) <= _SPREAD * goal.close:
            return [LevelRequest(end.level, size, _proving(goal, side, end, end))]
        if meets.off + meets.bend <= goal.close:
            at = meets.level - lean if end.level < meets.level else meets.level + lean
            place = part.nearest(at, Interval(left.level, right.level))
            if place is not None:
                return [LevelRequest(place, size, _proving(goal, side, left, right))]
    return []


def _meets(left: End, right: End, target: float) -> Guess:
    """Where a straight line meets the target."""
    found = guess(
        [Sight(end.level, end.mean, 0.0) for end in (left, right)], target, len(left.values)
    )
    middle, half = (left.level + right.level) / 2, (right.level - left.level) / 2
    return found or Guess(middle, half, 0.0, left.mean > right.mean, 0.0)


def _place(left: End, right: End, meets: Guess, asked: int) -> float:
    """A little beyond where the crossing seems to be, seen from the nearer end."""
    middle, reach = (left.level + right.level) / 2, _REACH * meets.off + meets.bend
    if asked % _HALVE == _HALVE - 1:
        return middle
    if meets.level > middle:
        return max(meets.level - reach, middle)
    return min(meets.level + reach, middle)


def _proving(goal: Goal, side: bool, left: End, right: End) -> NDArray[np.intp] | None:
    """The inputs that can prove a side: those that may be on it; or all."""
    if goal.blurred and side != goal.light:
        return None
    other = not side
    return np.flatnonzero((left.values != other) | (right.values != other))
