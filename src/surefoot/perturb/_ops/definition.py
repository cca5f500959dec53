"""What defines a perturbation besides `apply`: levels, random numbers, published severities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import wraps
from numbers import Real
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np
from array_api_compat import array_namespace

from surefoot.core.limits import Limit, check_fields, limit, one_of
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import Floats, PerRow, copy_rows, levels_on_host
from surefoot.subject.protocols import (
    LARGEST_NUMBER,
    Array,
    Drawn,
    Level,
    Perturbation,
    Stream,
    View,
)

Presets = Mapping[str, tuple[float, ...]]
"""The levels of the published severities 1 to 5, for "small" and for "large" images."""
Units = Mapping[str, Callable[[float], float]]
"""What may stand behind the number of a level in a text, and the level that it then means."""

_Class = TypeVar("_Class", bound=Perturbation)


def within(low: float, high: float) -> Limit:
    """Numbers from `low` to `high`."""
    return limit(lambda number: low <= number <= high, f"be in [{low:g}, {high:g}]")


@dataclass(frozen=True)
class Levels:
    """The levels that mean something: from 0 to the highest one, and their unit in words."""

    highest: float = math.inf
    unit: str = ""

    def __call__(self, bounds: Interval | None) -> Interval:
        """The same range for all inputs."""
        return Interval(0.0, self.highest)


@dataclass(frozen=True)
class LevelsWithinBounds:
    """From 0 to the width of the bounds; without bounds any level."""

    unit: str = "in the units of the values"

    def __call__(self, bounds: Interval | None) -> Interval:
        """The range for inputs within these bounds."""
        return Interval(0.0, math.inf if bounds is None else bounds.width)


ANY_LEVEL = Levels()


class Each(Enum):
    """What gets a random number of its own in every trial."""

    VALUE = "value"
    VALUE_TWICE = "value, twice"
    """Two numbers: what 24 bits of one leave open, the other one settles."""
    PIXEL = "pixel"
    """All channels of a pixel share one number."""


Shape = Each | tuple[int, ...]


@dataclass(frozen=True)
class Uniform:
    """Independent uniform numbers in [0, 1): one each value or pixel, or this shape each trial."""

    shape: Shape

    def __call__(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """The numbers of n trials on inputs of this shape."""
        return stream.uniform((n, *_trial_shape(self.shape, shape)))


@dataclass(frozen=True)
class Normal:
    """Independent standard normal numbers, shaped as those of `Uniform`."""

    shape: Shape

    def __call__(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """The numbers of n trials on inputs of this shape."""
        return stream.normal((n, *_trial_shape(self.shape, shape)))


def _trial_shape(each: Shape, shape: tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(each, tuple):
        return each
    if each is Each.VALUE_TWICE:
        return (2, *shape)
    return tuple(shape) if each is Each.VALUE else (1, *shape[1:])


def check_level(perturbation: Perturbation) -> None:
    """Refuse a level that the perturbation does not have; None leaves it open."""
    kind, level, highest = perturbation.kind, perturbation.level, perturbation.levels(None).high
    if level is not None and not isinstance(level, Real):
        raise InvalidArgument(f"{kind}: level must be a number such as 0.1, got {level!r}")
    if level is None or 0 <= level <= min(highest, LARGEST_NUMBER):
        return
    unit: str = getattr(perturbation.levels, "unit", "")
    large = f" and at most {LARGEST_NUMBER:g}" if math.isfinite(level) and level > 0 else ""
    span = f"finite and ≥ 0{large}" if math.isinf(highest) else f"in [0, {highest:g}]"
    raise InvalidArgument(f"{kind}: level must be {span}{unit and f' ({unit})'}, got {level}")


def refuse_other_channels(perturbation: Perturbation, channels: int) -> None:
    """Refuse images that lack the colours which the perturbation changes."""
    needed: int | None = getattr(perturbation, "needs_channels", None)
    if needed is not None and channels != needed:
        raise InvalidArgument(
            f"{perturbation.kind} needs images of {needed} channels (red, green, blue), but these "
            f"have {channels}: use images in colour, or choose another perturbation"
        )


@dataclass(frozen=True)
class OfValues:
    """What perturbations of values in any layout share."""

    level: float | None = None
    view: ClassVar[View] = View.VALUES

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """No random number, but one row for each trial all the same: all trials are equal."""
        return stream.uniform((n, 0))


@dataclass(frozen=True)
class OfSignals(OfValues):
    """What perturbations of signals share."""

    view: ClassVar[View] = View.SERIES


@dataclass(frozen=True)
class OfImages(OfValues):
    """What perturbations of images share."""

    view: ClassVar[View] = View.IMAGE


@dataclass(frozen=True)
class Directed(OfImages):
    """What perturbations of images share that are not random and have an opposite direction."""

    signed: ClassVar[bool] = True


@dataclass_transform(frozen_default=True)
def perturbation(definition: type[_Class]) -> type[_Class]:
    """Class decorator: a frozen dataclass with what all perturbations share.

    The class has the field `level` and what else it needs, the class data `kind`, `phrase`,
    `view`, `levels` and `draw`, and the method `apply`. What has an annotation is a field, so class
    data have none (or `ClassVar`); fields say their limits themselves (`core/limits.py`).
    What depends on a field is a property or a method instead of class data; a `phrase` may name
    fields itself, as `{self.fill:g}`.
    `needs_channels` is the number of channels that images must have, where it matters.

    The decorator adds three rules. Level and limits are checked first, then its own
    `__post_init__` runs. At level 0 the rows are copied without calling `apply`. Where `apply`
    returns one row for all trials, it is repeated.
    """
    own_check, apply = getattr(definition, "__post_init__", None), definition.apply
    phrase = definition.__dict__.get("phrase")

    def check(self: _Class) -> None:
        check_level(self)
        checked: Any = self
        check_fields(checked, f"{self.kind}: ")
        if own_check is not None:
            own_check(self)

    if isinstance(phrase, str) and "{self." in phrase:
        with_fields = property(lambda self: phrase.format(self=self, level="{level}"))
        setattr(definition, "phrase", with_fields)  # noqa: B010  a Protocol has it read-only

    @wraps(apply)
    def apply_to_rows(
        self: _Class, x: Array, drawn: Drawn, level: Level, bounds: Interval | None
    ) -> Array:
        refuse_other_channels(self, x.shape[1] if x.ndim > 1 else 1)
        first = drawn
        while isinstance(first, tuple):
            first = first[0]
        n = len(first)
        untouched = isinstance(level, int | float) and level == 0  # an array of levels never is
        y = x if untouched else apply(self, x, drawn, level, bounds)
        return copy_rows(y, n) if y is x or len(y) != n else y

    for name, method in (("__post_init__", check), ("apply", apply_to_rows)):
        setattr(definition, name, method)
    return dataclass(frozen=True)(definition)


def published(
    small: tuple[float, ...], large: tuple[float, ...], level: Callable[[float], float] = float
) -> Presets:
    """The presets of parameters as published for both sizes; `level` says the level of one."""
    return {"small": tuple(map(level, small)), "large": tuple(map(level, large))}


HIGHEST = 5.0
SEVERITIES = Levels(HIGHEST, "severity")
PRESETS = published((1, 2, 3, 4, 5), (1, 2, 3, 4, 5))
SIZES = one_of("", "small", "large")
"""Constants of CIFAR-C (small) or ImageNet-C (large); empty: by the size of the image."""
LONGEST_SMALL = 64
"""Pixels along the longer edge of the largest image that counts as small (CIFAR-C has 32)."""


@dataclass(frozen=True)
class OfSeverities(OfImages):
    """What perturbations of images share whose level is a published severity."""

    size: str = field(default="", metadata=SIZES)
    levels: ClassVar[Levels] = SEVERITIES
    presets: ClassVar[Presets] = PRESETS

    def table(self, shape: tuple[int, ...], small: Table, large: Table) -> Table:
        """That of small or that of large images, whichever images of this shape are."""
        return small if is_small(self.size, shape) else large


Table = tuple[tuple[float, ...], ...]
"""The parameters at severity 0 (no effect), 1, …, 5."""


def is_small(size: str, shape: tuple[int, ...]) -> bool:
    """Whether to use the constants for small images: as `size` says, else by the longer edge."""
    return size == "small" if size else max(shape[-2:]) <= LONGEST_SMALL


def at_severity(level: Level, table: Table) -> list[PerRow]:
    """The parameters at this severity, linear between the published ones.

    Plain numbers for one level; arrays (n, 1, 1, 1), beside the levels, for a level for each row.
    """
    if isinstance(level, int | float):
        return [float(parameter[0]) for parameter in at_severity_on_host(level, table)]
    below, above, share = rows_around(level, table)
    mixed = below + (above - below) * share
    return [mixed[:, i][:, None, None, None] for i in range(len(table[0]))]


def at_severity_on_host(level: Level, table: Table) -> tuple[Floats, ...]:
    """The parameters at each of these severities, as NumPy arrays of float64."""
    severities = np.arange(len(table))
    levels = levels_on_host(level)
    return tuple(np.interp(levels, severities, column) for column in zip(*table, strict=True))


def rows_around(levels: Array, table: Table) -> tuple[Array, Array, Array]:
    """The rows of the table before and after each level, and how far it is between them."""
    xp = array_namespace(levels)
    knots = xp.asarray(table, dtype=xp.float32, device=levels.device)
    severities = xp.clip(xp.astype(levels, xp.float32), 0.0, HIGHEST)
    low = xp.clip(xp.astype(xp.floor(severities), xp.int64), 0, len(table) - 2)
    share = (severities - xp.astype(low, xp.float32))[:, None]
    return xp.take(knots, low, axis=0), xp.take(knots, low + 1, axis=0), share
