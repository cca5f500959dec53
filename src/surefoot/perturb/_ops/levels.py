"""The level of a perturbation: one number, or one for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.subject.protocols import Array, Level, Perturbation, to_host

Floats = NDArray[np.float64]


def level_of(part: Perturbation) -> float:
    """The level of a perturbation that must have one."""
    if part.level is None:
        raise InvalidArgument(f"{part.kind} needs a level here: give it one")
    return float(part.level)


def is_zero(level: Level) -> bool:
    """Whether the level is the number 0; an array of levels never is."""
    return isinstance(level, int | float) and level == 0


def level_per_row(level: Level, like: Array) -> Any:  # noqa: ANN401  a number, or one for each row
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
