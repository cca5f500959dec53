"""What is known of a curve: bounds at levels, what follows between them, and a sketch."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from surefoot.core.counts import Outcomes, Severities
from surefoot.core.procedure import Ask
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import Interval
from surefoot.curves.assumptions import ONE_CROSSING, Assumption, inwards, outwards
from surefoot.curves.levels import (
    FIRST_LOOK,
    NOTICED,
    ROUNDING,
    Grid,
    Level,
    Sampling,
    Values,
    mean_of,
)

PURSUED = 0.05
"""A rise that may be so much is pursued with more inputs, once it seems to be one; one that cannot
cross a threshold only if it may be one that is to be noticed wherever it is."""
SURE, PLAUSIBLE = 1.2, 2.0
"""Standard deviations by which a rise must seem to exceed what is assumed, and may fall short of
one that is to be noticed, for more inputs to be looked at: two of 44 that come back are enough."""


def chance_to_notice(accuracy: float, rise: float) -> float:
    """That two levels whose perturbation draws show a rise of a tenth to this accuracy, about.

    The first looks decide: once a rise is suspected, draws are added until it is shown or gone.
    `rise` is what is assumed. Other levels beyond the rise add to it.
    """
    from scipy.special import ndtr

    low = max(0.0, accuracy - NOTICED)
    spread = accuracy * (1 - accuracy) + low * (1 - low)
    deviation = math.sqrt(max(spread, 1 / FIRST_LOOK) / FIRST_LOOK)
    return float(ndtr((NOTICED - rise) / deviation - SURE))


@dataclass(frozen=True)
class Gap:
    """What the curve can do between two neighbouring places, and on which side that is.

    `sides` are those of the two places: 1 or -1, 0 where that is not known.
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


@dataclass(frozen=True)
class Rise:
    """From one place to one with a stronger level, by so much as it seems."""

    start: int
    end: int
    size: float


class KnownCurve:
    """All levels evaluated so far."""

    def __init__(
        self, grid: Grid, thresholds: Sequence[float], assumption: Assumption, sampling: Sampling
    ) -> None:
        self.grid, self.thresholds, self.sampling = grid, thresholds, sampling
        self.assumption: Assumption = assumption
        self.contradiction: Reason | None = None
        self.levels: dict[int, Level] = {}
        self._begun: list[int] = []
        self._places: dict[int, list[int]] = {}
        self.expected: dict[int, Values] = {}
        self._sampled: dict[tuple[int, int], Interval] = {}
        self._bounds: dict[int, Interval] = {}
        self._implied: dict[tuple[int, int, int], tuple[Values, Values]] = {}
        self._beside: dict[tuple[int, int], Values] = {}
        self._full: list[Level] = []
        self._complete: dict[int, bool] = {}
        self._certain: dict[int, bool] = {}
        self._estimates: dict[int, float] = {}
        self._doubts: dict[int, float] = {}

    def places(self) -> list[int]:
        """Where bounds are known, in order."""
        if len(self.levels) not in self._places:  # a level may be begun before it has trials
            self._places[len(self.levels)] = sorted(
                p for p, level in self.levels.items()
                if level.first or self.complete(p) or self.certain(p)
            )  # fmt: skip
        return self._places[len(self.levels)]

    def certain(self, place: int) -> bool:
        """Whether the inputs evaluated there decide about a threshold, whatever the others do."""
        if place not in self._certain:
            sure = self.levels[place].certain
            self._certain[place] = any(
                sure.low >= self.target(t, above=True) - ROUNDING
                or sure.high < self.target(t, above=False) - ROUNDING
                for t in self.thresholds
            )
        return self._certain[place]

    @property
    def unexpected(self) -> int:
        """How many inputs came out otherwise than those beside a level made expect, at the most."""
        return max(
            (int(np.count_nonzero(np.abs(self.levels[place].values - values) > 0.5))
             for place, values in self.expected.items()),
            default=0,
        )  # fmt: skip

    def complete(self, place: int) -> bool:
        """Whether every input is known at a place, evaluated or implied."""
        if place not in self._complete:
            self._complete[place] = self.levels[place].full or (
                self.by_input and bool(np.equal(*self.implied(place)).all())
            )
        return self._complete[place]

    @property
    def by_input(self) -> bool:
        """Whether the outcome of an input at one level tells that at others."""
        return self.assumption.per_input and not self.sampling.fresh

    def bounds(self, place: int) -> Interval:
        """Bounds of the accuracy at a place, by its trials and by what follows for each input."""
        if place not in self._bounds:
            self._bounds[place] = self._bounds_of(place)
        return self._bounds[place]

    def _bounds_of(self, place: int) -> Interval:
        level, centre = self.levels[place], self.levels[self.grid.centre]
        key = place, level.first
        if key not in self._sampled:
            first, reference = level.values[: level.first], centre.values if centre.full else None
            self._sampled[key] = self.sampling.bounds(place, first, reference)
        sampled = self._sampled[key]
        if self.sampling.fresh or level.full:
            return sampled
        sure = level.certain
        if self.by_input:
            least, most = map(mean_of, self.implied(place))
            if least <= most:  # else inputs come back, and none is known by its other levels
                sure = Interval(least, most)
        low = max(sampled.low, sure.low)
        return Interval(low, max(low, min(sampled.high, sure.high)))

    def implied(self, place: int) -> tuple[Values, Values]:
        """The least and the most each input can be worth, if it only gets worse outwards."""
        key = *self._between(place), (place > self.grid.centre) - (place < self.grid.centre)
        if key in self._implied:
            return self._implied[key]
        least, most = np.zeros(self.sampling.most), np.ones(self.sampling.most)
        distance = self.grid.distance(place)
        for other in self._begun:
            if self.grid.same_side(place, other):
                values = self.levels[other].values
                if self.grid.distance(other) >= distance:
                    least = np.fmax(least, values)
                if self.grid.distance(other) <= distance:
                    most = np.fmin(most, values)
        return self._implied.setdefault(key, (least, most))

    def _between(self, place: int) -> tuple[int, int]:
        """How many levels with trials are weaker, and how many are no stronger.

        What other levels say of a place is the same wherever it is between two of them: a search
        by halving stays between two for most of its steps.
        """
        return bisect_left(self._begun, place), bisect_right(self._begun, place)

    def gaps(self, threshold: float) -> list[Gap]:
        """All neighbouring places, in order."""
        places, lows, highs = self._all_bounds()
        sides = self._sides(threshold, places, lows, highs)
        centre, rise = places.index(self.grid.centre), self.assumption.rise
        most, least = outwards(lows, np.maximum, centre), inwards(highs, np.minimum, centre)
        gaps = []
        for i, (a, b) in enumerate(pairwise(places)):
            inner, outer = (i, i + 1) if i >= centre else (i + 1, i)
            if self.assumption.narrows:
                width = self.grid.share(b) - self.grid.share(a)
                low = self.assumption.lowest(lows[i], lows[i + 1], width)
                high = -self.assumption.lowest(-highs[i], -highs[i + 1], width)
                low, high = float(self._at_least(low)), float(self._at_most(high))
                above = low >= threshold - ROUNDING or (
                    False if high < threshold - ROUNDING else None
                )
            else:
                low, high = most[outer] - rise, least[inner] + rise
                above = bool(sides[outer] > 0) or (False if sides[inner] < 0 else None)
                if self.assumption.name == ONE_CROSSING:
                    low, high = (
                        threshold * (above is True),
                        1.0 if above is not False else threshold,
                    )
            low = min(max(float(low), 0.0), 1.0)
            reach = Interval(low, max(min(float(high), 1.0), low))
            gaps.append(Gap(a, b, reach, (int(sides[i]), int(sides[i + 1])), above))
        return gaps

    def _all_bounds(self) -> tuple[list[int], Values, Values]:
        places = self.places()
        bounds = [self.bounds(place) for place in places]
        return places, np.array([b.low for b in bounds]), np.array([b.high for b in bounds])

    def _sides(self, threshold: float, places: list[int], lows: Values, highs: Values) -> Values:
        """On which side of the threshold each place lies, by its bounds or by those of others."""
        assumption, centre = self.assumption, places.index(self.grid.centre)
        above = self._at_least(lows - assumption.above) >= threshold - ROUNDING
        below = self._at_most(highs + assumption.below) < threshold - ROUNDING
        if below[centre]:  # it stays nowhere at the threshold: the question is whether it ever is
            below = self._at_most(highs + assumption.rise) < threshold - ROUNDING
        if not assumption.narrows:
            above, below = (
                outwards(above, np.logical_or, centre),
                inwards(below, np.logical_or, centre),
            )
        return above * 1.0 - below * 1.0

    def _at_least(self, lows: Values | float) -> Values:
        """Lower bounds as what a share of so many inputs can be."""
        if self.sampling.fresh or not self.sampling.counts:
            return np.asarray(lows)
        return np.ceil(lows * self.sampling.size - ROUNDING) / self.sampling.size

    def _at_most(self, highs: Values | float) -> Values:
        if self.sampling.fresh or not self.sampling.counts:
            return np.asarray(highs)
        return np.floor(highs * self.sampling.size + ROUNDING) / self.sampling.size

    def stretch(self, threshold: float, side: int) -> tuple[int, int, bool, bool]:
        """On a side of the centre, the place up to which the curve surely stays at the threshold,
        and the one from which on it surely does not; and whether there are such places.
        """
        places, lows, highs = self._all_bounds()
        sides = dict(zip(places, self._sides(threshold, places, lows, highs), strict=True))
        centre, end = self.grid.centre, self.grid.end(side)
        here = [p for p in places if (p - centre) * side >= 0]
        inner = max((p for p in here if sides[p] > 0), key=self.grid.distance, default=None)
        outer = min((p for p in here if sides[p] < 0), key=self.grid.distance, default=None)
        return (
            centre if inner is None else inner, end if outer is None else outer,
            inner is not None, outer is not None,
        )  # fmt: skip

    def meets(self, threshold: float) -> float:
        """The accuracy at which the curve meets the threshold: of inputs that are right or wrong,
        between the last count that is enough and the first that is not.
        """
        if self.sampling.fresh or not self.sampling.counts:
            return threshold
        return (math.ceil(threshold * self.sampling.size - ROUNDING) - 0.5) / self.sampling.size

    def target(self, threshold: float, *, above: bool) -> float:
        """From which accuracy on a level decides about the threshold, or below which."""
        margin = self.assumption.above if above else self.assumption.below
        if self.sampling.fresh or not self.sampling.counts:
            return threshold + (margin if above else -margin)
        size = self.sampling.size
        enough = math.ceil(threshold * size - ROUNDING)
        return (enough - 1) / size + margin + 2 * ROUNDING if above else enough / size - margin

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
        if not level.first:
            return mean_of(self.sketch(place)[1])
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
        self._forget()

    def _forget(self) -> None:
        """Drop what was computed from the levels and the assumption before one of them changed."""
        self._full = [level for level in self.levels.values() if level.full]
        self._begun = sorted(place for place, level in self.levels.items() if level.begun)
        for computed in (
            self._bounds, self._implied, self._beside, self._complete, self._certain,
            self._estimates, self._doubts, self._places,
        ):  # fmt: skip
            computed.clear()

    def fall_back(self, assumption: Assumption, contradiction: Reason) -> None:
        """Assume something else from now on, because the data contradict what was assumed."""
        self.assumption, self.contradiction = assumption, contradiction
        self._forget()

    def contradicted(self) -> tuple[Reason, float] | None:
        """What in the data contradicts the assumption, and the rise that they show."""
        if self.by_input:
            counts = self.sampling.counts
            back = self.assumption.turned_back(self.levels, self.grid, counts=counts)
            if back is not None:
                rise = self._certain_rise(0.0)
                return back, rise.size if rise else 0.0
        if self.assumption.narrows or (rise := self._certain_rise(self.assumption.rise)) is None:
            return None
        if self.assumption.name == ONE_CROSSING and not any(map(self._comes_back, self.thresholds)):
            return None
        level, points = self.grid.level, 100 * rise.size
        return Why.RISES.of(level(rise.start), level(rise.end), points), rise.size

    def _certain_rise(self, allowed: float) -> Rise | None:
        """The largest of the rises of which the bounds exclude that they are no more than that."""
        places, lows, highs = self._all_bounds()
        at = np.array(places) - self.grid.centre
        stronger = (at[:, None] * at >= 0) & (np.abs(at) > np.abs(at)[:, None])
        certain = stronger & (lows - highs[:, None] > allowed + ROUNDING)
        rises = (
            Rise(places[i], places[j], self.estimate(places[j]) - self.estimate(places[i]))
            for i, j in zip(*np.nonzero(certain), strict=True)
        )
        return max(rises, key=lambda rise: rise.size, default=None)

    def _comes_back(self, threshold: float) -> bool:
        """Whether the curve is surely below a threshold, and above it at a stronger level."""
        places, lows, highs = self._all_bounds()
        below = inwards(highs < threshold - ROUNDING, np.logical_or, places.index(self.grid.centre))
        return bool(np.any(below & (lows >= threshold - ROUNDING)))

    def suspected_rise(self) -> Rise | None:
        """The rise that seems most to contradict the assumption, where more inputs may show it."""
        by_place = sorted(p for p, level in self.levels.items() if level.first)
        worst, suspected = SURE, None
        for side in (-1, 1):
            here = [p for p in by_place if (p - self.grid.centre) * side >= 0]
            lowest: int | None = None
            for place in sorted(here, key=self.grid.distance):
                if lowest is not None:
                    size, deviation = self._difference(lowest, place)
                    beyond = (size - self.assumption.rise) / deviation if deviation else 0.0
                    pursued = PURSUED if self._matters(lowest, place) else NOTICED
                    if beyond >= worst and size + PLAUSIBLE * deviation >= pursued:
                        worst, suspected = beyond, Rise(lowest, place, size)
                if lowest is None or self.estimate(place) < self.estimate(lowest):
                    lowest = place
        return suspected

    def _matters(self, start: int, end: int) -> bool:
        """Whether a rise may take the curve across a threshold."""
        low, high = self.estimate(start) - PURSUED, self.estimate(end) + PURSUED
        return any(low < threshold <= high for threshold in self.thresholds)

    def _difference(self, start: int, end: int) -> tuple[float, float]:
        """How much more the curve seems to be at one place than at another, and the standard
        deviation of that; 0 where no more can be learnt.
        """
        before, after = self.levels[start], self.levels[end]
        if self.sampling.fresh:
            deviation = math.hypot(self.doubt(start), self.doubt(end))
            both = before.full and after.full
            return after.estimate - before.estimate, 0.0 if both else deviation
        n = min(before.first, after.first)
        change = after.values[:n] - before.values[:n]
        spread = max(mean_of(change**2), 1 / n) / n * (1 - n / self.sampling.size)
        return mean_of(change), math.sqrt(spread)

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
        here = self._between(place)[step > 0]
        if (here, step) not in self._beside:
            values = np.full(self.sampling.most, np.nan)
            for other in reversed(self._begun[:here]) if step < 0 else self._begun[here:]:
                values = np.where(np.isnan(values), self.levels[other].values, values)
                if self.levels[other].full:
                    break
            self._beside[here, step] = values
        return self._beside[here, step]
