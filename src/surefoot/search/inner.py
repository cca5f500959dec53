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
from surefoot.search.seen import Seen, Wish
from surefoot.search.segments import Segment
from surefoot.search.supposing import End, within

import os
_NH=float(os.environ.get("NH",3));_NL=float(os.environ.get("NL",1.5))
_HALVE = 3
"""Every so many levels the search takes the middle, so that the bracket shrinks for certain."""
_REACH = 1.5
"""How far beyond a guess to look, in units of how far off it may well be."""
_LEAN, _OFF, _MOST = 0.4, float(os.environ.get("OFF",1.0)), 1.5
"""Where wiggles blur it, how far from a guess to look for certainty: a share of how far is close
enough, and of how far off the guess may well be; no more than so many times the former."""
_LEANS=(float(os.environ.get("LL",.6)),float(os.environ.get("LH",1.3)))
_SPREAD=float(os.environ.get("SPREAD",.7))
_LOOSE = 0.1
"""The share of inputs that differ that need not be known to tell a mean."""


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
        return self.target < 0.5

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
        return abs(level - meets) <= (_NL if side == self.light else _NH) * self.close


def inner(part: Segment, ends: tuple[End, End], known: Sequence[Seen], goal: Goal) -> list[Wish]:
    """Which inputs to look at, at which level: to find the crossing, then to make it certain.

    Inputs that are alike at both ends are supposed, for the search alone, to be the same in
    between. Once it is plain where the crossing must be, as many inputs are looked at as it takes
    to be certain: all of them, or those that can prove it. So what is concluded rests on no
    supposition.
    """
    upper = ends[0].mean >= goal.target
    left, right = next(
        (a, b)
        for a, b in pairwise(within(ends, known, _LOOSE))
        if (a.mean >= goal.target) == upper != (b.mean >= goal.target)
    )
    meets = _meets(left, right, goal.target)
    lacking = goal.lacking((left, right), meets.level, known)
    sides = [(side, left if side == upper else right) for side in lacking]
    here, size = Interval(left.level, right.level), len(left.values)
    if goal.blurred:
        found, vague = _certain(part, (left, right), meets, sides, goal), bool(lacking)
    else:
        found, vague = [], right.level - left.level > 2 * goal.close
    if found or not (vague or lacking):
        return found
    asked = sum(1 for s in known if ends[0].level < s.level < ends[1].level and not s.first)
    at = part.nearest(_place(left, right, meets, asked), here)
    if vague and at is not None:
        return [Wish(at, size, np.flatnonzero(left.values != right.values))]
    return [Wish(end.level, size, _proving(goal, side, end, end)) for side, end in sides[:1]]


def _certain(
    part: Segment,
    ends: tuple[End, End],
    meets: Guess,
    lacking: Sequence[tuple[bool, End]],
    goal: Goal,
) -> list[Wish]:
    """Make a side certain where an end lies well for it, or where the crossing is plain enough."""
    left, right = ends
    size = len(left.values)
    for side, end in lacking:
        far, lean = abs(end.level - meets.level), _LEANS[side != goal.light] * goal.close
        if abs(far - lean) <= _SPREAD * goal.close:
            return [Wish(end.level, size, _proving(goal, side, end, end))]
        if meets.off + meets.bend <= goal.close:
            at = meets.level - lean if end.level < meets.level else meets.level + lean
            place = part.nearest(at, Interval(left.level, right.level))
            if place is not None:
                return [Wish(place, size, _proving(goal, side, left, right))]
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
