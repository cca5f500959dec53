"""The published curves: ASAP as printed and corrected, and what it is compared with."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import ClassVar

import numpy as np

from surefoot.core.assumptions import Assumed, Parabolas
from surefoot.core.counts import Counts
from surefoot.core.procedure import Ask, Needs, TimeUp
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import (
    UNIT,
    Between,
    Crossing,
    Curve,
    Footing,
    Guarantee,
    Interval,
    Point,
    Reading,
)
from surefoot.curves.levels import check_size, check_span, check_thresholds
from surefoot.errors import InvalidArgument


def exact_points(rates: Mapping[float, float], size: int) -> tuple[Point, ...]:
    """Points at which all inputs were evaluated, in rising order of level."""
    return tuple(
        Point(level, size, rate, Interval(rate, rate)) for level, rate in sorted(rates.items())
    )


def lowest(first: float, last: float, depth: float) -> float:
    """The least value of the parabola that hangs `depth`/4 below the middle of its chord."""
    if depth <= abs(last - first):  # its vertex is outside
        return min(first, last)
    at = 0.5 - (last - first) / (2 * depth)
    return min(first, last, first + (last - first) * at - depth * at * (1 - at))


def parabolas_meet(first: float, last: float, depth: float, threshold: float) -> bool:
    """Whether a curve between the two parabolas may be on both sides; equal counts as above."""
    if (first >= threshold) != (last >= threshold):
        return True
    if first >= threshold:
        return lowest(first, last, depth) < threshold
    return -lowest(-first, -last, depth) >= threshold


def between_parabolas(points: Sequence[Point], bend: float, span: float) -> tuple[Between, ...]:
    """What a curve can do between neighbours if it bends no more, per squared share of `span`."""
    between = []
    for a, b in pairwise(points):
        depth = bend * ((b.level - a.level) / span) ** 2
        least, most = lowest(a.value, b.value, depth), -lowest(-a.value, -b.value, depth)
        between.append(Between(a.level, b.level, max(least, 0.0), min(most, 1.0)))
    return tuple(between)


def printed_test(x_a: float, acc_a: float, x_b: float, acc_b: float, a: float, t: float) -> bool:
    """The function parabIntsct of ASAP's algorithm 1, letter by letter; `t` is its threshold."""
    if (acc_a - t) * (acc_b - t) < 0:
        return True
    b = (acc_b - acc_a) / (x_b - x_a) - a * (x_a + x_b)
    c = acc_a - a * x_a**2 - b * x_a
    x_v, y_v = -b / (2 * a), -(b**2 - 4 * a * c) / (4 * a)
    return x_a <= x_v <= x_b and (acc_a - t) * (y_v - t) < 0


def length_above(values: Iterable[tuple[float, float]], threshold: float) -> float:
    """The length on which straight lines from value to value are at or above the threshold.

    `values` are levels in rising order, and the value at each.
    """
    length = 0.0
    for (a, first), (b, last) in pairwise(values):
        if first >= threshold and last >= threshold:
            length += b - a
        elif (first >= threshold) != (last >= threshold):
            length += (max(first, last) - threshold) / abs(first - last) * (b - a)
    return length


def share_above(points: Sequence[Point], threshold: float) -> float:
    """The same of points."""
    return length_above(((p.level, p.value) for p in points), threshold)


def linear_crossings(
    points: Sequence[Point], threshold: float, meets: float
) -> tuple[Crossing, ...]:
    """One for every two neighbours on different sides of the threshold; equal counts as above.

    Its level is where the straight line between them meets `meets`.
    """
    crossings = []
    for a, b in pairwise(points):
        falls = a.interval.low >= threshold
        if falls != (b.interval.low >= threshold):
            length = share_above((a, b), meets)
            at = a.level + length if falls else b.level - length
            crossings.append(Crossing(at, Interval(a.level, b.level), falls))
    return tuple(crossings)


@dataclass(frozen=True)
class _PublishedCurve:
    """What the published methods share: all inputs at every level, and no error to spend."""

    low: float
    high: float
    thresholds: tuple[float, ...] = (0.8,)
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.LEVELS
    error: ClassVar[float] = 0.0
    concludes_early: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_span(self.low, self.high)
        check_thresholds(self.thresholds)


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
class AdaptiveCurve(_PublishedCurve):
    """ASAP, with levels as shares of the range, ties above, and crossings interpolated.

    `curvature` is the paper's â, in accuracy per squared share of the range; None chooses it from
    the data and checks it. `grid` is the paper's n: pairs closer than 1/n, or than `step`, are not
    split. `as_printed`: the paper's algorithm 1 and its sum to the letter, one recursion for each
    threshold, None is 128; `curvature` is then per squared unit of the level, as in the paper.
    """

    curvature: float | None = None
    grid: int = _GRID
    as_printed: bool = False
    step: float | None = None
    size: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
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
        bends = [self.curvature or _LEAST]
        if self.as_printed:
            bends = [(self.curvature or _CURVATURE) * (self.high - self.low) ** 2]
        recursions = (self._recursion(rates, bends[0], t) for t in self.thresholds)
        search = chain.from_iterable(recursions) if self.as_printed else self._search(rates, bends)
        notes = []
        try:
            for share in search:
                if share not in rates:
                    level = self._level(share)
                    rates[share] = (yield Ask(level, self.size)).rate
            last: float | None = level
        except TimeUp:
            notes.append(Why.STOPPED_EARLY.of(len(rates)))
            last = None
        if self.curvature is None and not self.as_printed:
            bends.append(max(*bends, _strongest_bend(rates, self.size)))
            open_ = Why.CURVATURE_NOT_CHECKED.of(bends[-1])
            notes.append(open_ if last is None else Why.CURVATURE_CHECKED.of(bends[-1], last))
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

    def _curve(self, rates: Rates, bend: float, notes: tuple[Reason, ...]) -> Curve:
        promise = Guarantee.given(0.0, (Parabolas(bend),))
        points = self._points(rates)
        readings = tuple(self._reading(rates, bend, t, promise) for t in self.thresholds)
        span, exact = Interval(self.low, self.high), Guarantee.sound()
        between = between_parabolas(points, bend, span.width)
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
            inside = share_above(ends, meets) / (self.high - self.low)
            value += inside
            if _meet(rates, a, b, bend, threshold):
                perhaps += b - a
            else:
                surely, perhaps = surely + inside, perhaps + inside
        bounds = Interval(min(surely, 1.0), min(max(surely, perhaps), 1.0))
        value = min(max(value, bounds.low), bounds.high)
        crossings = linear_crossings(points, threshold, meets)
        return Reading(threshold, value, bounds, crossings, promise)

    def _printed(self, rates: Rates, bend: float, threshold: float, promise: Guarantee) -> Reading:
        """The paper's sum over right ends, and its bound, which ties make wrong."""
        visited = {x: rates[x] for x in self._recursion(rates, bend, threshold) if x in rates}
        pairs = list(pairwise(sorted(visited)))
        value = sum((b - a for a, b in pairs if rates[b] >= threshold), 0.0)
        bound = sum((b - a for a, b in pairs if _intersect(rates, a, b, bend, threshold)), 0.0)
        if threshold in visited.values():
            promise = Guarantee(Footing.NONE, 1.0, (Assumed.PRINTED_BOUND,))
        points = self._points(visited)
        crossings = linear_crossings(points, threshold, threshold)
        bounds = Interval(max(value - bound, 0.0), min(value + bound, 1.0))
        return Reading(threshold, value, bounds, crossings, promise)

    def _points(self, rates: Rates) -> tuple[Point, ...]:
        return exact_points({self._level(x): r for x, r in rates.items()}, self.size)


def _meet(rates: Rates, a: float, b: float, bend: float, threshold: float) -> bool:
    return parabolas_meet(rates[a], rates[b], bend * (b - a) ** 2, threshold)


def _intersect(rates: Rates, a: float, b: float, bend: float, threshold: float) -> bool:
    ends = a, rates[a], b, rates[b]
    return any(printed_test(*ends, depth, threshold) for depth in (bend, -bend))


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


_PROMISE = Guarantee(Footing.NONE, 1.0, (Assumed.NO_BOUND,))
_RULE = 21
"""Levels that quad's rule, Gauss and Kronrod's, takes for one part of the range."""
_TOLERANCE = 1.49e-8
"""The error that quad allows by default, as a share of the range and of the integral."""
Steps = Generator[Ask, Counts, Curve]
RatesAt = Mapping[float, float]


@dataclass(frozen=True)
class _Comparator(_PublishedCurve):
    """So many levels, at most."""

    levels: int = 41

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.levels <= 100_000:
            raise InvalidArgument(f"levels: from 2 to 100,000 of them, got {self.levels}: try 41")


@dataclass(frozen=True)
class UniformCurve(_Comparator):
    """So many levels, evenly spread, the ends among them; the share of those at or above."""

    size: int = 0

    @property
    def forecast(self) -> int:
        """Trials that it takes."""
        return self.levels * self.size

    def steps(self) -> Steps:
        """Ask for all inputs at every level, in an order that leaves no part of the range out."""
        levels = np.linspace(self.low, self.high, self.levels).tolist()
        order = sorted(range(self.levels), key=lambda i: f"{i:017b}"[::-1])
        return _share_of_levels(self, [levels[i] for i in order])


@dataclass(frozen=True)
class RandomCurve(_Comparator):
    """So many levels, uniformly at random by `seed`; the share of those at or above."""

    seed: int = 1
    size: int = 0

    @property
    def forecast(self) -> int:
        """Trials that it takes."""
        return self.levels * self.size

    def steps(self) -> Steps:
        """Ask for all inputs at every level, in the order of the draw."""
        draw = np.random.default_rng(self.seed).uniform(self.low, self.high, self.levels)
        return _share_of_levels(self, list(dict.fromkeys(draw.tolist())))


@dataclass(frozen=True)
class QuadCurve(_Comparator):
    """`scipy.integrate.quad` on the indicator, with at most so many levels for all thresholds."""

    levels: int = 1024
    size: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._parts() < 1:
            raise InvalidArgument(
                f"levels: quad needs {_RULE} of them for every threshold, got {self.levels} for "
                f"{len(self.thresholds)}"
            )

    @property
    def forecast(self) -> int:
        """Trials that it may take."""
        return self.levels * self.size // 2

    def steps(self) -> Steps:
        """Integrate again and again, each time as far as the levels known allow."""
        check_size(self.size)
        rates: dict[float, float] = {}
        integrals: dict[float, float] = {}
        notes: list[Reason] = []
        try:
            for threshold in self.thresholds:
                while threshold not in integrals:
                    try:
                        integrals[threshold] = self._integral(rates, threshold, notes)
                    except _MissingLevel as missing:
                        (level,) = missing.args
                        rates[level] = (yield Ask(level, self.size)).rate
        except TimeUp:
            notes.append(Why.STOPPED_EARLY.of(len(rates)))
            for threshold in self.thresholds:
                integrals.setdefault(threshold, self._by_lines(rates, threshold))
        return _curve(self, rates, integrals, notes)

    def _parts(self) -> int:
        """Into how many parts the range may be cut: each cut takes two rules more."""
        return (self.levels // len(self.thresholds) + _RULE) // (2 * _RULE)

    def _integral(self, rates: RatesAt, threshold: float, notes: list[Reason]) -> float:
        from scipy.integrate import quad

        def indicator(level: float) -> float:
            if level not in rates:
                raise _MissingLevel(level)
            return float(rates[level] >= threshold)

        limits = {"epsabs": _TOLERANCE * (self.high - self.low), "epsrel": _TOLERANCE}
        whole, error, _, *warning = quad(
            indicator, self.low, self.high, limit=self._parts(), full_output=1, **limits
        )
        # with a single part quad warns whatever its error is
        if warning and error > max(limits["epsabs"], _TOLERANCE * abs(whole)):
            notes.append(Why.INTEGRAL_OPEN.of(threshold))
        return min(max(float(whole) / (self.high - self.low), 0.0), 1.0)

    def _by_lines(self, rates: RatesAt, threshold: float) -> float:
        """The share above of straight lines between the levels, flat towards the ends."""
        if not rates:
            return 0.0
        ends = {self.low: rates[min(rates)], self.high: rates[max(rates)]}
        lines = exact_points({**rates, **ends}, self.size)
        return share_above(lines, threshold) / (self.high - self.low)


class _MissingLevel(Exception):
    """A level that the integrator asks for and that was not evaluated yet."""


def _share_of_levels(method: UniformCurve | RandomCurve, levels: Sequence[float]) -> Steps:
    check_size(method.size)
    rates: dict[float, float] = {}
    notes = []
    try:
        for level in levels:
            rates[level] = (yield Ask(level, method.size)).rate
    except TimeUp:
        notes.append(Why.STOPPED_EARLY.of(len(rates)))
    above = {t: sum(rate >= t for rate in rates.values()) for t in method.thresholds}
    return _curve(method, rates, {t: n / max(len(rates), 1) for t, n in above.items()}, notes)


def _curve(
    method: UniformCurve | RandomCurve | QuadCurve,
    rates: RatesAt,
    values: Mapping[float, float],
    notes: Sequence[Reason],
) -> Curve:
    points = exact_points(rates, method.size)
    readings = tuple(
        Reading(t, values[t], UNIT, linear_crossings(points, t, t), _PROMISE)
        for t in method.thresholds
    )
    span, exact = Interval(method.low, method.high), Guarantee.sound()
    trials = method.size * len(points)
    return Curve(span, method.size, points, readings, exact, trials, tuple(notes))
