"""Failures of a camera's sensor: dead pixels, dead lines, banding, a mosaic left as it is."""

from __future__ import annotations

from typing import ClassVar

from array_api_compat import array_namespace, device

from surefoot.core.results import UNIT, Interval
from surefoot.perturb._ops.arrays import clip_in_place
from surefoot.perturb._ops.cover import check_fill, fill_value, mix, ranks
from surefoot.perturb._ops.definition import NOTHING, Choices, Draw, Levels, perturbation
from surefoot.perturb._ops.levels import level_per_row
from surefoot.subject.protocols import Array, Level, Stream, View

_LINES: Choices = {"lines": ("rows", "columns")}
"""Which lines of the sensor fail."""


@perturbation
class DeadPixels:
    """The share `level` of the pixels, at random places, is dead: all channels have one value.

    The number is exact, level · pixels: 1/784 is one pixel of 28 x 28. What is left of a whole
    pixel fades one more in. A pixel that is dead at one level is dead at every higher one. `fill`
    is the value, from 0 (black, by default) to 1 (hot pixels). `Dropout` decides for each pixel by
    itself instead.
    """

    level: float | None = None
    fill: float = 0.0
    kind: ClassVar[str] = "dead-pixels"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of the pixels")

    def __post_init__(self) -> None:
        check_fill(self.kind, self.fill)

    @property
    def phrase(self) -> str:
        """What it does."""
        return f"a share of {{level}} of the pixels dead, with the value {self.fill:g}"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """The order in which pixels die."""
        return ranks(stream.uniform((n, 1, *shape[1:])))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Pixels that die first are replaced first."""
        return _replace_first(x, drawn, x.shape[2] * x.shape[3], level, self.fill, bounds)


@perturbation
class DeadLines:
    """The share `level` of the rows, or of the columns, at random places, is dead.

    The number is exact, level · rows, and what is left of a whole line fades one more in. A line
    that is dead at one level is dead at every higher one. `lines` is "rows" or "columns"; `fill`
    the value of a dead line, from 0 (black, by default) to 1. At level 1 nothing is left of the
    image.
    """

    level: float | None = None
    lines: str = "rows"
    fill: float = 0.0
    kind: ClassVar[str] = "dead-lines"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of the lines")
    choices: ClassVar[Choices] = _LINES

    def __post_init__(self) -> None:
        check_fill(self.kind, self.fill)

    @property
    def phrase(self) -> str:
        """What it does."""
        return f"a share of {{level}} of the {self.lines} dead, with the value {self.fill:g}"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """The order in which lines die."""
        return ranks(stream.uniform((n, *_line_shape(self.lines, shape))))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Lines that die first are replaced first."""
        count = drawn.shape[2] * drawn.shape[3]
        return _replace_first(x, drawn, count, level, self.fill, bounds)


@perturbation
class Banding:
    """Every row, or every column, is brighter or darker by its own uniform amount in ±level.

    The amount is a share of the range, the same for all channels of the line. `lines` is "rows" or
    "columns".
    """

    level: float | None = None
    lines: str = "rows"
    kind: ClassVar[str] = "banding"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of the range")
    choices: ClassVar[Choices] = _LINES

    @property
    def phrase(self) -> str:
        """What it does."""
        return f"all {self.lines} brighter or darker, each by a uniform amount of ±{{level}}"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """A uniform number for each line."""
        return stream.uniform((n, *_line_shape(self.lines, shape)))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Stretch to ±level and add."""
        amount = level_per_row(level, drawn) * (bounds or UNIT).width
        return clip_in_place(x + (drawn * 2 - 1) * amount, bounds)


@perturbation
class Bayer:
    """A sensor's colour mosaic that is not interpolated: each pixel keeps one of its colours.

    The pattern is RGGB: red at even rows and columns (counted from 0), blue at odd ones, green at
    the others. The level is the share of its value that every other channel loses: at 1 it is
    black. Needs three channels. Not random.
    """

    level: float | None = None
    kind: ClassVar[str] = "bayer"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of the other colours that is lost")
    needs_channels: ClassVar[int] = 3
    draw: ClassVar[Draw] = NOTHING
    phrase: ClassVar[str] = (
        "a colour mosaic (Bayer pattern RGGB): a share of {level} of the other two colours lost"
    )

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Move what the pattern does not measure towards the lowest value."""
        return mix(x, _unmeasured(x) * level_per_row(level, x), (bounds or UNIT).low, bounds)


def _unmeasured(x: Array) -> Array:
    """(1, 3, height, width): 0 for the colour that a pixel of the sensor measures, else 1."""
    xp = array_namespace(x)
    away = xp.ones((1, *x.shape[1:]), dtype=x.dtype, device=device(x))
    for channel, top, left in ((0, 0, 0), (1, 0, 1), (1, 1, 0), (2, 1, 1)):
        away[:, channel, top::2, left::2] = 0.0
    return away


def _line_shape(lines: str, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """One number for each row or each column of images of this shape."""
    return (1, shape[1], 1) if lines == "rows" else (1, 1, shape[2])


def _replace_first(
    x: Array, order: Array, count: int, level: Level, fill: float, bounds: Interval | None
) -> Array:
    """The first level · count of these places with another value; the fraction fades one in."""
    xp = array_namespace(x)
    dead = xp.clip(level_per_row(level, order) * count - order, 0.0, 1.0)
    return mix(x, dead, fill_value(fill, bounds), bounds)
