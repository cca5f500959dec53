"""ASAP (Arcaini et al.): levels where parabolas may meet the threshold, every input at each."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from surefoot.errors import InvalidArgument
from surefoot.evidence import Counts
from surefoot.procedure import Ask, Needs
from surefoot.results import Curve, Footing, Guarantee, Interval, Point, Reading
from surefoot.search.reading import crossings, lowest, share_above
from surefoot.search.segments import check_size, check_span, check_thresholds

_SAFETY, _LEAST, _START = 2.0, 2.0, 8
_FINEST = 1 / 64
"""Levels closer than this share of the range tell no curvature: a cliff would have any."""
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class AdaptiveCurve:
    """ASAP, with levels as shares of the range, ties above, and crossings interpolated.

    `curvature` is the paper's â, in accuracy per squared share of the range; None chooses it from
    the data and checks it. `grid` is the paper's n: pairs closer than 1/n are not parted.
    """

    low: float
    high: float
    thresholds: tuple[float, ...] = (0.8,)
    curvature: float | None = None
    grid: int = 1024
    size: int = 0
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.LEVELS
    error: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_span(self.low, self.high)
        check_thresholds(self.thresholds)
        if self.curvature is not None and not 0 < self.curvature < math.inf:
            raise InvalidArgument(
                f"curvature is a number above 0, in accuracy per squared range, got "
                f"{self.curvature:g}: try 128"
            )
        if not 2 <= self.grid <= 2**20:
            raise InvalidArgument(f"grid lies between 2 and {2**20}, got {self.grid}: try 1024")

    @property
    def forecast(self) -> int:
        """Trials that it may take, for the time left."""
        return 40 * self.size

    def steps(self) -> Generator[Ask, Counts, Curve]:
        """Ask for all inputs, level after level."""
        check_size(self.size)
        known: dict[float, Counts] = {}
        first = [i / _START for i in range(_START + 1)] if self.curvature is None else [0.0, 1.0]
        for start in first:
            yield from self._look(known, start)
        bend, notes = self.curvature or self._bend(known), []
        while True:
            while (share := self._next(known, bend)) is not None:
                yield from self._look(known, share)
                if self.curvature is None and (found := self._bend(known)) > bend:
                    bend = found
            if self.curvature is not None:
                break
            check = self._check(known)
            yield from self._look(known, check)
            if (found := self._bend(known)) <= bend:
                notes.append(
                    f"the curvature {bend:.3g} was chosen from the data; a last check at level "
                    f"{self._level(check):.4g} found no stronger bend"
                )
                break
            bend = found
        return self._curve(known, bend, tuple(notes))

    def _level(self, share: float) -> float:
        return self.high if share == 1 else self.low + share * (self.high - self.low)

    def _look(self, known: dict[float, Counts], share: float) -> Generator[Ask, Counts, None]:
        if share not in known:
            known[share] = yield Ask(self._level(share), self.size)

    def _next(self, known: dict[float, Counts], bend: float) -> float | None:
        """The middle of the widest pair whose parabolas meet a threshold."""
        pairs = [
            (a, b)
            for a, b in pairwise(sorted(known))
            if b - a >= 1 / self.grid
            and any(_meets(known[a], known[b], b - a, bend, t) for t in self.thresholds)
        ]
        a, b = max(pairs, key=lambda pair: pair[1] - pair[0], default=(0.0, 0.0))
        return (a + b) / 2 if pairs else None

    def _bend(self, known: dict[float, Counts]) -> float:
        """Twice the strongest bend that chance does not explain, at least 2.

        A second difference of three neighbours that are not too close; single inputs that come
        and go between them make one of the order of the square root of their number.
        """
        found = _LEAST / _SAFETY
        for a, b, c in _triples(sorted(known)):
            if min(b - a, c - b) < _FINEST:
                continue
            rates = [known[x].kept / self.size for x in (a, b, c)]
            slope_before, slope_after = (
                (rates[1] - rates[0]) / (b - a),
                (rates[2] - rates[1]) / (c - b),
            )
            moved = max(1.0, self.size * max(abs(rates[1] - rates[0]), abs(rates[2] - rates[1])))
            chance = 2 * math.sqrt(moved) / self.size / min(b - a, c - b)
            found = max(found, (abs(slope_after - slope_before) - chance) / (c - a))
        return _SAFETY * found

    @staticmethod
    def _check(known: dict[float, Counts]) -> float:
        """A level inside the widest gap, not in its middle."""
        a, b = max(pairwise(sorted(known)), key=lambda pair: pair[1] - pair[0])
        return a + (b - a) * _GOLDEN

    def _curve(self, known: dict[float, Counts], bend: float, notes: tuple[str, ...]) -> Curve:
        shares = sorted(known)
        points = [
            Point(self._level(x), self.size, r := known[x].kept / self.size, Interval(r, r))
            for x in shares
        ]
        told = (
            f"between neighbouring levels the curve lies between parabolas of depth {bend:.4g} (in "
            "accuracy per squared share of the range)"
        )
        promise = Guarantee(Footing.CONDITIONAL, 0.0, (told,))
        return Curve(
            span=Interval(self.low, self.high),
            size=self.size,
            points=tuple(points),
            readings=tuple(self._reading(known, points, bend, t, promise) for t in self.thresholds),
            guarantee=Guarantee(Footing.SOUND, 0.0),
            trials=self.size * len(points),
            notes=notes,
        )

    def _reading(
        self,
        known: dict[float, Counts],
        points: Sequence[Point],
        bend: float,
        threshold: float,
        promise: Guarantee,
    ) -> Reading:
        """Theorem 1: the pairs whose parabolas meet the threshold are all that may be wrong."""
        # between the last count that is enough and the first that is not: where steps cross
        meets = (math.ceil(threshold * self.size - 1e-9) - 0.5) / self.size
        value = surely = perhaps = 0.0
        for (a, b), ends in zip(pairwise(sorted(known)), pairwise(points), strict=True):
            inside = share_above(ends, meets) / (self.high - self.low)
            value += inside
            if _meets(known[a], known[b], b - a, bend, threshold):
                perhaps += b - a
            else:
                surely, perhaps = surely + inside, perhaps + inside
        bounds = Interval(min(surely, 1.0), min(max(surely, perhaps), 1.0))
        value = min(max(value, bounds.low), bounds.high)
        return Reading(
            threshold, value, bounds, crossings(points, points, threshold, meets), promise
        )


def _triples(levels: Sequence[float]) -> zip[tuple[float, float, float]]:
    return zip(levels, levels[1:], levels[2:], strict=False)


def _meets(a: Counts, b: Counts, width: float, bend: float, threshold: float) -> bool:
    """Whether a parabola through both meets the threshold; equal to it counts as above."""
    first, last = a.rate, b.rate
    if (first >= threshold) != (last >= threshold):
        return True
    depth = bend * width**2
    if first >= threshold:
        return lowest(first, last, depth) < threshold
    return -lowest(-first, -last, depth) >= threshold
