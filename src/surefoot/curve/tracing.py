"""The search for where a curve crosses a threshold: what is known, and what to evaluate next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from surefoot.curve.assumptions import COARSE, Assumption
from surefoot.curve.levels import MOST_NOISY_LEVELS, Grid, Level, Sampling, Values
from surefoot.evidence import Outcomes, Severities
from surefoot.procedure import Ask
from surefoot.results import Interval

SPARE = 1e-9
"""0.8 + 0.01 is more than 0.81 in binary; much less than one input counts."""
WORTH_A_LEVEL = 8
"""A level is evaluated in full only where that may close more than 1/8 of what is open."""
CLEAR, NEAR = 2, 1
"""A level lies clear of a threshold, by more than the margin; or nearer to it, on this side."""


@dataclass(frozen=True)
class Gap:
    """What the curve can do between two neighbouring places, and on which side that is.

    `sides` are those of the two places: ± CLEAR or ± NEAR, 0 where that is not known.
    """

    a: int
    b: int
    reach: Interval
    sides: tuple[int, int]
    above: bool | None

    @property
    def width(self) -> int:
        """In cells of the grid."""
        return self.b - self.a


class Tracing:
    """All levels evaluated so far."""

    def __init__(
        self, grid: Grid, thresholds: Sequence[float], assumption: Assumption, sampling: Sampling
    ) -> None:
        self.grid, self.thresholds, self.sampling = grid, thresholds, sampling
        self.assumption, self.contradiction = assumption, ""
        self.levels: dict[int, Level] = {}
        self.raised: dict[int, float] = {}

    # What is known.

    @property
    def checks(self) -> set[int]:
        """Levels half-way between those of the scan, only looked at as a check."""
        return self.grid.scan(2 * self.assumption.cells) - self.grid.scan(self.assumption.cells)

    def places(self) -> list[int]:
        """Where bounds are known, in order; not the checks."""
        checks = self.checks
        known = (p for p, level in self.levels.items() if level.first and p not in checks)
        return sorted({*known, *filter(self.complete, self.levels)})

    def complete(self, place: int) -> bool:
        """Whether every input is known at a place, evaluated or implied."""
        if self.levels[place].full or not self.by_input:
            return self.levels[place].full
        least, most = self.implied(place)
        return bool((least == most).all())

    @property
    def by_input(self) -> bool:
        """Whether the outcome of an input at one level tells that at others."""
        return self.assumption.per_input and not self.sampling.fresh

    def bounds(self, place: int) -> Interval:
        """Bounds of the accuracy at a place, by its trials and by what follows for each input."""
        level, centre = self.levels[place], self.levels.get(self.grid.centre)
        reference = centre.values if centre is not None and centre.full else None
        known = self.sampling.bounds(place, level.values[: level.first], reference)
        if not self.by_input or level.full:
            return known
        least, most = self.implied(place)
        low = max(known.low, float(least.mean()))
        return Interval(low, max(low, min(known.high, float(most.mean()))))

    def implied(self, place: int) -> tuple[Values, Values]:
        """The least and the most each input can be worth, if it only gets worse outwards."""
        least, most = np.zeros(self.sampling.most), np.ones(self.sampling.most)
        distance = self.grid.distance(place)
        for other, level in self.levels.items():
            if self.grid.same_side(place, other):
                if self.grid.distance(other) >= distance:
                    least = np.fmax(least, level.values)
                if self.grid.distance(other) <= distance:
                    most = np.fmin(most, level.values)
        return least, most

    def gaps(self, threshold: float) -> list[Gap]:
        """All neighbouring places, in order."""
        places, lows, highs = self._tightened(threshold)
        sides = [self._side(threshold, *known) for known in zip(places, lows, highs, strict=True)]
        gaps = []
        for i, (a, b) in enumerate(pairwise(places)):
            width, margin = self.grid.share(b) - self.grid.share(a), self.margin(a, b)
            low = self.assumption.lowest(lows[i], lows[i + 1], width, margin)
            high = -self.assumption.lowest(-highs[i], -highs[i + 1], width, margin)
            above = low >= threshold - SPARE
            reach = Interval(max(low, 0.0), max(min(high, 1.0), low, 0.0))
            decided = above or high < threshold - SPARE
            gaps.append(Gap(a, b, reach, (sides[i], sides[i + 1]), above if decided else None))
        return gaps

    def _tightened(self, threshold: float) -> tuple[list[int], list[float], list[float]]:
        """Bounds at all places, with what the assumption lets follow from one for another."""
        places = self.places()
        bounds = [self.bounds(place) for place in places]
        lows, highs = self.assumption.tighten(
            np.array([b.low for b in bounds]),
            np.array([b.high for b in bounds]),
            places.index(self.grid.centre),
            threshold,
        )
        return places, lows.tolist(), highs.tolist()

    def _side(self, threshold: float, place: int, low: float, high: float) -> int:
        """On which side of the threshold a level lies, by more than the margin beside it or not."""
        margin = self.margin(place, place)
        if low >= threshold + margin - SPARE:
            return CLEAR
        if high < threshold - margin - SPARE:
            return -CLEAR
        distance = self.estimate(place) - threshold
        if self.complete(place) or abs(distance) + self.doubt(place) <= margin:
            return NEAR if distance >= -SPARE else -NEAR
        return 0

    def margin(self, a: int, b: int) -> float:
        """How far beyond the threshold levels must lie to decide what is between or beside them."""
        step = self.grid.cells // (2 * self.assumption.cells)
        beside = (size for place, size in self.raised.items() if a - step < place < b + step)
        return max(self.assumption.margin(1 / self.grid.cells), 0.0, *beside)

    def estimate(self, place: int) -> float:
        """The accuracy at a place, by how the same inputs did at the nearest level in full."""
        level = self.levels[place]
        if self.by_input and not level.first:
            return self.bounds(place).low
        if level.full or self.sampling.fresh:
            return level.estimate
        nearest = self._nearest_full(place)
        return nearest.estimate + level.estimate - float(nearest.values[: level.first].mean())

    def doubt(self, place: int) -> float:
        """About the standard deviation of the estimate."""
        level, n = self.levels[place], self.levels[place].first
        if self.sampling.fresh:
            return math.sqrt(max(level.estimate * (1 - level.estimate), 1 / n) / n)
        changed = float(np.mean((level.values[:n] - self._nearest_full(place).values[:n]) ** 2))
        return math.sqrt(max(changed, 1 / n) / n * (1 - n / self.sampling.size))

    def _nearest_full(self, place: int) -> Level:
        full = [p for p in self.levels if self.levels[p].full]
        return self.levels[min(full, key=lambda p: abs(p - place))]

    def put(self, asks: Sequence[Ask], answers: Sequence[Outcomes | Severities]) -> None:
        """Keep the answers."""
        by_level = {level.level: level for level in self.levels.values()}
        for ask, answer in zip(asks, answers, strict=True):
            by_level[ask.level].put(ask.start or 0, answer.goodness)
        scan = sorted(p for p in self.grid.scan(2 * self.assumption.cells) if p in self.levels)
        known = [self.levels[p] for p in scan if self.levels[p].first]
        self.raised = self.assumption.raised(known, self.grid.centre)

    # What to evaluate next.

    def next_asks(self) -> tuple[Ask, ...]:
        """What to evaluate next; nothing when nothing that is open can be closed."""
        if not self.sampling.fresh and (asks := self._fill(self.grid.centre)):
            return tuple(asks)
        scan = [p for p in self.grid.scan(2 * self.assumption.cells) if not self._level(p).first]
        if scan:
            return tuple(ask for place in sorted(scan) for ask in self._look(place))
        if contradiction := self._contradiction():
            self.assumption, self.contradiction = Assumption(), contradiction
            return self.next_asks()
        decide = (self._decide(threshold) for threshold in self.thresholds)
        sketch = (self._sketch_open(threshold) for threshold in self.thresholds)
        return next((tuple(asks) for asks in chain(decide, sketch) if asks), ())

    def _decide(self, threshold: float) -> list[Ask]:
        """What may close a part of what is open."""
        gaps = self.gaps(threshold)
        for gap in gaps:
            if gap.above is None and (asks := self._refine(gap, gaps, threshold)):
                return asks
        return self._open_sides(gaps, threshold)

    def _contradiction(self) -> str:
        """What in the data contradicts the assumption; nothing if nothing does."""
        if self.by_input and (back := self.assumption.turned_back(self.levels, self.grid)):
            return back
        for threshold in self.thresholds:
            for place, low, high in zip(*self._tightened(threshold), strict=True):
                if low > high + SPARE:
                    return (
                        f"the curve comes back at stronger levels than {self.grid.level(place):.4g}"
                    )
        return ""

    def _level(self, place: int) -> Level:
        return self.levels.setdefault(place, Level(place, self.grid.level(place), self.sampling))

    def _look(self, place: int) -> list[Ask]:
        """The next look at a level."""
        level = self._level(place)
        return level.asks(np.arange(self.sampling.most) < level.next_look)

    def _fill(self, place: int) -> list[Ask]:
        """All trials at a level that do not follow from others."""
        level, wanted = self._level(place), np.ones(self.sampling.most, dtype=bool)
        if self.by_input:
            least, most = self.implied(place)
            wanted = least < most
        return level.asks(wanted)

    def _open_sides(self, gaps: Sequence[Gap], threshold: float) -> list[Ask]:
        """One more look at each level whose side is open, or seems to be another than implied; and
        at each check that does not seem to be clearly where its neighbours are.
        """
        sides = {gap.a: gap.sides[0] for gap in gaps} | {gaps[-1].b: gaps[-1].sides[1]}
        wanted = []
        for place, side in sides.items():
            seems = CLEAR if self.estimate(place) >= threshold - SPARE else -CLEAR
            if not self.complete(place) and side in {0, -seems}:
                wanted.append(place)
        for gap in gaps:
            for place in self.checks:
                if gap.a < place < gap.b and gap.above is not None and not self.levels[place].full:
                    beyond = self.estimate(place) - threshold
                    if (beyond if gap.above else -beyond) < 2 * self.doubt(place):
                        wanted.append(place)
        return [ask for place in wanted for ask in self._look(place)]

    def _refine(self, gap: Gap, gaps: Sequence[Gap], threshold: float) -> list[Ask]:
        """Evaluate between two neighbours, if that may close a part of what is open there."""
        clear = [abs(side) == CLEAR for side in gap.sides]
        if gap.width <= 1 or 0 in gap.sides or not any(clear):
            return []
        if gap.sides[0] == gap.sides[1]:
            return self._middle(gap)
        open_width = _open_width(gap, gaps)
        if self.sampling.fresh:
            return self._middle(gap) if gap.width * WORTH_A_LEVEL > open_width else []
        if asks := self._fill(gap.a) + self._fill(gap.b):
            return asks
        ends = ((gap.a, gap.b, gap.sides[0]), (gap.b, gap.a, gap.sides[1]))
        for end, other, side in ends:
            if abs(side) == CLEAR:
                target = threshold + math.copysign(self.margin(gap.a, gap.b), side)
                asks, place = self._last_place(end, other, target, above=side > 0)
                if not asks and abs(place - end) * WORTH_A_LEVEL > open_width:
                    asks = self._fill(place)
                if asks:
                    return asks
        return []

    def _middle(self, gap: Gap) -> list[Ask]:
        """Half-way between: a look where a look says something, else all inputs."""
        place = (gap.a + gap.b) // 2
        if self.sampling.fresh:
            return self._look(place) if len(self.levels) < MOST_NOISY_LEVELS else []
        return self._look(place) if place in self.sampling.sampled else self._fill(place)

    def _last_place(
        self, end: int, other: int, target: float, *, above: bool
    ) -> tuple[list[Ask], int]:
        """The last place from `end` on that seems to be above the target (or below), by halving;
        or what must be evaluated before that can be said.
        """
        while abs(end - other) > 1:
            middle = (end + other) // 2
            asks, values = self.sketch(middle)
            if asks:
                return asks, end
            if (float(values.mean()) >= target - SPARE) == above:
                end = middle
            else:
                other = middle
        return [], end

    def sketch(self, place: int) -> tuple[list[Ask], Values]:
        """What each input is worth at a place, if it is as at the nearest levels on both sides at
        which it was evaluated; and asks for those inputs of which the two do not agree.
        """
        level = self._level(place)
        if self.by_input:
            left, right = self.implied(place)
        else:
            left, right = self._nearest(place, -1), self._nearest(place, 1)
        return level.asks(left != right), np.where(level.known, level.values, left)

    def _nearest(self, place: int, step: int) -> Values:
        """What each input was worth at the nearest level on one side at which it was evaluated."""
        values = np.full(self.sampling.most, np.nan)
        for other in sorted(self.levels, key=lambda p: p * step):
            if (other - place) * step > 0 and np.isnan(values).any():
                values = np.where(np.isnan(values), self.levels[other].values, values)
        return values

    def _sketch_open(self, threshold: float) -> list[Ask]:
        """For the value alone: sketch what is open, as finely as it may cross the threshold."""
        asks: list[Ask] = []
        for gap in self.gaps(threshold):
            if gap.above is None and not self.sampling.fresh:
                ends = [p for p in (gap.a, gap.b) if not self.complete(p)]
                asks += [ask for p in ends for ask in self._fill_around(p) or self.sketch(p)[0]]
                asks += [] if asks else self._sketch_between(gap.a, gap.b, threshold)
        return list(dict.fromkeys(asks))

    def _fill_around(self, place: int) -> list[Ask]:
        """All inputs at the levels of a coarse scan on both sides of a place."""
        coarse = self.grid.scan(COARSE)
        before, after = max(p for p in coarse if p <= place), min(p for p in coarse if p >= place)
        return self._fill(before) + (self._fill(after) if after != before else [])

    def _sketch_between(self, a: int, b: int, threshold: float) -> list[Ask]:
        """Halve while inputs that differ between the two may take the mean across the threshold."""
        if b - a <= 1:
            return []
        first, last = self.sketch(a)[1], self.sketch(b)[1]
        lowest = float(np.minimum(first, last).mean()) >= threshold - SPARE
        highest = float(np.maximum(first, last).mean()) < threshold - SPARE
        if lowest or highest:
            return []
        middle = (a + b) // 2
        return self.sketch(middle)[0] or [
            *self._sketch_between(a, middle, threshold),
            *self._sketch_between(middle, b, threshold),
        ]


def _open_width(gap: Gap, gaps: Sequence[Gap]) -> int:
    """The width of all open gaps in a row of which this is one."""
    first = last = gaps.index(gap)
    while first > 0 and gaps[first - 1].above is None:
        first -= 1
    while last + 1 < len(gaps) and gaps[last + 1].above is None:
        last += 1
    return gaps[last].b - gaps[first].a
