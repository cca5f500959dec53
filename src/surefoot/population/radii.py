"""Summaries of critical radii beside the quantile: counts at a radius, means, times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.counts import Counts
from surefoot.core.results import Bracket, Interval
from surefoot.errors import InvalidArgument
from surefoot.population.groups import averages, is_grouped
from surefoot.population.quantile import bracket_ends
from surefoot.statistics.bounds import clopper_pearson
from surefoot.statistics.intervals import lower_end


@dataclass(frozen=True)
class RobustAccuracy:
    """How many of these inputs keep their label within `radius`: proved, refuted, and open.

    `clean` of the refuted ones fail when clean. `severity` is the mean critical radius of the
    refuted inputs (Bastani et al. 2016: adversarial severity), between the mean of their certified
    radii and the mean distance of their counterexamples; None where there is none. Open inputs
    have no part in it.
    """

    radius: float
    proved: int
    refuted: int
    open: int
    severity: Interval | None
    clean: int = 0

    @property
    def inputs(self) -> int:
        """How many there are."""
        return self.proved + self.refuted + self.open

    @property
    def share(self) -> Interval:
        """The robust accuracy of these inputs: open ones count against its low end alone."""
        return Interval(self.proved / self.inputs, (self.proved + self.open) / self.inputs)

    @property
    def frequency(self) -> Interval:
        """The share that can be made to fail (Bastani et al. 2016: adversarial frequency)."""
        return Interval(self.refuted / self.inputs, (self.refuted + self.open) / self.inputs)


@dataclass(frozen=True)
class MeanRadii:
    """The mean certified radius over all `inputs`; the mean distance of `counterexamples`.

    An input for which nothing was proved counts with a certified radius of 0. An input that fails
    when clean is its own counterexample, at distance 0; there are `clean` of them. `distance` is
    None without counterexamples.
    """

    certified: float
    inputs: int
    distance: float | None
    counterexamples: int
    clean: int = 0

    @property
    def between(self) -> Interval:
        """The mean critical radius of these inputs; no upper end unless all are refuted."""
        if self.distance is None or self.counterexamples < self.inputs:
            return Interval(self.certified, math.inf)
        return Interval(self.certified, max(self.certified, self.distance))


@dataclass(frozen=True)
class Runtimes:
    """Seconds of the inputs whose time is known: in all, in the median, of the longest."""

    known: int
    total: float
    median: float
    longest: float


def robust_accuracy(local: Sequence[Bracket], radius: float) -> RobustAccuracy:
    """Count the inputs proved up to `radius`, those with a counterexample within it, the others.

    Where both ends are `radius` the counterexample decides: it lies within the radius.
    """
    if not 0 <= radius < math.inf:
        raise InvalidArgument(f"radius must be a finite number ≥ 0, got {radius:g}")
    lows, highs = bracket_ends(local)
    refuted = highs <= radius
    proved = (lows >= radius) & ~refuted
    count, safe = int(refuted.sum()), int(proved.sum())
    severity = None
    if count:  # in floating point the two means may cross
        low = float(lows[refuted].mean())
        severity = Interval(low, max(low, float(highs[refuted].mean())))
    clean = int(np.count_nonzero(highs == 0))
    return RobustAccuracy(radius, safe, count, len(local) - safe - count, severity, clean)


def robust_share(local: Sequence[Any], radius: float, error: float) -> Interval:
    """The share of the population that withstands every perturbation up to `radius`.

    Inputs are drawn one by one: what is proved is at most Binomial(n, share), what is refuted at
    most Binomial(n, 1 - share), whatever the open ones are. So the lower Clopper-Pearson end of
    the proved and the upper one of the not refuted hold, at half of `error` each. Of groups, a bet
    on the mean of each group's share takes the place of the count.
    """
    if not local:
        return Interval(0.0, 1.0)
    proved = averages(local, lambda b: float(b.low >= radius and b.high > radius))
    refuted = averages(local, lambda b: float(b.high <= radius))
    if is_grouped(local):
        low = lower_end(proved, error / 2)
        return Interval(low, max(low, 1 - lower_end(refuted, error / 2)))
    n = len(local)
    low = clopper_pearson(Counts(n, round(proved.sum())), error).low
    return Interval(low, clopper_pearson(Counts(n, n - round(refuted.sum())), error).high)


def mean_radii(local: Sequence[Bracket]) -> MeanRadii:
    """The mean certified radius and the mean distance of counterexamples, with their counts."""
    if not local:
        raise InvalidArgument("mean radii need at least one bracket, got none")
    lows, highs = bracket_ends(local)
    known = highs[np.isfinite(highs)]
    distance = float(known.mean()) if known.size else None
    clean = int(np.count_nonzero(highs == 0))
    return MeanRadii(float(lows.mean()), len(local), distance, known.size, clean)


def mean_radius(local: Sequence[Any], ceiling: float, error: float) -> Interval:
    """The population's mean critical radius, none counted as more than `ceiling`.

    A mean has an interval only where values are bounded: so a radius beyond the ceiling, and that
    of an input without any counterexample, counts as the ceiling. A bet on the lower ends bounds it
    from below, one on the upper ends from above, at half of `error` each.
    """
    if not 0 < ceiling < math.inf:
        raise InvalidArgument(f"ceiling must be a radius above 0, got {ceiling:g}: try 1")
    if not local:
        return Interval(0.0, ceiling)
    lows = averages(local, lambda b: min(b.low, ceiling) / ceiling)
    highs = averages(local, lambda b: min(b.high, ceiling) / ceiling)
    low = lower_end(lows, error / 2)
    return Interval(ceiling * low, ceiling * max(low, 1 - lower_end(1 - highs, error / 2)))


def runtimes(local: Sequence[Bracket]) -> Runtimes | None:
    """How long these brackets took; None where no time is known."""
    spent = sorted(b.seconds for b in local if b.seconds is not None)
    if not spent:
        return None
    return Runtimes(len(spent), sum(spent), spent[len(spent) // 2], spent[-1])
