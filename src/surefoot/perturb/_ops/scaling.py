"""Values within the bounds of the data, and the same values in [0, 1]."""

from __future__ import annotations

from surefoot.core.results import UNIT, Interval
from surefoot.perturb._ops.arrays import clip_in_place
from surefoot.subject.protocols import Array


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
