"""What a level may be, and how a perturbed point is kept within its bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from surefoot.errors import InvalidArgument
from surefoot.results import Interval
from surefoot.subject import Array, Level, Perturbation

ANY_LEVEL = Interval(0.0, math.inf)


def check_level(kind: str, level: float | None) -> None:
    """Refuse a level that is no strength; None leaves it open, for methods that choose levels."""
    if level is not None and not (math.isfinite(level) and level >= 0):
        raise InvalidArgument(f"{kind}: the level must be a number of at least 0, got {level}")


def level_of(part: Perturbation) -> float:
    """The level of a perturbation that must have one."""
    if part.level is None:
        raise InvalidArgument(f"{part.kind} needs a level here: give it one")
    return float(part.level)


def within(bounds: Interval | None) -> Interval:
    """Levels for noise on single values: no more than the whole range of values."""
    return ANY_LEVEL if bounds is None else Interval(0.0, bounds.width)


def level_per_row(level: Level, like: Array) -> Any:  # noqa: ANN401
    """The level as it multiplies arrays such as `like`: one number, or one for each row."""
    if isinstance(level, int | float):
        return level
    return array_namespace(level).reshape(level, (-1, *(1 for _ in like.shape[1:])))


def is_zero(level: Level) -> bool:
    """Whether nothing is to be changed at all; a level for each row is never that."""
    return isinstance(level, int | float) and level == 0


def copy_rows(x: Array, n: int) -> Array:
    """n rows of the input as it is; a fresh array."""
    xp = array_namespace(x)
    whole = xp.broadcast_to(x, (n, *x.shape[1:])) if len(x) != n else x
    return xp.asarray(whole, copy=True)


def restore_level_zero(y: Array, x: Array, level: Level) -> Array:
    """`y`, but rows whose level is 0 as they were given, value for value."""
    if isinstance(level, int | float):
        return y
    return array_namespace(y).where(level_per_row(level, y) == 0, x, y)


def clip(x: Array, bounds: Interval | None) -> Array:
    """`x` with every value brought back into the bounds."""
    return x if bounds is None else array_namespace(x).clip(x, bounds.low, bounds.high)


def clip_in_place(x: Array, bounds: Interval | None) -> Array:
    """`x` itself, every value brought back into the bounds; for arrays no one else holds."""
    if bounds is None:
        return x
    if isinstance(x, np.ndarray):
        return np.clip(x, bounds.low, bounds.high, out=x)
    return x.clamp_(bounds.low, bounds.high)


def axes_but_first(x: Array) -> tuple[int, ...]:
    """All axes but the first."""
    return tuple(range(1, x.ndim))


def level_words(level: float) -> str:
    """A level as its user would write it: 8/255 rather than 0.0313725."""
    short = f"{level:.6g}"
    of_255 = level * 255
    if len(short) > 5 and abs(of_255 - round(of_255)) < 1e-9:
        return f"{round(of_255)}/255"
    return short
