"""Images seen through frosted glass."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from surefoot.core.results import Interval
from surefoot.perturb._ops.arrays import clip, place_like
from surefoot.perturb._ops.definition import Choices, Levels, Presets, perturbation
from surefoot.perturb._ops.filters.matrices import gaussian_filter
from surefoot.perturb._ops.levels import Floats, restore_level_zero
from surefoot.perturb._ops.pixel_swaps import gather_pixels, origins_after_swaps, swap_partners
from surefoot.perturb._ops.severity import (
    PRESETS,
    SEVERITIES,
    SIZES,
    Table,
    at_severity_on_host,
    is_small,
)
from surefoot.subject.protocols import Array, Level, Stream, View

# Deviation of the blur, reach of the swaps, rounds of swaps at severities 0 to 5.
_SMALL = ((0, 1, 0), (0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2))
_LARGE = ((0, 1, 0), (0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2))


@perturbation
class GlassBlur:
    """Frosted glass: blur, swaps of neighbouring pixels, blur; the level is the severity.

    Hendrycks & Dietterich 2019, `glass_blur`, in their order: from the last pixel to the first,
    each one swaps with another at most `reach` away, in one or several rounds. These are true
    swaps (the published code copies one pixel over the other). Between two severities a share of
    the pixels swaps, or reaches further; a pixel that does at one level does at every higher one.
    Values are not rounded to 256 levels between the steps.
    """

    level: float | None = None
    size: str = ""
    kind: ClassVar[str] = "glass"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = SEVERITIES
    choices: ClassVar[Choices] = SIZES
    phrase: ClassVar[str] = "glass blur of severity {level} of 5"
    presets: ClassVar[Presets] = PRESETS

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """For each pixel: a number for whether it swaps, then one for its partner in each round."""
        rounds = max(row[2] for row in self._table(*shape[-2:]))
        return stream.uniform((n, 1 + int(rounds), *shape[-2:]))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Blur, swap, blur."""
        one = isinstance(level, int | float)
        deviations, reaches, rounds = at_severity_on_host(level, self._table(*x.shape[-2:]))
        wide = float(deviations[0]) if one else place_like(deviations, x)
        count, reach = math.ceil(rounds.max()), math.ceil(reaches.max())
        shares = np.clip(rounds[:, None] - np.arange(count), 0, 1)
        goals = swap_partners(
            drawn[:, 1 : count + 1],
            drawn[:, :1],
            _number_or_rows(shares, x, one),
            _number_or_rows(reaches, x, one),
        )
        y = gather_pixels(gaussian_filter(x, wide), origins_after_swaps(goals, reach))
        return restore_level_zero(clip(gaussian_filter(y, wide), bounds), x, level)

    def _table(self, height: int, width: int) -> Table:
        return _SMALL if is_small(self.size, (height, width)) else _LARGE


def _number_or_rows(values: Floats, like: Array, one: bool) -> Any:  # noqa: ANN401  a number, or one for each row
    """One number where all are equal, else an array (rows, rounds or 1, 1, 1)."""
    if one and (values == values.flat[0]).all():
        return float(values.flat[0])
    shaped = np.reshape(values, (len(values), -1, 1, 1)).astype(np.float32)
    return place_like(shaped, like)
