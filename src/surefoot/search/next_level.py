"""Where to look next for a crossing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

_CAUTION = 3.2
_BEND = 0.04


@dataclass(frozen=True)
class Sight:
    """A level, the value seen there, and the standard deviation of what is not known of it."""

    level: float
    value: float
    doubt: float


@dataclass(frozen=True)
class Guess:
    """Where straight lines between sights meet a target, and how far off that may well be."""

    level: float
    off: float
    bend: float
    """How far off it may be because the curve bends between the two sights."""
    falls: bool
    """Whether the value is below the target beyond it."""
    flat: float
    """Over how many levels the value changes by one."""


def guess(sights: Sequence[Sight], target: float, size: int) -> Guess | None:
    """From the first neighbours with the target between them; None if there are none.

    How far off follows from what is not known: values seen on part of the inputs, and the chance
    by which single inputs fall.
    """
    for a, b in pairwise(sights):
        if (a.value >= target) == (b.value >= target):
            continue
        drop, wide = abs(a.value - b.value), b.level - a.level
        chance = math.sqrt(max(1.0, drop * size)) / 2 / size
        share = abs(a.value - target) / drop
        doubt = (1 - share) * a.doubt + share * b.doubt
        off, at = math.hypot(chance, doubt) / drop * wide, a.level + wide * share
        return Guess(at, off, _BEND * wide, a.value > b.value, wide / drop)
    return None


def smoothed(sights: Sequence[Sight], reach: float) -> list[Sight]:
    """Values on lines drawn through the neighbours within reach, the nearer the weightier.

    Few inputs see a curve in steps. What is known for certain stays.
    """
    levels = np.array([s.level for s in sights])
    values = np.array([s.value for s in sights])
    sure = np.array([1 / (s.doubt**2 + 1e-4) for s in sights])
    found = []
    for sight in sights:
        away = levels - sight.level
        weight = sure * np.clip(1 - np.abs(away / reach) ** 3, 0, None) ** 3
        total, first, second = (float((weight * away**k).sum()) for k in range(3))
        spread = total * second - first**2
        fit = float((weight * values).sum()) / total
        if spread > 1e-9 * total * second:
            tilt = float((weight * away * values).sum())
            fit = (second * float((weight * values).sum()) - first * tilt) / spread
        found.append(sight if sight.doubt == 0 else replace(sight, value=fit))
    return found


def around(
    sights: Sequence[Sight], target: float, narrow: float, turn: int, size: int
) -> list[float]:
    """Levels between the first and the last sight, which lie on different sides.

    One a little before and one a little beyond where the target seems to be met, so that the
    crossing is caught between them; only one of them if the other would be no better than the end
    on its side. Every fourth turn takes the middle, so that the bracket shrinks for certain.
    """
    low, high = sights[0], sights[-1]
    width = high.level - low.level
    meets = guess(sights, target, size)
    if turn % 4 == 3 or width <= 2 * narrow or meets is None:
        return [(low.level + high.level) / 2]
    reach = _CAUTION * meets.off + meets.bend
    if reach > width / 8:
        return [meets.level]
    reach = max(reach, narrow / 2)
    found = []
    if low.doubt > 0 or meets.level - low.level > 3 * reach:
        found.append(max(meets.level - reach, low.level + width / 16))
    if high.doubt > 0 or high.level - meets.level > 3 * reach:
        found.append(min(meets.level + reach, high.level - width / 16))
    return found or [meets.level]


def sharpest_bend(sights: Sequence[Sight]) -> float:
    """The largest second difference: how far a middle is from its chord, per squared half-width."""
    bends = [
        abs(b.value - (a.value + c.value) / 2) / ((c.level - a.level) / 2) ** 2
        for a, b, c in zip(sights, sights[1:], sights[2:], strict=False)
    ]
    return max(bends, default=0.0)


def may_cross(a: Sight, b: Sight, bend: float, threshold: float) -> bool:
    """Whether a curve that bends so much may leave its side between two sights on the same one."""
    if (a.value >= threshold) != (b.value >= threshold):
        return False
    gap = min(abs(a.value - threshold), abs(b.value - threshold))
    return bend * ((b.level - a.level) / 2) ** 2 > gap


def hiding(sights: Sequence[Sight], thresholds: Sequence[float]) -> list[tuple[Sight, Sight]]:
    """Neighbours between which the curve, bending as it does elsewhere, may cross and come back."""
    bend = sharpest_bend(sights)
    return [
        (a, b) for a, b in pairwise(sights) if any(may_cross(a, b, bend, t) for t in thresholds)
    ]


def by_a_crossing(level: float, sides: Mapping[float, bool], near: float) -> bool:
    """Whether the side changes so near that the threshold must be near too."""
    return any(
        a[1] != b[1] and a[0] - near <= level <= b[0] + near for a, b in pairwise(sides.items())
    )


def enough(value: float, thresholds: Sequence[float], error: float, size: int) -> float:
    """How many of so many inputs are likely to tell on which side of each a level lies."""
    gap = min(abs(value - t) for t in thresholds)
    spread = max(value * (1 - value), 0.02)
    needed = 2 * spread * math.log(2 / error) / max(gap, 1e-9) ** 2
    return needed / (1 + needed / size)
