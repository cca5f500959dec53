"""Parts of a picture that cannot be seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from array_api_compat import array_namespace

from surefoot.errors import InvalidArgument
from surefoot.perturb.levels import check_level, clipped, is_zero, per_row, unchanged
from surefoot.perturb.scaling import single
from surefoot.results import UNIT, Interval
from surefoot.subject import Array, Level, Stream, View


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
        area = per_row(level, drawn) * (height * width)
        tall, wide = _edges(area, height, width)
        down = _covered(drawn[:, :1], tall, height)
        across = _covered(drawn[:, 1:], wide, width)
        hidden = down[:, None, :, None] * across[:, None, None, :]
        covered = x * (1 - hidden)
        hidden *= _value(self.fill, bounds)
        covered += hidden
        return clipped(covered, bounds)


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


def _covered(place: Array, length: Any, pixels: int) -> Array:  # noqa: ANN401
    """How much of each pixel along an axis the patch covers: (n, pixels)."""
    xp = array_namespace(place)
    begin = place * (pixels - length)
    first = xp.arange(pixels, dtype=xp.float32, device=place.device)[None, :]
    ends = xp.clip(begin + length - first, 0.0, 1.0)
    return xp.clip(ends - xp.clip(begin - first, 0.0, 1.0), 0.0, 1.0)


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
