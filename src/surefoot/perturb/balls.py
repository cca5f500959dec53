"""Noise drawn uniformly from a ball around the input."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from surefoot.perturb._ops.levels import (
    ANY_LEVEL,
    axes_but_first,
    check_level,
    clip_in_place,
    level_per_row,
    within,
)
from surefoot.results import Interval
from surefoot.subject import Additive, Array, Ball, Level, Stream, View


@dataclass(frozen=True)
class LinfNoise:
    """Every value moves by its own uniform amount in [-level, level]."""

    level: float | None = None
    kind: ClassVar[str] = "linf"
    ball: ClassVar[Ball] = Ball.LINF
    additive: ClassVar[Additive] = Additive(normal=False, factor=2.0, shift=-1.0)
    view: ClassVar[View] = View.VALUES
    phrase: ClassVar[str] = "noise drawn uniformly from the L∞ ball of radius {level}"

    def __post_init__(self) -> None:
        check_level(self.kind, self.level)

    def levels(self, bounds: Interval | None) -> Interval:
        """No more than the whole range of values."""
        return within(bounds)

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Uniform in [0, 1)."""
        return stream.uniform((n, *shape))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Stretch to [-level, level] and add."""
        span = level_per_row(level, drawn)
        moved = drawn * (2 * span)
        moved -= span
        moved += x
        return clip_in_place(moved, bounds)


@dataclass(frozen=True)
class L2Noise:
    """Uniform in the Euclidean ball: a random direction, the radius as the d-th root law."""

    level: float | None = None
    kind: ClassVar[str] = "l2"
    ball: ClassVar[Ball] = Ball.L2
    view: ClassVar[View] = View.VALUES
    phrase: ClassVar[str] = "noise drawn uniformly from the L2 ball of radius {level}"

    def __post_init__(self) -> None:
        check_level(self.kind, self.level)

    def levels(self, bounds: Interval | None) -> Interval:
        """Any: what is too far leaves through the clipping."""
        return ANY_LEVEL

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Points of the unit ball."""
        points = stream.normal((n, *shape))
        xp = array_namespace(points)
        lengths = xp.sqrt(xp.sum(points * points, axis=axes_but_first(points), keepdims=True))
        points *= _radius(stream, n, shape) / xp.where(lengths > 0, lengths, 1.0)
        return points

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Scale and add."""
        moved = drawn * level_per_row(level, drawn)
        moved += x
        return clip_in_place(moved, bounds)


@dataclass(frozen=True)
class L1Noise:
    """Uniform in the L1 ball (the cross-polytope)."""

    level: float | None = None
    kind: ClassVar[str] = "l1"
    view: ClassVar[View] = View.VALUES
    phrase: ClassVar[str] = "noise drawn uniformly from the L1 ball of radius {level}"

    def __post_init__(self) -> None:
        check_level(self.kind, self.level)

    def levels(self, bounds: Interval | None) -> Interval:
        """Any: what is too far leaves through the clipping."""
        return ANY_LEVEL

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Points of the unit ball: Laplace numbers over their sum, times the radius."""
        u = stream.uniform((n, *shape))
        xp = array_namespace(u)
        u *= 2
        u -= 1  # in [-1, 1)
        sizes = -xp.log1p(-xp.abs(u) * (1 - 2.0**-24))
        points = xp.where(u < 0, -sizes, sizes)
        total = xp.sum(sizes, axis=axes_but_first(sizes), keepdims=True)
        points *= _radius(stream, n, shape) / xp.where(total > 0, total, 1.0)
        return points

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Scale and add."""
        moved = drawn * level_per_row(level, drawn)
        moved += x
        return clip_in_place(moved, bounds)


def _radius(stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
    """Distance from the centre of a uniform point of the unit ball in d dimensions: u^(1/d)."""
    return stream.uniform((n, *(1 for _ in shape))) ** (1 / math.prod(shape))
