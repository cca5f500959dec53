"""Parts of an image that are covered: in which order, how far, and with what."""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import array_namespace, device

from surefoot.core.results import UNIT, Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import clip_in_place
from surefoot.perturb._ops.levels import level_per_row
from surefoot.subject.protocols import Array, Level

_HARD = 1e-9
"""The least half width of a rim, as a share of the area: instead of a division by 0."""


def ranks(field: Array) -> Array:
    """The rank of each number within its row, from 0, as float32; equal ones in their order."""
    xp, n = array_namespace(field), len(field)
    flat = xp.reshape(field, (n, -1))
    size = flat.shape[1]
    order = xp.argsort(flat, axis=1, stable=True)
    order += (xp.arange(n, device=device(field)) * size)[:, None]
    ranked = xp.empty((n * size,), dtype=xp.float32, device=device(field))
    places = xp.arange(size, dtype=xp.float32, device=device(field))
    ranked[xp.reshape(order, (-1,))] = xp.reshape(
        xp.broadcast_to(places[None, :], (n, size)), (-1,)
    )
    return xp.reshape(ranked, field.shape)


def cover_order(field: Array) -> Array:
    """When each pixel is covered, in (0, 1): those of the lowest field first, evenly spaced."""
    order = ranks(field)
    order += 0.5
    order /= math.prod(field.shape[1:])
    return order


def covered_share(order: Array, level: Level, softness: float) -> Array:
    """How far each pixel is covered, from 0 to 1: on average over the image by the share `level`.

    The rim is soft over `softness` (at most 1) times the level, or times 1 - level if that is
    less: so nothing is covered at level 0 and everything at 1.
    """
    xp = array_namespace(order)
    share = level_per_row(level, order)
    if isinstance(share, int | float):
        half: Any = max(softness * min(share, 1 - share), _HARD)
    else:
        half = xp.clip(softness * xp.minimum(share, 1 - share), _HARD, None)
    covered = share - order
    covered /= 2 * half
    covered += 0.5
    return xp.clip(covered, 0.0, 1.0)


def mix(x: Array, covered: Array, other: Any, bounds: Interval | None) -> Array:  # noqa: ANN401  a number or an array
    """x where nothing is covered, `other` where all is, value for value; a mix between."""
    mixed = x * (1 - covered)
    mixed += covered * other
    return clip_in_place(mixed, bounds)


def fill_value(fill: float, bounds: Interval | None) -> float:
    """A value from 0, the lowest, to 1, the highest, in the units of the data."""
    span = bounds or UNIT
    return span.low + fill * span.width


def check_fill(kind: str, fill: float) -> None:
    """Refuse a fill that is not between the lowest and the highest value."""
    if not 0 <= fill <= 1:
        raise InvalidArgument(
            f"{kind}: fill must be in [0, 1], got {fill}: 0 is the lowest value, 0.5 the middle"
        )
