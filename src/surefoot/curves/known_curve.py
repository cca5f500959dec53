"""What is known of a curve: bounds at levels, what follows between them, and a sketch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from surefoot.core.counts import Outcomes, Severities
from surefoot.core.procedure import Ask
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import Interval
from surefoot.curves.assumptions import Assumption
from surefoot.curves.levels import ROUNDING, Grid, Level, Sampling, Values, mean_of

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


class KnownCurve:
    """All levels evaluated so far."""

    def __init__(
        self, grid: Grid, thresholds: Sequence[float], assumption: Assumption, sampling: Sampling
    ) -> None:
        self.grid, self.thresholds, self.sampling = grid, thresholds, sampling
        self.assumption: Assumption = assumption
        self.contradiction: Reason | None = None
        self.levels: dict[int, Level] = {}
        self.raised: dict[int, float] = {}
        self._bounds: dict[tuple[int, int], Interval] = {}
        self._implied: dict[int, tuple[Values, Values]] = {}
        self._full: list[Level] = []
        self._complete: dict[int, bool] = {}
        self._estimates: dict[int, float] = {}
        self._doubts: dict[int, float] = {}

    @property
    def checks(self) -> set[int]:
        """Levels half-way between those of the scan, only looked at as a check."""
        cells = self.assumption.cells
        scan = self.grid.scan(2 * cells) - self.grid.scan(cells)
        return {p for p in scan if p in self.levels and not self.levels[p].full}

    def places(self) -> list[int]:
        """Where bounds are known, in order; not the checks."""
        checks = self.checks
        known = (p for p, level in self.levels.items() if level.first and p not in checks)
        return sorted({*known, *filter(self.complete, self.levels)})

    def complete(self, place: int) -> bool:
        """Whether every input is known at a place, evaluated or implied."""
        if place not in self._complete:
            self._complete[place] = self.levels[place].full or (
                self.by_input and bool(np.equal(*self.implied(place)).all())
            )
        return self._complete[place]

    def sure_of_neighbours(self, place: int) -> bool:
        """Whether a level of the scan and the two beside it were evaluated in full."""
        step = self.grid.cells // (2 * self.assumption.cells)
        beside = (self.levels.get(p) for p in (place - step, place, place + step))
        return all(level is not None and level.full for level in beside)

    @property
    def by_input(self) -> bool:
        """Whether the outcome of an input at one level tells that at others."""
        return self.assumption.per_input and not self.sampling.fresh

    def bounds(self, place: int) -> Interval:
        """Bounds of the accuracy at a place, by its trials and by what follows for each input."""
        level, centre = self.levels[place], self.levels[self.grid.centre]
        key = place, level.first
        if key not in self._bounds:
            first, reference = level.values[: level.first], centre.values if centre.full else None
            self._bounds[key] = self.sampling.bounds(place, first, reference)
        known = self._bounds[key]
        if not self.by_input or level.full:
            return known
        least, most = self.implied(place)
        low = max(known.low, mean_of(least))
        return Interval(low, max(low, min(known.high, mean_of(most))))

    def implied(self, place: int) -> tuple[Values, Values]:
        """The least and the most each input can be worth, if it only gets worse outwards."""
        if place in self._implied:
            return self._implied[place]
        least, most = np.zeros(self.sampling.most), np.ones(self.sampling.most)
        distance = self.grid.distance(place)
        for other, level in self.levels.items():
            if self.grid.same_side(place, other):
                if self.grid.distance(other) >= distance:
                    least = np.fmax(least, level.values)
                if self.grid.distance(other) <= distance:
                    most = np.fmin(most, level.values)
        return self._implied.setdefault(place, (least, most))

    def gaps(self, threshold: float) -> list[Gap]:
        """All neighbouring places, in order."""
        places, lows, highs = self._tightened(threshold)
        sides = [self._side(threshold, *known) for known in zip(places, lows, highs, strict=True)]
        gaps = []
        for i, (a, b) in enumerate(pairwise(places)):
            width, margin = self.grid.share(b) - self.grid.share(a), self.margin(a, b)
            low = self.assumption.lowest(lows[i], lows[i + 1], width, margin)
            high = -self.assumption.lowest(-highs[i], -highs[i + 1], width, margin)
            low, high = self._attainable(low, high)
            above = low >= threshold - ROUNDING
            reach = Interval(max(low, 0.0), max(min(high, 1.0), low, 0.0))
            decided = above or high < threshold - ROUNDING
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
        low, high = self._attainable(low - margin, high + margin)
        if low >= threshold - ROUNDING:
            return CLEAR
        if high < threshold - ROUNDING:
            return -CLEAR
        distance = self.estimate(place) - threshold
        if self.complete(place) or abs(distance) + self.doubt(place) <= margin:
            return NEAR if distance >= -ROUNDING else -NEAR
        return 0

    def _attainable(self, low: float, high: float) -> tuple[float, float]:
        """Bounds rounded inwards to what a share of so many inputs can be."""
        if self.sampling.fresh or not self.sampling.counts:
            return low, high
        size = self.sampling.size
        return math.ceil(low * size - ROUNDING) / size, math.floor(high * size + ROUNDING) / size

    def target(self, threshold: float, margin: float, *, above: bool) -> float:
        """From which accuracy on a level lies clear above the threshold, or below which below."""
        if self.sampling.fresh or not self.sampling.counts:
            return threshold + (margin if above else -margin)
        size = self.sampling.size
        enough = math.ceil(threshold * size - ROUNDING)
        return (enough - 1) / size + margin + 2 * ROUNDING if above else enough / size - margin

    def margin(self, a: int, b: int) -> float:
        """How far beyond the threshold levels must lie to decide what is between or beside them."""
        if b - a > self.grid.cells // self.assumption.cells and not self.assumption.reaches:
            return 1.0
        step = self.grid.cells // (2 * self.assumption.cells)
        beside = (size for place, size in self.raised.items() if a - step < place < b + step)
        return max(self.assumption.margin(1 / self.grid.cells), 0.0, *beside)

    def estimate(self, place: int) -> float:
        """The accuracy at a place, by how the same inputs did at the nearest level in full."""
        if place not in self._estimates:
            self._estimates[place] = self._estimate(place)
        return self._estimates[place]

    def _estimate(self, place: int) -> float:
        level = self.levels[place]
        if self.by_input and not level.first:
            return self.bounds(place).low
        if level.full or self.sampling.fresh:
            return level.estimate
        nearest = self._nearest_full(place)
        return nearest.estimate + level.estimate - mean_of(nearest.values[: level.first])

    def doubt(self, place: int) -> float:
        """About the standard deviation of the estimate."""
        if place not in self._doubts:
            self._doubts[place] = self._doubt(place)
        return self._doubts[place]

    def _doubt(self, place: int) -> float:
        level, n = self.levels[place], self.levels[place].first
        if self.sampling.fresh:
            return math.sqrt(max(level.estimate * (1 - level.estimate), 1 / n) / n)
        changed = float(np.mean((level.values[:n] - self._nearest_full(place).values[:n]) ** 2))
        return math.sqrt(max(changed, 1 / n) / n * (1 - n / self.sampling.size))

    def _nearest_full(self, place: int) -> Level:
        return min(self._full, key=lambda level: abs(level.place - place))

    def put(self, asks: Sequence[Ask], answers: Sequence[Outcomes | Severities]) -> None:
        """Keep the answers."""
        by_level = {level.level: level for level in self.levels.values()}
        for ask, answer in zip(asks, answers, strict=True):
            by_level[ask.level].put(ask.start or 0, answer.goodness)
        scan = sorted(p for p in self.grid.scan(2 * self.assumption.cells) if p in self.levels)
        known = [self.levels[p] for p in scan if self.levels[p].first]
        self.raised = self.assumption.raised(known, self.grid.centre)
        self._forget()

    def _forget(self) -> None:
        """Drop what was computed from the levels and the assumption before one of them changed."""
        self._full = [level for level in self.levels.values() if level.full]
        for computed in (self._implied, self._complete, self._estimates, self._doubts):
            computed.clear()

    def fall_back(self, assumption: Assumption, contradiction: Reason) -> None:
        """Assume something else from now on, because the data contradict what was assumed."""
        self.assumption, self.contradiction = assumption, contradiction
        self._forget()

    def contradicted(self) -> Reason | None:
        """What in the data contradicts the assumption; nothing if nothing does."""
        counts = self.sampling.counts
        if self.by_input:
            back = self.assumption.turned_back(self.levels, self.grid, counts=counts)
            if back is not None:
                return back
        for threshold in self.thresholds:
            for place, low, high in zip(*self._tightened(threshold), strict=True):
                if low > high + ROUNDING:
                    return Why.COMES_BACK.of(self.grid.level(place))
        return None

    def level(self, place: int) -> Level:
        """The level at a place, begun if it was not."""
        if place not in self.levels:
            self.levels[place] = Level(place, self.grid.level(place), self.sampling)
        return self.levels[place]

    def sketch(self, place: int) -> tuple[list[Ask], Values]:
        """What each input is worth at a place, if it is as at the nearest levels on both sides at
        which it was evaluated; and asks for those inputs of which the two do not agree.
        """
        level = self.level(place)
        if self.by_input:
            left, right = self.implied(place)
        else:
            left, right = self._nearest(place, -1), self._nearest(place, 1)
        return level.asks(left != right), np.where(level.known, level.values, left)

    def _nearest(self, place: int, step: int) -> Values:
        """What each input was worth at the nearest level on one side at which it was evaluated."""
        values = np.full(self.sampling.most, np.nan)
        beyond = (p for p in self.levels if (p - place) * step > 0)
        for other in sorted(beyond, key=lambda p: p * step):
            values = np.where(np.isnan(values), self.levels[other].values, values)
            if self.levels[other].full:
                break
        return values
