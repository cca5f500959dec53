"""The levels of a curve: a fixed grid, and what is known of the accuracy at each of them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts, Floats
from surefoot.core.procedure import Ask
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.statistics.bounds import clopper_pearson, divergence

Values = NDArray[np.float64]

ROUNDING = 1e-9
"""0.8 + 0.01 is more than 0.81 in binary; much less than one input counts."""
LATTICE = 20
"""Levels, evenly apart, of which one lies in every twentieth of the range."""
LEAST_CELLS = 128
"""Of a grid: the levels of the lattice are some cells apart."""
FIRST_LOOK = 44
"""Inputs, or draws, of the first look at a level, at most."""
NOTICED, POWER = 0.1, 0.9
"""If such a share of all inputs comes back at a level, two or more of the first look do with this
probability: that is when more are looked at."""
GROWTH = 1.6
"""Each further look has so many times the inputs: a level costs at most 1.6 times what it needs."""
MOST_DRAWS = 2**15
"""Draws at one level: with these an accuracy near 80 % is known to ± 0.009."""
MOST_NOISY_LEVELS = 64
"""Levels looked at where the perturbation draws; each has the same share of the error."""
REACH = 4.5
"""Standard deviations, about, between an estimate and its bounds: the error is shared by many."""
TRIALS_APART = 2**20
"""Between the first trials of neighbouring levels, so that no two levels share a draw."""


@dataclass(frozen=True)
class Grid:
    """Places 0 to `cells` on the range; the clean input is at one of them, or beyond an end.

    `centre` is the place of the clean input, or of the end that is next to it: stronger
    perturbations lie outwards from there.
    """

    low: float
    high: float
    cells: int
    centre: int
    clean: float

    @classmethod
    def over(cls, low: float, high: float, resolution: float, clean: float) -> Grid:
        """The coarsest grid of a power of two whose cells are not wider than the resolution."""
        cells = max(2 ** math.ceil(math.log2(1 / resolution)), LEAST_CELLS)
        at = (min(max(clean, low), high) - low) / (high - low) * cells
        centre = round(at)
        if centre in (0, cells) and at != centre:
            centre += 1 if at > centre else -1  # beside an end of the range, not in its place
        return cls(low, high, cells, centre, clean)

    def level(self, place: int) -> float:
        """The level at a place; exactly the clean one at the centre, if that is in the range."""
        if place == self.centre:
            return min(max(self.clean, self.low), self.high)
        if place == self.cells:
            return self.high
        return self.low + (self.high - self.low) * (place / self.cells)

    def share(self, place: int) -> float:
        """The place as a share of the range."""
        return (self.level(place) - self.low) / (self.high - self.low)

    def lattice(self, shift: float) -> frozenset[int]:
        """Places evenly apart, shifted by a share of that distance; the ends and the centre."""
        even = (math.floor((i + shift) / LATTICE * self.cells) for i in range(LATTICE))
        return frozenset({0, self.cells, self.centre, *even})

    def end(self, side: int) -> int:
        """The last place on a side of the centre: -1 for weaker levels, 1 for stronger ones."""
        return self.cells if side > 0 else 0

    def distance(self, place: int) -> int:
        """From the clean input, in cells."""
        return abs(place - self.centre)

    def same_side(self, a: int, b: int) -> bool:
        """Whether no clean input lies strictly between."""
        return (a - self.centre) * (b - self.centre) >= 0


@dataclass(frozen=True)
class Sampling:
    """How the trials at a level tell its accuracy, but for a probability of `error` in all.

    Trials are the inputs in one random order, or (`fresh`) independent draws of input and noise.
    `counts`: every trial is right or wrong; else it is worth something between 0 and 1.
    """

    size: int
    error: float
    sampled: frozenset[int]
    fresh: bool = False
    counts: bool = True

    @cached_property
    def most(self) -> int:
        """Trials at a level, at most."""
        return MOST_DRAWS if self.fresh else self.size

    @cached_property
    def looks(self) -> tuple[int, ...]:
        """After how many trials bounds are computed; all of them are the last."""
        first = FIRST_LOOK if self.fresh else first_look(self.size)
        count = math.ceil(math.log(max(self.most / first, 1)) / math.log(GROWTH))
        sizes = [math.ceil(first * GROWTH**i) for i in range(count)]
        return (*(n for n in sizes if n < 0.8 * self.most), self.most)

    def bounds(self, place: int, values: Values, reference: Values | None) -> Interval:
        """Bounds of the accuracy at a place from its first trials, after one of the looks.

        `reference` is what all inputs came to at the clean level: those that were right there and
        those that were wrong are two strata.
        """
        n, total = len(values), float(values.sum())
        if not self.fresh and n == self.size:
            return Interval(total / n, total / n)
        if not n or not (self.fresh or place in self.sampled):
            return Interval(0.0, 1.0)
        levels = MOST_NOISY_LEVELS if self.fresh else len(self.sampled)
        error = self.error / levels / len(self.looks)
        if not self.counts:
            return mean_bounds(total / n, n, error)
        if self.fresh or reference is None:
            return clopper_pearson(Counts(n, round(total)), error)
        return _stratified(values, reference, error)


@dataclass
class Level:
    """What is known at one place: the value of each trial (NaN if not run), and bounds.

    Of fresh draws there are values up to the last one that was run: the curves of 1,000 classes
    begin many levels at once, and few of these need all draws.
    """

    place: int
    level: float
    sampling: Sampling
    values: Values = field(init=False)
    first: int = 0
    begun: bool = False
    """Whether any trial was run."""
    _certain: Interval | None = None

    def __post_init__(self) -> None:
        self.values = np.full(0 if self.sampling.fresh else self.sampling.most, np.nan)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which trials were run."""
        return ~np.isnan(self.values)

    @property
    def full(self) -> bool:
        """Whether no more can be learnt here."""
        return self.first == self.sampling.most

    @property
    def certain(self) -> Interval:
        """The accuracy at the least and at the most, whatever the inputs not evaluated come to."""
        if self.sampling.fresh or not self.begun:
            return Interval(0.0, 1.0)
        if self._certain is None:
            known, size = self.known, self.sampling.size
            missing, total = np.count_nonzero(~known), float(self.values[known].sum())
            self._certain = Interval(total / size, (total + missing) / size)
        return self._certain

    @property
    def trials(self) -> int:
        """How many were run."""
        return int(np.count_nonzero(self.known))

    @property
    def next_look(self) -> int:
        """Trials at the next look."""
        return next((n for n in self.sampling.looks if n > self.first), self.sampling.most)

    def asks(self, wanted: NDArray[np.bool_]) -> list[Ask]:
        """Ask for those of the trials that were not run, run by run."""
        not_run = wanted.copy()
        not_run[: len(self.values)] &= np.isnan(self.values)
        missing = np.flatnonzero(not_run)
        if not len(missing):
            return []
        offset = self.place * TRIALS_APART if self.sampling.fresh else 0
        runs = np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1)
        return [Ask(self.level, len(run), offset + int(run[0])) for run in runs]

    def put(self, start: int, values: Floats) -> None:
        """Keep what trials from `start` on came to, up to the last look that is complete."""
        start -= self.place * TRIALS_APART if self.sampling.fresh else 0
        if (more := start + len(values) - len(self.values)) > 0:
            self.values = np.append(self.values, np.full(more, np.nan))
        self.values[start : start + len(values)] = values
        self.begun = self.begun or len(values) > 0
        self._certain = None
        unknown = np.flatnonzero(np.isnan(self.values))
        run = int(unknown[0]) if len(unknown) else len(self.values)
        self.first = max((look for look in self.sampling.looks if look <= run), default=0)

    @property
    def estimate(self) -> float:
        """The mean of the trials that were run in order."""
        return mean_of(self.values[: self.first]) if self.first else math.nan


@lru_cache(maxsize=1024)
def first_look(size: int) -> int:
    """Of so many inputs, the fewest that show two of the tenth that comes back, as `POWER` says."""
    from scipy.stats import hypergeom

    back = math.ceil(NOTICED * size)
    n = np.arange(1, min(FIRST_LOOK, size) + 1)
    enough = hypergeom.sf(1, size, back, n) >= POWER
    return int(n[enough.argmax()] if enough.any() else n[-1])


def mean_of(values: Values) -> float:
    """Their mean, as `values.mean()` computes it, in a third of its time where they are few."""
    return float(np.add.reduce(values)) / len(values)


def _stratified(values: Values, reference: Values, error: float) -> Interval:
    """Bounds of the share that is right among all, by strata that are right or wrong elsewhere."""
    low = high = 0
    for outcome in (0.0, 1.0):
        inside = reference[: len(values)] == outcome
        size, n = int(np.count_nonzero(reference == outcome)), int(np.count_nonzero(inside))
        right = round(float(values[inside].sum()))
        low += _fewest(n, right, size, error / 4)
        high += size - _fewest(n, n - right, size, error / 4)
    return Interval(low / len(reference), high / len(reference))


@lru_cache(maxsize=65_536)
def _fewest(n: int, right: int, size: int, error: float) -> int:
    """The smallest number of `size` with which `right` or more of n have a chance above error."""
    from scipy.stats import hypergeom

    def has_a_chance(number: int) -> bool:
        return bool(hypergeom.sf(right - 1, size, number, n) * (1 + 1e-9) > error)

    most = size - (n - right) if right else right
    return right + bisect_left(range(right, most), True, key=has_a_chance)


@lru_cache(maxsize=65_536)
def mean_bounds(mean: float, n: int, error: float) -> Interval:
    """Hoeffding's bound in its Kullback-Leibler form, with and without replacement."""
    reach = math.log(2 / error) / n
    ends = []
    for end in (0.0, 1.0):
        outside, inside = end, min(max(mean, 0.0), 1.0)
        for _ in range(60):
            middle = (outside + inside) / 2
            outside, inside = (
                (middle, inside) if divergence(mean, middle) > reach else (outside, middle)
            )
        ends.append(outside)
    return Interval(ends[0], ends[1])


def check_span(low: float, high: float) -> None:
    """Refuse a range that is none."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidArgument(
            f"a range of levels goes from a lower to a higher number, got {low:g} to {high:g}: "
            "write 0..2"
        )


def check_thresholds(thresholds: Sequence[float]) -> None:
    """Refuse thresholds that every curve, or none, stays above."""
    if not thresholds:
        raise InvalidArgument(
            "a curve needs a threshold: give one; 0.8 gives the levels at which 80 % are still "
            "right"
        )
    for value in thresholds:
        if not 0 < value < 1:
            raise InvalidArgument(
                f"a threshold is a share above 0 and below 1, got {value:g}: write 0.8 for 80 %"
            )
    if len(set(thresholds)) < len(thresholds):
        raise InvalidArgument(
            f"the thresholds {list(thresholds)} name one of them twice: give each of them once"
        )


def check_size(size: int) -> None:
    """Refuse to run on no inputs."""
    if size < 1:
        raise InvalidArgument(
            f"a curve needs to know how many inputs there are, got {size}: give size"
        )
