"""Between two levels at which every input is known, only the inputs that differ matter much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from surefoot.results import Interval
from surefoot.search.next_level import Guess, Sight, guess
from surefoot.search.seen import Seen, Values, Wish
from surefoot.search.segments import Segment

_HALVE = 3
"""Every so many levels the search takes the middle, so that the bracket shrinks for certain."""
_REACH = 1.5
"""How far beyond a guess to look, in units of how far off it may well be."""
_LEAN = 0.6
"""How far from a guess to look for certainty, as a share of how far is close enough."""


@dataclass(frozen=True)
class Goal:
    """A mean to find the level of: on which sides of it a level must be certain, how near to it.

    Where wiggles have blurred the crossing, all inputs are looked at on the side that takes the
    most of them: the value is then a guess, and is the better for it.
    """

    target: float
    sides: tuple[bool, ...]
    close: float
    blurred: bool = False

    @property
    def light(self) -> bool:
        """The side that fewer inputs prove: below 0.8, a fifth of them that fail."""
        return self.target < 0.5

    def near(self, level: float, side: bool, known: Sequence[Seen]) -> bool:
        """Whether a level on that side is certain and close enough."""
        return any(
            s.side(self.target) is side and abs(s.level - level) <= self.close for s in known
        )


@dataclass(frozen=True, eq=False)
class End:
    """A level at which the value of every input is known, or supposed."""

    level: float
    values: Values

    @classmethod
    def of(cls, seen: Seen) -> Self:
        """A level at which all inputs were looked at."""
        return cls(seen.level, seen.values)

    @property
    def mean(self) -> float:
        """Over all inputs."""
        return float(self.values.mean())


def inner(part: Segment, ends: tuple[End, End], known: Sequence[Seen], goal: Goal) -> list[Wish]:
    """Which inputs to look at, at which level: to find the crossing, then to make it certain.

    Inputs that are alike at both ends are supposed, for the search alone, to be the same in
    between. Once it is plain where the crossing must be, as many inputs are looked at as it takes
    to be certain: all of them, or those that can prove it. So what is concluded rests on no
    supposition.
    """
    left, right = ends
    upper, size = left.mean >= goal.target, len(left.values)
    while (found := _next(left, right, known)) is not None:
        if (found.mean >= goal.target) == upper:
            left = found
        else:
            right = found
    here = Interval(left.level, right.level)
    meets = _meets(left, right, goal.target)
    if meets.off + meets.bend > goal.close / 2:
        asked = sum(1 for s in known if ends[0].level < s.level < ends[1].level and not s.first)
        at = part.nearest(_place(left, right, meets, asked), here)
        if at is not None:
            return [Wish(at, size, np.flatnonzero(left.values != right.values))]
    for side in (not goal.light, goal.light):
        if side in goal.sides and not goal.near(meets.level, side, known):
            end = left if side == upper else right
            at = part.nearest(meets.level + _lean(end, meets, goal), here)
            if at is None or abs(end.level - meets.level) <= goal.close:
                return [Wish(end.level, size, _proving(goal, side, end, end))]
            return [Wish(at, size, _proving(goal, side, left, right))]
    return []


def supposed(seen: Sequence[Seen]) -> dict[float, float]:
    """Means, between the first and the last level at which all inputs are known.

    An input that was not looked at is supposed to be as at the nearest levels at which it was: the
    same if they agree, and else to change somewhere between them.
    """
    whole = [i for i, s in enumerate(seen) if s.whole]
    inside = seen[whole[0] : whole[-1] + 1] if whole else []
    if len(inside) < 3:
        return {}
    levels, values = np.array([s.level for s in inside]), np.array([s.values for s in inside])
    places = np.arange(len(inside))[:, None]
    known = ~np.isnan(values)
    left = np.maximum.accumulate(np.where(known, places, 0))
    right = np.minimum.accumulate(np.where(known, places, len(inside) - 1)[::-1])[::-1]
    apart = levels[right] - levels[left]
    weight = (levels[:, None] - levels[left]) / np.where(apart > 0, apart, 1)
    before, after = (np.take_along_axis(values, which, 0) for which in (left, right))
    means = (before + weight * (after - before)).mean(axis=1)
    return dict(zip(levels.tolist(), means.tolist(), strict=True))


def _next(left: End, right: End, known: Sequence[Seen]) -> End | None:
    """A level in between at which every input is known, or alike on both sides of it."""
    alike = np.where(left.values == right.values, left.values, np.nan)
    for seen in known:
        if left.level < seen.level < right.level:
            supposed = np.where(seen.known, seen.values, alike)
            if not np.isnan(supposed).any():
                return End(seen.level, supposed)
    return None


def _meets(left: End, right: End, target: float) -> Guess:
    """Where a straight line meets the target."""
    found = guess(
        [Sight(end.level, end.mean, 0.0) for end in (left, right)], target, len(left.values)
    )
    middle, half = (left.level + right.level) / 2, (right.level - left.level) / 2
    return Guess(middle, half, 0.0) if found is None else found


def _place(left: End, right: End, meets: Guess, asked: int) -> float:
    """A little beyond where the crossing seems to be, seen from the nearer end."""
    middle, reach = (left.level + right.level) / 2, _REACH * meets.off + meets.bend
    if asked % _HALVE == _HALVE - 1:
        return middle
    if meets.level > middle:
        return max(meets.level - reach, middle)
    return min(meets.level + reach, middle)


def _lean(end: End, meets: Guess, goal: Goal) -> float:
    """To be certain, look a little away from the crossing, towards the end."""
    return (-_LEAN if end.level < meets.level else _LEAN) * goal.close


def _proving(goal: Goal, side: bool, left: End, right: End) -> NDArray[np.intp] | None:
    """The inputs that can prove a side: those that may be on it; or all."""
    if goal.blurred and side != goal.light:
        return None
    return np.flatnonzero((left.values == side) | (right.values == side))
