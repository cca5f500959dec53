"""Noise on every value, drawn from a ball around the input or for each value by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from array_api_compat import array_namespace

from surefoot.core.limits import limit
from surefoot.core.results import Interval
from surefoot.perturb._ops.arrays import clip_in_place, level_per_row
from surefoot.perturb._ops.definition import (
    Each,
    Levels,
    LevelsWithinBounds,
    Normal,
    OfValues,
    Uniform,
    perturbation,
    published,
)
from surefoot.subject.protocols import Additive, Array, Ball, Level, Stream


@dataclass(frozen=True)
class _Scaled(OfValues):
    """Noise that is what was drawn, times the level."""

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Scale and add."""
        y = drawn * level_per_row(level, drawn)
        y += x
        return clip_in_place(y, bounds)


@dataclass(frozen=True)
class _Stretched(OfValues):
    """Noise that is a uniform number for each value, stretched and shifted as `additive` says."""

    levels = LevelsWithinBounds()
    draw = Uniform(Each.VALUE)

    @property
    def additive(self) -> Additive:
        """From [0, 1) to the range of the noise at level 1."""
        raise NotImplementedError

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Stretch, shift and add."""
        span, noise = level_per_row(level, drawn), self.additive
        y = drawn * (noise.factor * span)
        y += noise.shift * span
        y += x
        return clip_in_place(y, bounds)


@perturbation
class NoPerturbation(OfValues):
    """The input as it is: for data that are perturbed already. Not random."""

    level: float | None = 0.0
    kind = "none"
    levels = Levels(0.0)
    phrase = "no perturbation but that of the data"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Nothing."""
        return x


@perturbation
class LinfNoise(_Stretched):
    """Uniform noise in the L∞ ball: every value moves by its own amount in [-level, level)."""

    kind = "linf"
    ball = Ball.LINF
    additive = Additive(normal=False, factor=2.0, shift=-1.0)
    phrase = "noise drawn uniformly from the L∞ ball of radius {level}"


@perturbation
class L2Noise(_Scaled):
    """Uniform noise in the Euclidean ball: a random direction, and a radius with P(R ≤ r) ∝ r^d."""

    kind = "l2"
    ball = Ball.L2
    levels = Levels(unit="in the units of the values")
    phrase = "noise drawn uniformly from the L2 ball of radius {level}"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Points of the unit ball."""
        points = stream.normal((n, *shape))
        xp = array_namespace(points)
        axes = tuple(range(1, points.ndim))
        lengths = xp.sqrt(xp.sum(points * points, axis=axes, keepdims=True))
        points *= _radius(stream, n, shape) / xp.where(lengths > 0, lengths, 1.0)
        return points


@perturbation
class L1Noise(_Scaled):
    """Uniform noise in the L1 ball (the cross-polytope)."""

    kind = "l1"
    ball = Ball.L1
    levels = Levels(unit="in the units of the values")
    phrase = "noise drawn uniformly from the L1 ball of radius {level}"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Points of the unit ball: Laplace numbers over their sum, times the radius."""
        u = stream.uniform((n, *shape))
        xp = array_namespace(u)
        u *= 2
        u -= 1  # in [-1, 1)
        sizes = -xp.log1p(-xp.abs(u) * (1 - 2.0**-24))
        points = xp.where(u < 0, -sizes, sizes)
        total = xp.sum(sizes, axis=tuple(range(1, sizes.ndim)), keepdims=True)
        points *= _radius(stream, n, shape) / xp.where(total > 0, total, 1.0)
        return points


@perturbation
class GaussianNoise(_Scaled):
    """Normal noise on every value; the level is its standard deviation."""

    kind = "gaussian"
    additive = Additive(normal=True, factor=1.0, shift=0.0)
    presets = published((0.04, 0.06, 0.08, 0.09, 0.10), (0.08, 0.12, 0.18, 0.26, 0.38))
    levels = LevelsWithinBounds()
    draw = Normal(Each.VALUE)
    phrase = "Gaussian noise of standard deviation {level} on every value"


_SHARE_OF_LEVEL = limit(
    lambda share: -1 <= share < 1,
    "be a share of the level in [-1, 1)",
    "0 is one-sided noise, -1 symmetric",
)


@perturbation
class UniformNoise(_Stretched):
    """Every value grows by its own uniform amount in [lowest · level, level).

    By default `lowest` is 0: the one-sided noise of the experiments of Bu & Sun. With -1 it has
    the distribution of `LinfNoise`.
    """

    lowest: float = field(default=0.0, metadata=_SHARE_OF_LEVEL)
    kind = "uniform"

    @property
    def additive(self) -> Additive:
        """From lowest · level to level."""
        return Additive(normal=False, factor=1 - self.lowest, shift=self.lowest)

    @property
    def phrase(self) -> str:
        """What it does."""
        low = "0" if self.lowest == 0 else f"{self.lowest:g} · {{level}}"
        return f"noise drawn uniformly between {low} and {{level}}, added to every value"


def _radius(stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
    """Distance from the centre of a uniform point of the unit ball in d dimensions: u^(1/d)."""
    return stream.uniform((n, *(1 for _ in shape))) ** (1 / math.prod(shape))
