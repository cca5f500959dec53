"""Hidden parts of an image: a patch, or single pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.perturb._ops.arrays import PerRow, as_float32, copy_rows, level_per_row
from surefoot.perturb._ops.definition import Each, Levels, OfImages, Uniform, perturbation, within
from surefoot.perturb._ops.pixels import fill_value, mix
from surefoot.subject.protocols import Array, Level

_Floats = NDArray[np.float32]
_Indices = NDArray[np.intp]

_LARGE = 24
"""Pixels along the shorter edge of a patch from which on its inside is filled without mixing."""


@perturbation
class Occlusion(OfImages):
    """A patch hides the share `level` of the area of the image, at a uniformly random position.

    The patch is a square that lies wholly in the image; where a square of this area does not fit,
    it is a rectangle as long as the shorter edge. Pixels that it covers in part are mixed, so that
    the area is exact. With the same draw, a larger patch covers all that a smaller one covers.
    `fill` is its value, from 0, the lowest, to 1, the highest.
    """

    fill: float = field(default=0.5, metadata=within(0, 1))
    kind = "occlusion"
    levels = Levels(1.0, "share of the area")
    draw = Uniform((2,))
    phrase = "a share of {level} of the image hidden by a random patch of value {self.fill:g}"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Mix each pixel with the fill, as far as it is covered."""
        height, width = x.shape[2:]
        fill, area = fill_value(self.fill, bounds), level_per_row(level, drawn) * (height * width)
        tall, wide = _patch_size(area, height, width)
        if isinstance(tall, float) and (isinstance(x, np.ndarray) or x.device.type == "cpu"):
            out = copy_rows(x, len(drawn))
            _lay_patches(np.asarray(out), np.asarray(drawn), tall, wide, _Paint(fill, bounds))
            return out
        down = _coverage(drawn[:, :1] * (height - tall), tall, _pixel_starts(height, drawn))
        across = _coverage(drawn[:, 1:] * (width - wide), wide, _pixel_starts(width, drawn))
        hidden = down[:, None, :, None] * across[:, None, None, :]
        return _mix_pixels(x, hidden, _Paint(fill, bounds))


@dataclass(frozen=True)
class _Paint:
    """The value of a patch, and the bounds that mixed pixels are clipped to."""

    fill: float
    bounds: Interval | None


def _mix_pixels(x: Array, hidden: Array, paint: _Paint) -> Array:
    """Pixels mixed with the paint as far as they are hidden; the others unchanged."""
    return array_namespace(x).where(hidden > 0, mix(x, hidden, paint.fill, paint.bounds), x)


def _lay_patches(out: _Floats, drawn: _Floats, tall: float, wide: float, paint: _Paint) -> None:
    """Lay patches of one size on images, in place; only covered pixels are changed."""
    tops, down = _covered_along_axis(drawn[:, :1], tall, out.shape[2])
    lefts, across = _covered_along_axis(drawn[:, 1:], wide, out.shape[3])
    high, broad = down.shape[1], across.shape[1]
    if min(high, broad) < _LARGE:
        _mix_windows(out, tops, lefts, down, across, paint)
        return
    for image, top, left in zip(out, tops.tolist(), lefts.tolist(), strict=True):
        image[:, top + 2 : top + high - 2, left + 2 : left + broad - 2] = paint.fill
    inner = down[:, 2:-2]  # covered wholly, as all but the two outermost pixels are
    _mix_windows(out, tops, lefts, down[:, :2], across, paint)
    _mix_windows(out, tops + (high - 2), lefts, down[:, -2:], across, paint)
    _mix_windows(out, tops + 2, lefts, inner, across[:, :2], paint)
    _mix_windows(out, tops + 2, lefts + (broad - 2), inner, across[:, -2:], paint)


def _mix_windows(
    out: _Floats, tops: _Indices, lefts: _Indices, down: _Floats, across: _Floats, paint: _Paint
) -> None:
    """Mix the pixels from each top and left on with the paint, as far as they are covered."""
    hidden = down[:, None, :, None] * across[:, None, None, :]
    (n, channels, height, width), (high, broad) = out.shape, hidden.shape[2:]
    places = (n, channels, height - high + 1, width - broad + 1)
    windows = as_strided(out, (*places, high, broad), (*out.strides, *out.strides[2:]))
    where = (np.arange(len(out)), slice(None), tops, lefts)
    windows[where] = _mix_pixels(windows[where], hidden, paint)


def _covered_along_axis(place: _Floats, length: float, pixels: int) -> tuple[_Indices, _Floats]:
    """The first pixel that the patch can touch along an axis, and how much of each it covers.

    All rows have the same number of pixels, whether the patch touches them or not.
    """
    begin = place * (pixels - length)
    count = min(math.ceil(length) + 1, pixels)
    first = np.minimum(begin[:, 0].astype(np.intp), pixels - count)
    touched = (first[:, None] + np.arange(count)).astype(np.float32)
    return first, _coverage(begin, length, touched)


def _patch_size(area: PerRow, height: int, width: int) -> tuple[PerRow, PerRow]:
    """How tall and how wide the patch of this area is, in pixels."""
    short = min(height, width)
    if isinstance(area, int | float):
        side = min(math.sqrt(area), short)
        other = max(side, area / short)
    else:
        xp = array_namespace(area)
        side = xp.clip(xp.sqrt(area), None, float(short))
        other = xp.maximum(side, area / short)
    return (side, other) if height <= width else (other, side)


def _coverage(begin: Array, length: PerRow, first: Array) -> Array:
    """How much the patch covers of each pixel from `first` to first + 1: (n, pixels)."""
    xp: Any = np if isinstance(begin, np.ndarray) else array_namespace(begin)
    covered = xp.minimum(begin + length, first + 1) - xp.maximum(begin, first)
    return np.maximum(covered, 0) if isinstance(begin, np.ndarray) else covered.clamp_(min=0)


def _pixel_starts(count: int, like: Array) -> Array:
    """Where the pixels along an axis start: (1, count)."""
    xp = array_namespace(like)
    return xp.arange(count, dtype=xp.float32, device=like.device)[None, :]


@perturbation
class Dropout(OfImages):
    """Every pixel, with all its channels, is replaced with probability `level`.

    A pixel replaced at one level is replaced at every higher one. `fill` is the new value, from 0,
    the lowest, to 1, the highest.
    """

    fill: float = field(default=0.5, metadata=within(0, 1))
    kind = "dropout"
    levels = Levels(1.0, "probability")
    draw = Uniform(Each.PIXEL)
    phrase = "every pixel replaced by the value {self.fill:g} with probability {level}"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Pixels with the smallest numbers are replaced first."""
        replaced = drawn < level_per_row(as_float32(level), drawn)
        return array_namespace(x).where(replaced, fill_value(self.fill, bounds), x)
