"""Summaries of critical radii of these inputs, beside the quantile: counts and means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.population.quantile import bracket_ends
from surefoot.results import Bracket


@dataclass(frozen=True)
class RobustAccuracy:
    """How many of these inputs keep their label within `radius`: proved, refuted, and open.

    `severity` is the mean distance of the counterexamples of the refuted ones (Bastani et al. 2016:
    adversarial severity), None where there is none.
    """

    radius: float
    proved: int
    refuted: int
    open: int
    severity: float | None

    @property
    def inputs(self) -> int:
        """How many there are."""
        return self.proved + self.refuted + self.open


@dataclass(frozen=True)
class MeanRadii:
    """The mean certified radius over all `inputs`; the mean distance of `counterexamples`.

    An input for which nothing was proved counts with a certified radius of 0. A misclassified
    input is its own counterexample, at distance 0. `distance` is None without counterexamples.
    """

    certified: float
    inputs: int
    distance: float | None
    counterexamples: int


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
    severity = float(highs[refuted].mean()) if count else None
    return RobustAccuracy(radius, safe, count, len(local) - safe - count, severity)


def mean_radii(local: Sequence[Bracket]) -> MeanRadii:
    """The mean certified radius and the mean distance of counterexamples, with their counts."""
    if not local:
        raise InvalidArgument("mean radii need at least one bracket, got none")
    lows, highs = bracket_ends(local)
    known = highs[np.isfinite(highs)]
    distance = float(known.mean()) if known.size else None
    return MeanRadii(float(lows.mean()), len(local), distance, known.size)
