"""Parts of a picture that cannot be seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.perturb.levels import check_level, clipped, is_zero, kept, per_row, unchanged
from surefoot.perturb.scaling import single, spread
from surefoot.results import UNIT, Interval
from surefoot.subject import Array, Level, Stream, View

_Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Occlusion:
    """A patch hides the share `level` of the picture's area, at a uniformly random place.

    The patch is a square that lies wholly in the picture; where a square of this area does not
    fit it is a rectangle as long as the shorter edge. Pixels that it covers in part are mixed, so
    that the area is exact. A patch covers all that a smaller one with the same draw covers.
    `fill` is its value, from 0, the lowest, to 1, the highest.
    """

    level: float
    fill: float = 0.5
    kind: ClassVar[str] = "occlusion"
    view: ClassVar[View] = View.PICTURE

    def __post_init__(self) -> None:
        check_level(self.kind, self.level)
        _check_fill(self.kind, self.fill)

    @property
    def phrase(self) -> str:
        """What it does."""
        return f"a share of {{level}} of the picture hidden by a patch of value {self.fill:g}"

    def levels(self, bounds: Interval | None) -> Interval:
        """From nothing to all of the picture."""
        return UNIT

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Where the patch lies, down and across: uniform in [0, 1)."""
        return stream.uniform((n, 2))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Mix each pixel with the fill, as far as it is covered."""
        if is_zero(level):
            return unchanged(x, len(drawn))
        height, width = x.shape[2:]
        fill, area = _value(self.fill, bounds), per_row(level, drawn) * (height * width)
        tall, wide = _edges(area, height, width)
        if isinstance(tall, float) and (isinstance(x, np.ndarray) or x.device.type == "cpu"):
            n = len(drawn)
            out = unchanged(x, n) if bounds is None else spread(clipped(x, bounds), n)
            _patch(np.asarray(out), np.asarray(drawn), tall, wide, fill, bounds)
            return out
        down = _covered(drawn[:, :1] * (height - tall), tall, _pixels(height, drawn))
        across = _covered(drawn[:, 1:] * (width - wide), wide, _pixels(width, drawn))
        hidden = down[:, None, :, None] * across[:, None, None, :]
        covered = x * (1 - hidden)
        hidden *= fill
        covered += hidden
        return kept(covered, bounds)


def _patch(
    x: _Floats, drawn: _Floats, tall: float, wide: float, fill: float, bounds: Interval | None
) -> None:
    """Lay patches of one size on pictures within the bounds; only what they touch is changed."""
    tops, down = _reached(drawn[:, :1], tall, x.shape[2])
    lefts, across = _reached(drawn[:, 1:], wide, x.shape[3])
    hidden = down[:, None, :, None] * across[:, None, None, :]
    windows = sliding_window_view(x, hidden.shape[2:], axis=(2, 3), writeable=True)
    where = (np.arange(len(x)), slice(None), tops, lefts)
    mixed = windows[where]
    mixed *= 1 - hidden
    hidden *= fill
    mixed += hidden
    if bounds is not None:
        np.clip(mixed, bounds.low, bounds.high, out=mixed)
    windows[where] = mixed


def _reached(place: _Floats, length: float, pixels: int) -> tuple[NDArray[np.intp], _Floats]:
    """The first of as many pixels as the patch can touch along an axis; how much of each it covers.

    Those of all rows are equally many, whether they are touched or not.
    """
    begin = place * (pixels - length)
    count = min(math.ceil(length) + 1, pixels)
    first = np.minimum(begin[:, 0].astype(np.intp), pixels - count)
    touched = (first[:, None] + np.arange(count)).astype(np.float32)
    return first, _covered(begin, length, touched)


def _edges(area: Any, height: int, width: int) -> tuple[Any, Any]:  # noqa: ANN401
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


def _covered(begin: Array, length: Any, first: Array) -> Array:  # noqa: ANN401
    """How much of the pixels from `first` to first + 1 the patch covers: (n, pixels)."""
    xp = array_namespace(begin)
    return xp.clip(xp.minimum(begin + length, first + 1) - xp.maximum(begin, first), 0.0, None)


def _pixels(count: int, like: Array) -> Array:
    """The pixels along an axis: (1, count)."""
    xp = array_namespace(like)
    return xp.arange(count, dtype=xp.float32, device=like.device)[None, :]


@dataclass(frozen=True)
class Dropout:
    """Every pixel, with all its channels, is lost with probability `level`.

    A pixel lost at a level is lost at every higher one. `fill` is the value of lost pixels, from
    0, the lowest, to 1, the highest.
    """

    level: float
    fill: float = 0.5
    kind: ClassVar[str] = "dropout"
    view: ClassVar[View] = View.PICTURE

    def __post_init__(self) -> None:
        check_level(self.kind, self.level)
        _check_fill(self.kind, self.fill)

    @property
    def phrase(self) -> str:
        """What it does."""
        return f"every pixel replaced by {self.fill:g} with probability {{level}}"

    def levels(self, bounds: Interval | None) -> Interval:
        """From no pixel to every pixel."""
        return UNIT

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Uniform in [0, 1), one number a pixel."""
        return stream.uniform((n, 1, *shape[1:]))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Pixels with the smallest numbers are lost first."""
        lost = drawn < per_row(single(level), drawn)
        return array_namespace(x).where(lost, _value(self.fill, bounds), x)


def _value(fill: float, bounds: Interval | None) -> float:
    span = bounds or UNIT
    return span.low + fill * span.width


def _check_fill(kind: str, fill: float) -> None:
    if not 0 <= fill <= 1:
        raise InvalidArgument(
            f"{kind}: fill is a share of the bounds from 0 to 1, got {fill}: 0 is the lowest "
            "value, 0.5 the middle"
        )
