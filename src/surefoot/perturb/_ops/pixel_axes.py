"""Rows and columns of an image counted from its centre, and levels that multiply them."""

from __future__ import annotations

import math

from array_api_compat import array_namespace, device

from surefoot.subject.protocols import Array, Level


def level_array(level: Level, x: Array) -> Array:
    """The level of each row, or the one of all, as an array (n or 1, 1, 1) of the type of x."""
    xp = array_namespace(x)
    if isinstance(level, int | float):
        return xp.full((1, 1, 1), level, dtype=x.dtype, device=device(x))
    return xp.reshape(xp.astype(level, x.dtype), (-1, 1, 1))


def centred_axes(x: Array) -> tuple[Array, Array, float, float]:
    """Rows and columns counted from the centre of an image; and row and column of the centre."""
    xp, (height, width) = array_namespace(x), x.shape[2:]
    middle, centre = (height - 1) / 2, (width - 1) / 2
    down = xp.arange(height, dtype=x.dtype, device=device(x)) - middle
    right = xp.arange(width, dtype=x.dtype, device=device(x)) - centre
    return down[None, :, None], right[None, None, :], middle, centre


def squared_radius(down: Array, right: Array, middle: float, centre: float) -> Array:
    """(1, height, width): the squared distance from the centre; 1 at the corners."""
    return (down * down + right * right) / max(middle * middle + centre * centre, 1.0)


def distance_to_points(places: Array, x: Array) -> tuple[Array, Array]:
    """(n, height, width): how far down and right of its point each pixel is, in pixels.

    `places` (n, 2) are points as shares of height and width; 0 is the upper or left edge.
    """
    xp, (height, width) = array_namespace(x), x.shape[2:]
    row = xp.arange(height, dtype=x.dtype, device=device(x))[None, :, None] + 0.5
    column = xp.arange(width, dtype=x.dtype, device=device(x))[None, None, :] + 0.5
    return row - places[:, 0, None, None] * height, column - places[:, 1, None, None] * width


def diagonal(x: Array) -> float:
    """The length of the diagonal of the images, in pixels."""
    return math.hypot(*x.shape[2:])
