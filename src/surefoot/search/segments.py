"""The range of levels: segments on which the curve is taken to go one way, and their grids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from surefoot.errors import InvalidArgument
from surefoot.results import Interval


@dataclass(frozen=True)
class Segment:
    """Levels from `low` to `high`, cut into 2^depth equal cells."""

    low: float
    high: float
    depth: int

    def level(self, place: int) -> float:
        """The level at a corner of the grid; the last one is exactly `high`."""
        cells = 2**self.depth
        return self.high if place == cells else self.low + (self.high - self.low) * (place / cells)

    def __contains__(self, level: float) -> bool:
        """Whether the level lies in it, ends included."""
        return self.low <= level <= self.high

    def middle(self, a: float, b: float) -> float:
        """The corner half-way between two corners."""
        cells, width = 2**self.depth, self.high - self.low
        return self.level(round(((a + b) / 2 - self.low) / width * cells))

    def nearest(self, level: float, inside: Interval) -> float | None:
        """The corner nearest to a level, strictly inside; None if there is none."""
        cells = 2**self.depth
        width = self.high - self.low
        first = math.floor((inside.low - self.low) / width * cells)
        last = math.ceil((inside.high - self.low) / width * cells)
        while first <= cells and self.level(first) <= inside.low:
            first += 1
        while last >= 0 and self.level(last) >= inside.high:
            last -= 1
        if first > last:
            return None
        place = round((level - self.low) / width * cells)
        return self.level(min(max(place, first), last))

    def first_levels(self, depth: int) -> list[float]:
        """The ends, then the middle, then the quarters, and so on."""
        cells = 2**self.depth
        found = [self.level(0), self.level(cells)]
        for d in range(1, depth + 1):
            step = cells >> d
            found += [self.level(place) for place in range(step, cells, 2 * step)]
        return found


@dataclass(frozen=True)
class Stretch:
    """Levels on which the curve is taken to go one way, but for wiggles so high.

    `falls` tells which way, where that is sure.
    """

    low: float
    high: float
    wiggle: float = 0.0
    falls: bool | None = None

    def __contains__(self, level: float) -> bool:
        """Whether the level lies in it, ends included."""
        return self.low <= level <= self.high


def segments(low: float, high: float, breaks: Sequence[float], depth: int) -> tuple[Segment, ...]:
    """The range cut at the breaks."""
    cuts = [low, *sorted(set(breaks)), high]
    return tuple(Segment(a, b, depth) for a, b in pairwise(cuts))


def check_span(low: float, high: float) -> None:
    """Refuse a range that is none."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidArgument(
            f"a range of levels goes from a lower to a higher number, got {low:g} to {high:g}: "
            "write 0..2"
        )


def check_thresholds(thresholds: Sequence[float]) -> None:
    """Refuse what no accuracy can be held against."""
    if not thresholds:
        raise InvalidArgument("a curve needs a threshold: 0.8 asks where 80 % are still right")
    for value in thresholds:
        if not 0 < value <= 1:
            raise InvalidArgument(
                f"a threshold is a share above 0 and up to 1, got {value:g}: write 0.8 for 80 %"
            )
    if len(set(thresholds)) < len(thresholds):
        raise InvalidArgument(f"the thresholds {list(thresholds)} name one of them twice")


def check_size(size: int) -> None:
    """Refuse to run on no inputs."""
    if size < 1:
        raise InvalidArgument(
            f"a curve needs to know how many inputs there are, got {size}: give size"
        )
