"""What a curve is taken to do between the levels that were evaluated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import CurveShape
from surefoot.core.reasons import Reason, Why
from surefoot.curves import published
from surefoot.curves.levels import FINE, ROUNDING, Grid, Level, Values, mean_of
from surefoot.errors import InvalidArgument

WIGGLE, ONE_CROSSING, MONOTONE, CURVATURE = "wiggle", "one-crossing", "monotone", "curvature"
DEFAULT_SIZES = {WIGGLE: 0.01, CURVATURE: 128.0}
"""A point of accuracy; and the coefficient with which the authors of ASAP computed."""
COARSE = 4
"""Cells of the scan where it only looks for contradictions."""
NOISE_DEVIATIONS = 3.0
"""Standard deviations of fresh draws that are not taken for a wiggle of the curve."""


@dataclass(frozen=True)
class Assumption:
    """One of four, by name; `size` is the wiggle or the curvature."""

    name: str = WIGGLE
    size: float = DEFAULT_SIZES[WIGGLE]

    @classmethod
    def parse(cls, text: str) -> Assumption:
        """wiggle:0.01, one-crossing, monotone or curvature:128."""
        name, colon, number = text.partition(":")
        if name not in (WIGGLE, ONE_CROSSING, MONOTONE, CURVATURE):
            raise InvalidArgument(
                f"there is no assumption {text!r}: choose wiggle:0.01, one-crossing, monotone or "
                "curvature:128"
            )
        default = DEFAULT_SIZES.get(name)
        if default is None and colon:
            raise InvalidArgument(
                f"the assumption {name} takes no number, got {text!r}: write {name}"
            )
        try:
            size = float(number) if colon else default or 0.0
        except ValueError:
            size = math.nan
        if default is not None and not 0 < size < (1 if name == WIGGLE else math.inf):
            most = "between 0 and 1" if name == WIGGLE else "above 0"
            raise InvalidArgument(f"{text!r} needs a number {most}: write {name}:{default:g}")
        return cls(name, size)

    @property
    def cells(self) -> int:
        """Cells of the scan; levels half-way are looked at as a check."""
        return FINE if self.name == WIGGLE else COARSE

    @property
    def per_input(self) -> bool:
        """Whether it says of each input that it stays wrong once it is wrong."""
        return self.name == MONOTONE

    @property
    def reaches(self) -> bool:
        """Whether it says something of levels however far apart."""
        return self.name != WIGGLE

    @property
    def narrows(self) -> bool:
        """Whether it bounds the curve more closely between closer levels."""
        return self.name == CURVATURE

    def margin(self, width: float) -> float:
        """How far beyond the threshold two equal ends must lie to decide what is between them."""
        if self.narrows:
            return self.size * width**2 / 4
        return self.size if self.name == WIGGLE else 0.0

    def lowest(self, first: float, last: float, width: float, margin: float) -> float:
        """The lowest value between two levels, `width` (a share of the range) apart."""
        if self.name == WIGGLE:
            return min(first, last) - margin
        return published.lowest(first, last, self.size * width**2 if self.narrows else 0.0)

    def tighten(
        self, lows: Values, highs: Values, centre: int, threshold: float
    ) -> tuple[Values, Values]:
        """Bounds at all levels, from the bounds at all of them; `centre` is the clean one."""
        if self.name == MONOTONE:
            return _outwards(lows, np.maximum, centre), _inwards(highs, np.minimum, centre)
        if self.name == ONE_CROSSING:
            above = _outwards(lows >= threshold, np.logical_or, centre)
            below = _inwards(highs < threshold, np.logical_or, centre)
            lows = np.where(above, np.maximum(lows, threshold), lows)
            highs = np.where(below, np.minimum(highs, np.nextafter(threshold, 0)), highs)
        return lows, highs

    def raised(self, levels: Sequence[Level], centre: int) -> dict[int, float]:
        """How far levels of the scan lie outside the values of their two neighbours, by place.

        Next to such a level a curve may wiggle as much. The clean level is where it may turn.
        """
        raised: dict[int, float] = {}
        for a, m, b in zip(levels, levels[1:], levels[2:], strict=False):
            n = min(a.first, m.first, b.first)
            before, here, after = (mean_of(level.values[:n]) for level in (a, m, b))
            beyond = max(min(before, after) - here, here - max(before, after))
            if m.sampling.fresh:  # other draws at every level: what these alone may make
                beyond -= NOISE_DEVIATIONS * math.sqrt(max(here * (1 - here), 1 / n) * 2 / n)
            if self.name == WIGGLE and m.place != centre and beyond > self.size + ROUNDING:
                raised[m.place] = beyond
        return raised

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

    def stated(self, what: str, raised: float) -> CurveShape:
        """As a condition. `raised`: the most that the data show beyond the size, 0 for nothing."""
        return CurveShape(self.name, what, self.size, self.cells, raised)


def _outwards(values: NDArray[Any], combine: np.ufunc, centre: int) -> NDArray[Any]:
    """Combined from each level outwards to the end of the range, on both sides of the centre."""
    left, right = combine.accumulate(values[:centre]), combine.accumulate(values[centre:][::-1])
    both = np.concatenate([left, right[::-1]])
    if centre:
        both[centre] = combine(both[centre], both[centre - 1])
    return both


def _inwards(values: NDArray[Any], combine: np.ufunc, centre: int) -> NDArray[Any]:
    """Combined from each level inwards to the centre."""
    left = combine.accumulate(values[: centre + 1][::-1])[::-1]
    return np.concatenate([left[:-1], combine.accumulate(values[centre:])])
