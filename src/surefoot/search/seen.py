"""What is known of a curve, level by level and input by input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.evidence import Floats
from surefoot.procedure import Ask
from surefoot.results import Interval, Point
from surefoot.search.looks import Over, bounds_after, looks

Values = NDArray[np.float64]
_FEW = 256
"""Inputs at most at a level of the scan, at first."""


@dataclass(frozen=True)
class Terms:
    """How many inputs there are, what the curve is about, and what a look may spend.

    `scan` are the levels that are sure to be looked at: half of the error is theirs, the other
    half is for all the `others` together, of which a few will be.
    """

    size: int
    scope: Over
    counts: bool
    error: float
    scan: frozenset[float]
    others: int

    def spend(self, level: float) -> float:
        """The share of the error for one look at one level."""
        schedule = looks(self.size)
        if self.scope is Over.SET:
            times = max(1, len(schedule) - 1)
        else:
            times = len(schedule) if level in self.scan else 1
        return self.error / 2 / (len(self.scan) if level in self.scan else self.others) / times

    @property
    def few(self) -> int:
        """Inputs at a level of the scan, at first."""
        return next(n for n in looks(self.size) if n >= min(_FEW, self.size // 32))


@dataclass(frozen=True)
class LevelRequest:
    """A level, and which inputs to look at there: so many of the first, or some chosen ones."""

    level: float
    first: int
    some: NDArray[np.intp] | None = None


class Seen:
    """The values of single inputs at one level: NaN where it was not looked."""

    def __init__(self, level: float, terms: Terms) -> None:
        self.level, self.terms = level, terms
        self.values: Values = np.full(terms.size, np.nan)
        self.interval = Interval(0.0, 1.0)
        self.first = 0
        """How many of the first inputs conclusions were drawn from."""
        self.value = math.nan
        """The mean over these."""

    def put(self, start: int, goodness: Floats) -> None:
        """Note the values of inputs from `start` on."""
        self.values[start : start + len(goodness)] = goodness
        self.interval = _both(self.interval, self.certain)

    @property
    def certain(self) -> Interval:
        """What the inputs that are known leave possible, whichever they are."""
        if self.terms.scope is not Over.SET:
            return Interval(0.0, 1.0)
        held, missing = float(np.nansum(self.values)), float(np.count_nonzero(~self.known))
        return Interval(held / self.terms.size, (held + missing) / self.terms.size)

    def look(self, first: int) -> None:
        """Draw conclusions from the first so many inputs; earlier conclusions stay true.

        They must have been chosen before anything was seen of them here: any others that are known
        count only by what they leave possible.
        """
        terms, self.first, self.value = self.terms, first, float(np.mean(self.values[:first]))
        found = bounds_after(
            self.values[:first],
            terms.size,
            terms.scope,
            terms.spend(self.level),
            counts=terms.counts,
        )
        self.interval = _both(_both(self.interval, found), self.certain)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which inputs were looked at."""
        return ~np.isnan(self.values)

    @property
    def later(self) -> list[int]:
        """The sizes of looks still to come."""
        return [n for n in looks(self.terms.size) if n > self.first] or [self.terms.size]

    @property
    def whole(self) -> bool:
        """Whether all inputs are known."""
        return self.first == self.terms.size

    def full(self, thresholds: Sequence[float]) -> bool:
        """Whether all inputs are known, or the most and with them on which side it lies."""
        if self.whole:
            return True
        most = 2 * int(self.known.sum()) >= self.terms.size
        return most and any(self.side(t) is not None for t in thresholds)

    def side(self, target: float) -> bool | None:
        """Whether the mean is at least the target, where that is known."""
        if self.interval.low >= target:
            return True
        return False if self.interval.high < target else None

    @property
    def point(self) -> Point:
        """As a result states it."""
        return Point(self.level, int(self.known.sum()), self.value, self.interval)

    @property
    def doubt(self) -> float:
        """How far the value may be from that of all inputs, as a standard deviation."""
        rest = 1 / self.first - 1 / self.terms.size
        return math.sqrt(max(self.value * (1 - self.value), 0.01) * rest)

    def asks(self, wanted: NDArray[np.intp]) -> list[Ask]:
        """Questions for these inputs, but for those that are known; neighbours in one."""
        missing = wanted[np.isnan(self.values[wanted])]
        if len(missing) == 0:
            return []
        cuts = np.flatnonzero(np.diff(missing) > 1) + 1
        return [Ask(self.level, len(run), int(run[0])) for run in np.split(missing, cuts)]


def _both(first: Interval, last: Interval) -> Interval:
    """Where both hold; the last alone if they cannot."""
    low, high = max(first.low, last.low), min(first.high, last.high)
    return Interval(low, high) if low <= high else last
