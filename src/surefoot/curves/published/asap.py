"""ASAP (Arcaini et al.): levels where parabolas may meet the threshold, every input at each."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import ClassVar

from surefoot.core.counts import Counts
from surefoot.core.procedure import Ask, Needs, TimeUp
from surefoot.core.results import UNIT, Curve, Footing, Guarantee, Interval, Point, Reading
from surefoot.curves.published import geometry
from surefoot.curves.request import check_size, check_span, check_thresholds, stopped_early
from surefoot.errors import InvalidArgument

Rates = dict[float, float]
"""From a level, as a share of the range, to the accuracy there."""
_CURVATURE, _GRID = 128.0, 1024
"""The paper's â and n."""
_EIGHTHS = (0, 8, 4, 2, 6, 1, 3, 5, 7)
"""First levels where the curvature is chosen; the ends first, so that the range is covered."""
_SAFETY, _LEAST = 2.0, 2.0
"""Factor on the strongest bend in the data, as a curve may bend more between its levels, and the
least curvature; a test on curves with several crossings notices smaller ones."""
_CLOSEST = 1 / 64
"""Levels closer than this share of the range show no curvature: a cliff would have any."""
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class AdaptiveCurve:
    """ASAP, with levels as shares of the range, ties above, and crossings interpolated.

    `curvature` is the paper's â, in accuracy per squared share of the range; None chooses it from
    the data and checks it. `grid` is the paper's n: pairs closer than 1/n, or than `step`, are not
    split. `as_printed`: the paper's algorithm 1 and its sum to the letter, one recursion for each
    threshold, None is 128; on a range of length L the paper's 128 is a `curvature` of 128 L².
    """

    low: float
    high: float
    thresholds: tuple[float, ...] = (0.8,)
    curvature: float | None = None
    grid: int = _GRID
    as_printed: bool = False
    step: float | None = None
    size: int = 0
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.LEVELS
    error: ClassVar[float] = 0.0
    concludes_early: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_span(self.low, self.high)
        check_thresholds(self.thresholds)
        if self.curvature is not None and not 0 < self.curvature < math.inf:
            raise InvalidArgument(f"curvature is a number above 0, got {self.curvature:g}: try 128")
        if not 2 <= self.grid <= 2**20:
            raise InvalidArgument(f"grid lies between 2 and {2**20}, got {self.grid}: try 1024")
        if self.step is not None and not 1e-6 <= self.step <= 0.5:
            raise InvalidArgument(f"step lies between 1e-6 and 0.5, got {self.step:g}: try 0.001")
        if self.step is not None and self.grid != _GRID:
            raise InvalidArgument(f"give step or grid, got both: {self.step:g} and {self.grid}")

    @property
    def forecast(self) -> int:
        """Trials that it may take, for the time left."""
        return 40 * self.size

    def steps(self) -> Generator[Ask, Counts, Curve]:
        """Ask for all inputs, level after level."""
        check_size(self.size)
        rates: Rates = {}
        bends = [self.curvature or (_CURVATURE if self.as_printed else _LEAST)]
        recursions = (self._recursion(rates, bends[0], t) for t in self.thresholds)
        search = chain.from_iterable(recursions) if self.as_printed else self._search(rates, bends)
        notes = []
        try:
            for share in search:
                if share not in rates:
                    level = self._level(share)
                    rates[share] = (yield Ask(level, self.size)).rate
            checked = f"; a last check at level {level:.4g} found no stronger bend"
        except TimeUp:
            notes.append(stopped_early(len(rates)))
            checked = " and not checked"
        if self.curvature is None and not self.as_printed:
            bends.append(max(*bends, _strongest_bend(rates, self.size)))
            notes.append(f"the curvature {bends[-1]:.3g} was chosen from the data{checked}")
        return self._curve(rates, bends[-1], tuple(notes))

    def _level(self, share: float) -> float:
        return self.high if share == 1 else self.low + share * (self.high - self.low)

    def _splits(self, a: float, b: float) -> bool:
        return b - a >= (self.step or 1 / self.grid)

    def _search(self, rates: Rates, bends: list[float]) -> Iterator[float]:
        """Levels while parabolas meet a threshold; a last one checks a curvature of its choice."""
        yield from (0.0, 1.0) if self.curvature else (eighth / 8 for eighth in _EIGHTHS)
        while True:
            if self.curvature is None:
                bends.append(max(bends[-1], _strongest_bend(rates, self.size)))
            pairs = list(pairwise(sorted(rates)))
            meeting = [
                (a, b)
                for a, b in pairs
                if self._splits(a, b)
                and any(_meet(rates, a, b, bends[-1], t) for t in self.thresholds)
            ]
            a, b = max(meeting or pairs, key=lambda pair: pair[1] - pair[0])
            if meeting:
                yield (a + b) / 2
            elif self.curvature is None:
                yield a + (b - a) * _GOLDEN
            if not meeting and (self.curvature or _strongest_bend(rates, self.size) <= bends[-1]):
                return

    def _recursion(self, rates: Rates, bend: float, threshold: float) -> Iterator[float]:
        """Levels in the order of the paper's EVAL, as far as rates are known."""
        yield from (0.0, 1.0)
        pairs = [(0.0, 1.0)]
        while pairs:
            a, b = pairs.pop()
            if self._splits(a, b) and _intersect(rates, a, b, bend, threshold):
                yield (middle := (a + b) / 2)
                if middle in rates:
                    pairs += [(middle, b), (a, middle)]

    def _curve(self, rates: Rates, bend: float, notes: tuple[str, ...]) -> Curve:
        parabolas = (
            f"between neighbouring levels the curve lies between parabolas of depth {bend:.4g} (in "
            "accuracy per squared share of the range)"
        )
        promise = Guarantee(Footing.CONDITIONAL, 0.0, (parabolas,))
        points = self._points(rates)
        readings = tuple(self._reading(rates, bend, t, promise) for t in self.thresholds)
        span, exact = Interval(self.low, self.high), Guarantee(Footing.SOUND, 0.0)
        between = geometry.between_parabolas(points, bend, span.width)
        trials = self.size * len(points)
        return Curve(span, self.size, points, readings, exact, trials, notes, between)

    def _reading(self, rates: Rates, bend: float, threshold: float, promise: Guarantee) -> Reading:
        if len(rates) < 2:
            value = float(max(rates.values(), default=0.0) >= threshold)
            return Reading(threshold, value, UNIT, (), promise)
        if self.as_printed:
            return self._printed(rates, bend, threshold, promise)
        return self._corrected(rates, bend, threshold, promise)

    def _corrected(
        self, rates: Rates, bend: float, threshold: float, promise: Guarantee
    ) -> Reading:
        """Theorem 1: the pairs whose parabolas meet the threshold are all that may be wrong."""
        # between the last count that is enough and the first that is not: where steps cross
        meets = (math.ceil(threshold * self.size - 1e-9) - 0.5) / self.size
        points = self._points(rates)
        value = surely = perhaps = 0.0
        for (a, b), ends in zip(pairwise(sorted(rates)), pairwise(points), strict=True):
            inside = geometry.share_above(ends, meets) / (self.high - self.low)
            value += inside
            if _meet(rates, a, b, bend, threshold):
                perhaps += b - a
            else:
                surely, perhaps = surely + inside, perhaps + inside
        bounds = Interval(min(surely, 1.0), min(max(surely, perhaps), 1.0))
        value = min(max(value, bounds.low), bounds.high)
        crossings = geometry.linear_crossings(points, points, threshold, meets)
        return Reading(threshold, value, bounds, crossings, promise)

    def _printed(self, rates: Rates, bend: float, threshold: float, promise: Guarantee) -> Reading:
        """The paper's sum over right ends, and its bound, which ties make wrong."""
        visited = {x: rates[x] for x in self._recursion(rates, bend, threshold) if x in rates}
        pairs = list(pairwise(sorted(visited)))
        value = sum((b - a for a, b in pairs if rates[b] >= threshold), 0.0)
        bound = sum((b - a for a, b in pairs if _intersect(rates, a, b, bend, threshold)), 0.0)
        if threshold in visited.values():
            tie = "the printed bound is wrong where an accuracy equals the threshold"
            promise = Guarantee(Footing.NONE, 1.0, (tie,))
        points = self._points(visited)
        crossings = geometry.linear_crossings(points, points, threshold, threshold)
        bounds = Interval(max(value - bound, 0.0), min(value + bound, 1.0))
        return Reading(threshold, value, bounds, crossings, promise)

    def _points(self, rates: Rates) -> tuple[Point, ...]:
        return geometry.exact_points({self._level(x): r for x, r in rates.items()}, self.size)


def _meet(rates: Rates, a: float, b: float, bend: float, threshold: float) -> bool:
    return geometry.parabolas_meet(rates[a], rates[b], bend * (b - a) ** 2, threshold)


def _intersect(rates: Rates, a: float, b: float, bend: float, threshold: float) -> bool:
    ends = a, rates[a], b, rates[b]
    return any(geometry.printed_test(*ends, depth, threshold) for depth in (bend, -bend))


def _strongest_bend(rates: Rates, size: int) -> float:
    """Twice the strongest bend that chance does not explain.

    A second difference of three neighbours that are not too close; single inputs that come
    and go between them make one of the order of the square root of their number.
    """
    strongest, levels = 0.0, sorted(rates)
    for a, b, c in zip(levels, levels[1:], levels[2:], strict=False):
        if min(b - a, c - b) < _CLOSEST:
            continue
        before, after = rates[b] - rates[a], rates[c] - rates[b]
        moved = max(1.0, size * max(abs(before), abs(after)))
        chance = 2 * math.sqrt(moved) / size / min(b - a, c - b)
        strongest = max(strongest, (abs(after / (c - b) - before / (b - a)) - chance) / (c - a))
    return _SAFETY * strongest
