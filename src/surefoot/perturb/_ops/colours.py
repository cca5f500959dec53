"""Saturation, hue and grey of RGB images, without a round trip through HSV."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from surefoot.subject.protocols import Array

_TINY = 1e-30
"""The chroma of grey pixels in a division, instead of 0."""
_GREY_WEIGHTS = (0.299, 0.587, 0.114)
"""Red, green and blue in the grey of ITU-R BT.601."""


def change_saturation(x: Array, gain: Any, offset: Any, low: float) -> Array:  # noqa: ANN401  a number, or one for each row
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


def rotate_hue(x: Array, degrees: Any) -> Array:  # noqa: ANN401  a number, or one for each row
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
    share = away - 1 if third == 0 else 2 - away
    share = xp.clip(share, 0.0, 1.0)
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
