"""The pixels of an image: where they are, their colour, and how far they are covered."""

from __future__ import annotations

import math

from array_api_compat import array_namespace, device

from surefoot.core.results import UNIT, Interval
from surefoot.perturb._ops.arrays import PerRow, clip_in_place, level_per_row
from surefoot.subject.protocols import Array, Level


def level_array(level: Level, x: Array) -> Array:
    """The level of each row, or the one of all, as an array (n or 1, 1, 1) of the type of x."""
    xp = array_namespace(x)
    if isinstance(level, int | float):
        return xp.full((1, 1, 1), level, dtype=x.dtype, device=device(x))
    return xp.reshape(xp.astype(level, x.dtype), (-1, 1, 1))


def pixel_axes(x: Array) -> tuple[Array, Array]:
    """Rows (1, height, 1) and columns (1, 1, width) of the pixels."""
    xp = array_namespace(x)
    rows, columns = (xp.arange(n, dtype=x.dtype, device=device(x)) for n in x.shape[2:])
    return rows[None, :, None], columns[None, None, :]


def centred_axes(x: Array) -> tuple[Array, Array, float, float]:
    """Rows and columns counted from the centre of an image; and row and column of the centre."""
    rows, columns = pixel_axes(x)
    middle, centre = (x.shape[2] - 1) / 2, (x.shape[3] - 1) / 2
    return rows - middle, columns - centre, middle, centre


def squared_radius(down: Array, right: Array, middle: float, centre: float) -> Array:
    """(1, height, width): the squared distance from the centre; 1 at the corners."""
    return (down * down + right * right) / max(middle * middle + centre * centre, 1.0)


def distance_to_points(places: Array, x: Array) -> tuple[Array, Array]:
    """(n, height, width): how far down and right of its point each pixel is, in pixels.

    `places` (n, 2) are points as shares of height and width; 0 is the upper or left edge.
    """
    (height, width), (rows, columns) = x.shape[2:], pixel_axes(x)
    down = rows + 0.5 - places[:, 0, None, None] * height
    return down, columns + 0.5 - places[:, 1, None, None] * width


def diagonal(x: Array) -> float:
    """The length of the diagonal of the images, in pixels."""
    return math.hypot(*x.shape[2:])


_TINY = 1e-30
"""The chroma of grey pixels in a division, instead of 0."""
_GREY_WEIGHTS = (0.299, 0.587, 0.114)
"""Red, green and blue in the grey of ITU-R BT.601."""


def change_saturation(x: Array, gain: PerRow, offset: PerRow, low: float) -> Array:
    """The image with saturation S · gain + offset, within [0, 1]; hue and value stay. Not clipped.

    With V the largest channel, a channel is V - V · S · f, where f depends on the hue alone: so
    its distance from V grows by the factor S' / S. Where S is 0, hue is 0, which is red.
    """
    xp = array_namespace(x)
    top = xp.max(x, axis=1, keepdims=True)
    chroma = top - xp.min(x, axis=1, keepdims=True)
    value = top - low if low else top
    grey = xp.astype(chroma <= 0, x.dtype)  # a factor: NumPy is faster with it than with a mask
    chroma += grey
    most = value / chroma
    factor = xp.maximum(xp.minimum(gain + offset * most, most), grey)
    vivid = x * factor
    vivid += top * (1 - factor)
    if not (isinstance(offset, float) and offset == 0):
        vivid[:, 1:, ...] -= grey * value * offset
    return vivid


def rotate_hue(x: Array, degrees: PerRow) -> Array:
    """The image with its hue rotated by these degrees; saturation and value stay. Not clipped.

    Hue is counted in sixths of the circle: 0 is red, 2 green, 4 blue.
    """
    xp = array_namespace(x)
    red, green, blue = x[:, 0, ...], x[:, 1, ...], x[:, 2, ...]
    top = xp.maximum(xp.maximum(red, green), blue)
    low = xp.minimum(xp.minimum(red, green), blue)
    chroma = top - low
    is_red, is_green = top == red, top == green
    hue = xp.where(is_red, green - blue, xp.where(is_green, blue - red, red - green))
    hue /= xp.clip(chroma, _TINY, None)
    four = xp.full((1, 1, 1), 4.0, dtype=xp.float32, device=x.device)
    hue += xp.where(is_red, 0.0, xp.where(is_green, 2.0, four))
    hue = hue + degrees / 60
    hue -= 6 * xp.floor(hue * (1 / 6))
    return xp.stack([_channel(hue, low, chroma, third) for third in range(3)], axis=1)


def _channel(hue: Array, low: Array, chroma: Array, third: int) -> Array:
    """Red (0), green (1) or blue (2): full within a sixth of its hue, none beyond a third."""
    xp = array_namespace(hue)
    away = xp.abs(hue - (3 if third == 0 else 2 * third))
    share = xp.clip(away - 1 if third == 0 else 2 - away, 0.0, 1.0)
    share *= chroma
    share += low
    return share


def luminance(x: Array) -> Array:
    """The grey of an image (n, 1, height, width)."""
    if x.shape[1] == 1:
        return x
    red, green, blue = _GREY_WEIGHTS
    return red * x[:, 0:1] + green * x[:, 1:2] + blue * x[:, 2:3]


def colour_for(colour: tuple[float, float, float], channels: int) -> tuple[float, ...]:
    """The colour, or its grey where images have one channel."""
    if channels > 1:
        return colour
    (red, green, blue), (r, g, b) = _GREY_WEIGHTS, colour
    return (red * r + green * g + blue * b,)


def colour_like(colour: tuple[float, float, float], like: Array) -> Array:
    """A colour as it adds to images such as `like`: (1, channels, 1, 1), its grey where grey."""
    xp = array_namespace(like)
    shades = colour_for(colour, like.shape[1])
    return xp.asarray(shades, dtype=xp.float32, device=like.device)[None, :, None, None]


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
    each = xp.broadcast_to(places[None, :], (n, size))
    ranked[xp.reshape(order, (-1,))] = xp.reshape(each, (-1,))
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
        half: PerRow = max(softness * min(share, 1 - share), _HARD)
    else:
        half = xp.clip(softness * xp.minimum(share, 1 - share), _HARD, None)
    covered = share - order
    covered /= 2 * half
    covered += 0.5
    return xp.clip(covered, 0.0, 1.0)


def mix(x: Array, covered: Array, other: PerRow, bounds: Interval | None) -> Array:
    """x where nothing is covered, `other` where all is, value for value; a mix between."""
    mixed = x * (1 - covered)
    mixed += covered * other
    return clip_in_place(mixed, bounds)


def fill_value(fill: float, bounds: Interval | None) -> float:
    """A value from 0, the lowest, to 1, the highest, in the units of the data."""
    span = bounds or UNIT
    return span.low + fill * span.width
