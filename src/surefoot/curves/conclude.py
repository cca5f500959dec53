"""From the levels evaluated to the statements about a curve."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from surefoot.core.counts import Counts, Outcomes, Severities
from surefoot.core.procedure import Ask
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import Between, Crossing, Guarantee, Interval, Point, Reading
from surefoot.curves import published
from surefoot.curves.assumptions import RISE, Assumption
from surefoot.curves.known_curve import Gap, KnownCurve
from surefoot.curves.levels import Grid, Level, Sampling, mean_bounds
from surefoot.statistics.bounds import clopper_pearson

Values = Sequence[tuple[float, float]]
"""Levels in rising order, and the best value known at each."""


def points_of(known: KnownCurve) -> tuple[Point, ...]:
    """Every level looked at, with its bounds."""
    points = []
    for place, level in sorted(known.levels.items()):
        if level.first or known.complete(place):
            bounds = known.bounds(place)
            value = min(max(known.estimate(place), bounds.low), bounds.high)
            points.append(Point(level.level, level.trials, value, bounds))
    return tuple(points)


def between_of(known: KnownCurve) -> tuple[Between, ...]:
    """What the curve can do between the levels, whatever the threshold."""
    level = known.grid.level
    if not known.places():
        return ()
    return tuple(
        Between(
            level(same[0].a),
            level(same[0].b),
            max(gap.reach.low for gap in same),
            min(gap.reach.high for gap in same),
        )
        for same in zip(*(known.gaps(t) for t in known.thresholds), strict=True)
    )


def reading_of(known: KnownCurve, threshold: float, guarantee: Guarantee) -> Reading:
    """The share of the range at or above the threshold, and where it is crossed."""
    gaps, values, grid = known.gaps(threshold), _values(known), known.grid
    meets = known.meets(threshold)
    surely = perhaps = value = 0.0
    for gap in gaps:
        width = grid.share(gap.b) - grid.share(gap.a)
        if gap.above is None:
            span = Interval(grid.level(gap.a), grid.level(gap.b))
            perhaps += width
            value += length_within(values, meets, span) / (grid.high - grid.low)
        elif gap.above:
            surely, perhaps, value = surely + width, perhaps + width, value + width
    surely, perhaps = round(surely, 12), round(perhaps, 12)
    interval = Interval(min(surely, 1.0), min(max(surely, perhaps), 1.0))
    if known.assumption.stays:
        value = sum(_reached(known, threshold, side, values, meets) for side in (-1, 1))
    value = min(max(round(value, 12), interval.low), interval.high)
    crossings = _crossings(known, gaps, values, meets)
    if known.assumption.stays and len(crossings) == 1 and not grid.centre:
        level, span = grid.low + value * (grid.high - grid.low), crossings[0].interval
        if span.low <= level <= span.high:  # up to where it stays is where it crosses: one number
            crossings = (replace(crossings[0], level=level),)
    return Reading(threshold, value, interval, crossings, guarantee)


def _reached(known: KnownCurve, threshold: float, side: int, values: Values, meets: float) -> float:
    """The share of the range, outwards from the clean level, up to where the curve first meets the
    threshold, by straight lines from value to value.
    """
    grid = known.grid
    inner, outer, _, _ = known.stretch(threshold, side)
    span = Interval(*sorted((grid.level(inner), grid.level(outer))))
    path = sorted(((abs(x - grid.level(grid.centre)), y) for x, y in values if x in span))
    reached = path[-1][0] if path else abs(grid.level(inner) - grid.level(grid.centre))
    for (near, first), (far, last) in itertools.pairwise(path):
        if last < meets:
            part = (first - meets) / (first - last) if first > meets else 0.0
            reached = near + part * (far - near)
            break
    return reached / (grid.high - grid.low)


def _values(known: KnownCurve) -> Values:
    """The best value at each level; of one that was only sketched, if nothing is missing there."""
    values = []
    for place, level in sorted(known.levels.items()):
        if level.full or known.sampling.fresh:
            values += [(level.level, level.estimate)] * (level.first > 0)
            continue
        asks, sketched = known.sketch(place)
        if not asks:
            values.append((level.level, float(sketched.mean())))
        elif level.first:
            bounds = known.bounds(place)
            value = min(max(known.estimate(place), bounds.low), bounds.high)
            values.append((level.level, value))
    return values


def length_within(values: Values, meets: float, span: Interval) -> float:
    """The length, within `span`, on which straight lines from value to value reach `meets`."""
    inside = [value for value in values if value[0] in span]
    return min(published.length_above(inside, meets), span.width)


def _crossings(
    known: KnownCurve, gaps: Sequence[Gap], values: Values, meets: float
) -> tuple[Crossing, ...]:
    """One for every stretch of open gaps with different sides before and after it."""
    grid, crossings = known.grid, []
    stretches = [list(group) for _, group in groupby(gaps, key=lambda gap: gap.above)]
    for i, stretch in enumerate(stretches):
        if stretch[0].above is not None:
            continue
        a, b = stretch[0].a, stretch[-1].b
        ends = ((a, stretch[0].sides[0]), (b, stretch[-1].sides[1]))
        first, final = (_sure(known, place, side, meets) for place, side in ends)
        before = stretches[i - 1][0].above if i else first
        after = stretches[i + 1][0].above if i + 1 < len(stretches) else final
        if before is not None and after is not None and before != after:
            span = Interval(grid.level(a), grid.level(b))
            length = length_within(values, meets, span)
            level = span.low + length if before else span.high - length
            crossings.append(Crossing(level, span, before))
    return tuple(crossings)


def _sure(known: KnownCurve, place: int, side: int, meets: float) -> bool | None:
    """On which side an end of the range lies, where that is sure."""
    if not side and known.complete(place):
        return known.estimate(place) >= meets
    return side > 0 if side else None


Asks = Generator[tuple[Ask, ...], Sequence[Outcomes | Severities], None]
POPULATION_CELLS = 1024
"""Cells of the range: half of one widens an interval by much less than a thousand inputs do."""
STEPS = (63, 16, 4, 1)
"""Of a walk, in cells: it goes on in finer steps from where it ended. The longest is less than 1/16
of the range, wherever within its cell the clean level is."""
MOST_STEPS = 24
"""Of each length: all that fit into the range, or some more than there are in a longer step."""
SHARES = (0.15, 0.05, 0.15, 0.65)
"""Of the error of a walk, for each length of its steps: the first ones decide whether it begins at
all, the last ones how wide the interval is."""
EARLY_INPUTS, EARLY_SHARE = 256, 0.01
"""Inputs of the one early look at a level, and its share of the error: it settles most levels."""


def rank_thresholds(threshold: float, size: int, error: float) -> tuple[float, float]:
    """Shares of the sample at which the population is surely still above, and surely below.

    If every input stays wrong once it is wrong, the crossing is a quantile of the inputs' own
    levels, and these are its two ranks: they hold at whatever levels the search looks.
    """
    from scipy.stats import binom

    enough = int(binom.isf(error / 2, size, threshold)) + 1
    few = int(binom.ppf(error / 2, size, threshold))
    while binom.cdf(few - 1, size, threshold) > error / 2:
        few -= 1
    return enough / size, few / size


@dataclass
class Walks:
    """Levels fixed beforehand, tested in order from the clean one outwards and from each end
    inwards, each walk up to the first level that is not decided.

    A walk is wrong only if it passes the first level at which its statement is false, so each
    needs no more than its own share of the error, however many levels it tests.
    """

    grid: Grid
    assumption: Assumption
    size: int
    error: float
    counts: bool = True
    levels: dict[int, Level] = field(default_factory=dict)
    reached: dict[tuple[float, int, bool], int] = field(default_factory=dict)

    def run(self, thresholds: Sequence[float]) -> Asks:
        """All walks; `reached` is then the last place each passed, by threshold, side and kind."""
        sides = [s for s in (-1, 1) if self.grid.end(s) != self.grid.centre]
        error = self.error / len(thresholds) / len(sides) / 2
        for threshold in thresholds:
            for side in sides:
                for above in (True, False):
                    yield from self._walk(threshold, side, error, above=above)

    def _walk(self, threshold: float, side: int, error: float, *, above: bool) -> Asks:
        key = threshold, side, above
        for step, share in zip(STEPS, SHARES, strict=True):
            for place in self._path(key, step):
                if not (yield from self._passes(place, threshold, error * share, above=above)):
                    break
                self.reached[key] = place
            if key not in self.reached:
                return

    def _path(self, key: tuple[float, int, bool], step: int) -> Iterator[int]:
        """Places from the last one passed, or from the beginning of the walk, to its end."""
        _, side, above = key
        ends = self.grid.centre, self.grid.end(side)
        (begin, end), way = (ends, side) if above else (ends[::-1], -side)
        if key not in self.reached:
            yield begin
        for _ in range(MOST_STEPS):
            if (place := self.reached.get(key, end)) != end:
                yield place + way * min(step, abs(end - place))

    def _passes(
        self, place: int, threshold: float, error: float, *, above: bool
    ) -> Generator[tuple[Ask, ...], Sequence[Outcomes | Severities], bool]:
        """Whether the accuracy of the population is surely above the threshold (or below)."""
        early = min(EARLY_INPUTS, self.size)
        for inputs, share in ((early, EARLY_SHARE), (self.size, 1 - EARLY_SHARE)):
            # known only by its values: bounds are those of a walk
            own = Level(place, self.grid.level(place), Sampling(self.size, 1.0, frozenset()))
            level = self.levels.setdefault(place, own)
            if asks := level.asks(np.arange(self.size) < inputs):
                for ask, answer in zip(asks, (yield tuple(asks)), strict=True):
                    level.put(ask.start or 0, answer.goodness)
            bounds = self._bounds(level.values[:inputs], 2 * share * error)
            assumed = self.assumption
            if above and bounds.low >= threshold + assumed.above:
                return True
            # of the clean level it must follow that no level at all reaches the threshold
            margin = assumed.rise if place == self.grid.centre else assumed.below
            if not above and bounds.high < threshold - margin:
                return True
        return False

    def _bounds(self, values: np.ndarray, error: float) -> Interval:
        if self.counts:
            return clopper_pearson(Counts(len(values), round(float(values.sum()))), error)
        return mean_bounds(float(values.mean()), len(values), error)

    def _evaluated(self) -> list[Level]:
        """The levels with trials, in order."""
        return [self.levels[place] for place in sorted(self.levels) if self.levels[place].trials]

    def points(self) -> tuple[Point, ...]:
        """The levels, each with bounds by itself."""
        points = []
        for level in self._evaluated():
            values = level.values[level.known]
            bounds = self._bounds(values, self.error)
            points.append(Point(level.level, len(values), float(values.mean()), bounds))
        return tuple(points)

    def reading(self, threshold: float, guarantee: Guarantee) -> Reading:
        """What the walks leave open."""
        grid, low, high, crossings = self.grid, 0.0, 0.0, []
        values = [(point.level, point.value) for point in self.points()]
        for side in (-1, 1):
            centre, end = grid.centre, grid.end(side)
            above, below = (self.reached.get((threshold, side, kind)) for kind in (True, False))
            inner, outer = centre if above is None else above, end if below is None else below
            low += abs(grid.share(inner) - grid.share(centre))
            high += abs(grid.share(outer) - grid.share(centre))
            if above is not None and below is not None and centre != end:
                span = Interval(*sorted((grid.level(above), grid.level(below))))
                at = length_within(values, threshold, span)
                level = span.low + at if side > 0 else span.high - at
                crossings.append(Crossing(level, span, side > 0))
        interval = Interval(min(low, high, 1.0), min(max(low, high), 1.0))
        whole = Interval(grid.low, grid.high)
        value = length_within(values, threshold, whole) / whole.width
        value = min(max(value, interval.low), interval.high)
        return Reading(threshold, value, interval, tuple(crossings), guarantee)

    def contradiction(self, thresholds: Sequence[float]) -> Reason | None:
        """Where walks of both kinds passed each other, or a rise is surely more than assumed."""
        for threshold, side in itertools.product(thresholds, (-1, 1)):
            above, below = (self.reached.get((threshold, side, kind)) for kind in (True, False))
            if above is not None and below is not None and (above - below) * side >= 0:
                return Why.COMES_BACK.of(self.grid.level(below))
        return self._rise() if self.assumption.name == RISE else None

    def _rise(self) -> Reason | None:
        """The first rise of the population that is surely more than assumed: how often inputs come
        back, surely at least, and how often they fail only then, surely at most.
        """
        levels = self._evaluated() if self.counts else []
        pairs = [
            (weak, strong) for weak, strong in itertools.permutations(levels, 2)
            if self.grid.same_side(weak.place, strong.place)
            and self.grid.distance(weak.place) < self.grid.distance(strong.place)
        ]  # fmt: skip
        for weak, strong in pairs:
            n = min(weak.first, strong.first)
            change = strong.values[:n] - weak.values[:n]
            error = self.error / len(pairs)
            back, lost = (
                clopper_pearson(Counts(n, int(np.count_nonzero(change == way))), error)
                for way in (1, -1)
            )
            if n and back.low - lost.high > self.assumption.rise:
                rise = 100 * float(change.mean())
                return Why.RISES.of(weak.level, strong.level, rise)
        return None
