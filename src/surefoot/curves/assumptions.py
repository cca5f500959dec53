"""What a curve is taken to do between the levels that were evaluated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import CurveShape
from surefoot.core.reasons import Reason, Why
from surefoot.curves import published
from surefoot.curves.levels import ROUNDING, Grid, Level, Values
from surefoot.errors import InvalidArgument

RISE, ONE_CROSSING, MONOTONE, CURVATURE = "bounded-rise", "one-crossing", "monotone", "curvature"
DEFAULT_CURVATURE = 128.0
"""The coefficient with which the authors of ASAP computed."""
LEAST_RISE, INPUTS_OF_A_RISE = 0.005, 2
"""The rise that is assumed where none is given: half a point, or two inputs where that is more."""
DOUBLED = 2.0
"""A rise that the data show, times this, is assumed after a contradiction: the largest rise that a
few levels show is nearly always less than the largest there is."""

KEPT = 0.5
"""Of the rise, below the threshold: on real networks single inputs come and go at a crossing."""


@dataclass(frozen=True)
class Assumption:
    """One of four, by name; `size` is the rise (0: as many inputs settle it) or the curvature.

    `contradicted`: the rise is so large because the data contradict a smaller one.
    """

    name: str = RISE
    size: float = 0.0
    contradicted: bool = False

    @classmethod
    def parse(cls, text: str) -> Assumption:
        """bounded-rise or bounded-rise:0.02, one-crossing, monotone, curvature:128."""
        name, colon, number = text.partition(":")
        if name not in (RISE, ONE_CROSSING, MONOTONE, CURVATURE):
            raise InvalidArgument(
                f"there is no assumption {text!r}: choose bounded-rise, one-crossing, monotone or "
                "curvature:128"
            )
        takes = name in (RISE, CURVATURE)
        if colon and not takes:
            raise InvalidArgument(
                f"the assumption {name} takes no number, got {text!r}: write {name}"
            )
        if not colon:
            return cls(name, DEFAULT_CURVATURE if name == CURVATURE else 0.0)
        try:
            size = float(number)
        except ValueError:
            size = math.nan
        if not 0 < size < (1 if name == RISE else math.inf):
            most, example = ("between 0 and 1", 0.01) if name == RISE else ("above 0", 128)
            raise InvalidArgument(f"{text!r} needs a number {most}: write {name}:{example:g}")
        return cls(name, size)

    def of_inputs(self, inputs: int) -> Assumption:
        """With the rise that so many inputs settle, where none was given."""
        if self.name != RISE or self.size:
            return self
        return replace(self, size=min(max(LEAST_RISE, INPUTS_OF_A_RISE / inputs), 1.0))

    def after(self, rise: float, inputs: int) -> Assumption:
        """What is assumed instead where the data show such a rise, or contradict another one."""
        usual = Assumption().of_inputs(inputs)
        rise = min(DOUBLED * rise, 1.0)
        return Assumption(RISE, max(rise, usual.size), contradicted=rise > usual.size)

    @property
    def per_input(self) -> bool:
        """Whether it says of each input that it stays wrong once it is wrong."""
        return self.name == MONOTONE

    @property
    def narrows(self) -> bool:
        """Whether it bounds the curve only between close levels, and more closely there."""
        return self.name == CURVATURE

    @property
    def rise(self) -> float:
        """By how much the curve may come back at stronger levels; nothing where it may not."""
        return self.size if self.name == RISE else 0.0

    @property
    def stays(self) -> bool:
        """Whether what is read off is up to where the curve stays at the threshold, and not on
        which share of all levels it is there.
        """
        return not (self.narrows or self.contradicted)

    @property
    def above(self) -> float:
        """How far above the threshold a level must lie for all weaker ones to be at it or above."""
        return self.rise

    @property
    def below(self) -> float:
        """How far below the threshold a level must lie.

        Up to which level the curve *stays* at the threshold is at most any level below it. Half of
        the rise is kept, so that a curve that comes back a little is seldom cut off; once the data
        show that it comes back by more, all stronger levels are to be below the threshold.
        """
        return self.rise if self.contradicted else KEPT * self.rise

    def lowest(self, first: float, last: float, width: float) -> float:
        """The lowest value between two levels, `width` (a share of the range) apart."""
        return published.lowest(first, last, self.size * width**2)

    def turned_back(
        self, levels: Mapping[int, Level], grid: Grid, *, counts: bool = True
    ) -> Reason | None:
        """How many inputs do better at a stronger level than at a weaker one, if any do.

        `counts`: an input is right or wrong; else it has a confidence.
        """
        for side in (-1, 1):
            here = (p for p in levels if (p - grid.centre) * side >= 0)
            worst: Values | float = math.inf
            for place in sorted(here, key=grid.distance):
                values = levels[place].values
                if back := int(np.count_nonzero(values > worst + ROUNDING)):
                    why = Why.INPUTS_COME_BACK if counts else Why.CONFIDENCE_COMES_BACK
                    return why.of(levels[place].level, back)
                worst = np.fmin(worst, values)
        return None

    def stated(self, what: str) -> CurveShape:
        """As a condition."""
        return CurveShape(self.name, what, self.size, self.contradicted)


def outwards(values: NDArray[Any], combine: np.ufunc, centre: int) -> NDArray[Any]:
    """Combined from each level outwards to the end of the range, on both sides of the centre."""
    left, right = combine.accumulate(values[:centre]), combine.accumulate(values[centre:][::-1])
    both = np.concatenate([left, right[::-1]])
    if centre:
        both[centre] = combine(both[centre], both[centre - 1])
    return both


def inwards(values: NDArray[Any], combine: np.ufunc, centre: int) -> NDArray[Any]:
    """Combined from each level inwards to the centre."""
    left = combine.accumulate(values[: centre + 1][::-1])[::-1]
    return np.concatenate([left[:-1], combine.accumulate(values[centre:])])
