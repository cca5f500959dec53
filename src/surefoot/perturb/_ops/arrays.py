"""Arrays of either namespace: moved, copied, clipped, scaled; and the level of each row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.core.results import UNIT, Interval
from surefoot.errors import InvalidArgument
from surefoot.subject.protocols import Array, HostArray, Level, Perturbation, to_host


def place_like(array: HostArray, like: Array) -> Array:
    """A NumPy array in the namespace and on the device of `like`."""
    if isinstance(like, np.ndarray):
        return array
    return array_namespace(like).asarray(array, device=device(like))


def copy_rows(x: Array, n: int) -> Array:
    """A fresh copy of the n rows, or n copies of the only one."""
    xp = array_namespace(x)
    rows = xp.broadcast_to(x, (n, *x.shape[1:])) if len(x) != n else x
    return xp.asarray(rows, copy=True)


def clip(x: Array, bounds: Interval | None) -> Array:
    """`x` with every value brought back into the bounds; `x` itself without bounds."""
    return x if bounds is None else array_namespace(x).clip(x, bounds.low, bounds.high)


def clip_in_place(x: Array, bounds: Interval | None) -> Array:
    """`x` itself, every value brought back into the bounds; for arrays that nobody else holds."""
    if bounds is None:
        return x
    if isinstance(x, np.ndarray):
        return np.clip(x, bounds.low, bounds.high, out=x)
    return x.clamp_(bounds.low, bounds.high)


Floats = NDArray[np.float64]
PerRow = Level
"""A number, or an array with one for each row, shaped to multiply arrays of rows."""


def at_level(part: Perturbation, level: float) -> Perturbation:
    """The same perturbation at this level."""
    changed: Perturbation = replace(part, level=level)  # type: ignore[type-var]
    return changed


def level_of(part: Perturbation) -> float:
    """The level of a perturbation that must have one."""
    if part.level is None:
        raise InvalidArgument(f"{part.kind} needs a level here: give it one")
    return float(part.level)


def level_per_row(level: Level, like: Array) -> PerRow:
    """The level as it multiplies arrays such as `like`: one number, or one for each row."""
    if isinstance(level, int | float):
        return level
    return array_namespace(level).reshape(level, (-1, *(1 for _ in like.shape[1:])))


def levels_on_host(level: Level) -> Floats:
    """One level, or one for each row, as a NumPy array of float64."""
    if isinstance(level, int | float):
        return np.asarray([level], dtype=np.float64)
    return to_host(level).astype(np.float64)


def as_float32(level: Level) -> Level:
    """A number as float32 holds it, so that one level and a level for each row are the same."""
    return float(np.float32(level)) if isinstance(level, int | float) else level


def restore_level_zero(y: Array, x: Array, level: Level) -> Array:
    """`y`, but rows whose level is 0 are the input, value for value."""
    if isinstance(level, int | float):
        return y
    return array_namespace(y).where(level_per_row(level, y) == 0, x, y)


def to_unit_range(x: Array, bounds: Interval | None) -> Array:
    """The lowest value as 0, the highest as 1; `x` itself for the bounds [0, 1] and for none."""
    if bounds is None or bounds == UNIT:
        return x
    unit = x - bounds.low
    unit /= bounds.width
    return unit


def from_unit_range(y: Array, bounds: Interval | None) -> Array:
    """`y` itself, scaled from [0, 1] to the bounds and clipped; for arrays nobody else holds."""
    if bounds is None:
        return y
    if bounds.width != 1:
        y *= bounds.width
    if bounds.low != 0:
        y += bounds.low
    return clip_in_place(y, bounds)
