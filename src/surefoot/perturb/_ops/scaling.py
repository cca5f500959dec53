"""Between the bounds of the data and shares of them."""

from __future__ import annotations

import numpy as np

from surefoot.perturb._ops.levels import clip_in_place, copy_rows
from surefoot.results import UNIT, Interval
from surefoot.subject import Array, Level


def to_unit_range(x: Array, bounds: Interval | None) -> Array:
    """Values as shares of the way from the lowest to the highest; `x` itself on [0, 1] or None."""
    if bounds is None or bounds == UNIT:
        return x
    moved = x - bounds.low
    moved /= bounds.width
    return moved


def from_unit_range(y: Array, bounds: Interval | None) -> Array:
    """A fresh array of shares as values within the bounds; changed in place."""
    if bounds is None:
        return y
    if bounds.width != 1:
        y *= bounds.width
    if bounds.low != 0:
        y += bounds.low
    return clip_in_place(y, bounds)


def repeat_rows(y: Array, n: int) -> Array:
    """n rows of a result that is the same for all of them."""
    return y if len(y) == n else copy_rows(y, n)


def as_float32(level: Level) -> Level:
    """A number as float32 holds it, so that one level and a level for each row are the same."""
    return float(np.float32(level)) if isinstance(level, int | float) else level
