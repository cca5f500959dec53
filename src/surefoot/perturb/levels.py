"""What a level may be, and how a perturbed point is kept within its bounds."""

from __future__ import annotations

import math

from array_api_compat import array_namespace

from surefoot.errors import InvalidArgument
from surefoot.results import Interval
from surefoot.subject import Array

ANY_LEVEL = Interval(0.0, math.inf)


def check_level(kind: str, level: float) -> None:
    """Refuse a level that is no strength."""
    if not (math.isfinite(level) and level >= 0):
        raise InvalidArgument(f"{kind}: the level must be a number of at least 0, got {level}")


def within(bounds: Interval | None) -> Interval:
    """Levels for noise on single values: no more than the whole range of values."""
    return ANY_LEVEL if bounds is None else Interval(0.0, bounds.width)


def clipped(x: Array, bounds: Interval | None) -> Array:
    """`x` with every value brought back into the bounds."""
    return x if bounds is None else array_namespace(x).clip(x, bounds.low, bounds.high)


def axes_of(x: Array) -> tuple[int, ...]:
    """All axes but the first."""
    return tuple(range(1, x.ndim))
