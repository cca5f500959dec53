"""Independent noise on every value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from surefoot.errors import InvalidArgument
from surefoot.perturb.levels import check_level, clipped, within
from surefoot.results import Interval
from surefoot.subject import Array, Stream


@dataclass(frozen=True)
class GaussianNoise:
    """Normal noise; the level is its standard deviation."""

    level: float
    kind: ClassVar[str] = "gaussian"
    phrase: ClassVar[str] = "Gaussian noise of standard deviation {level} on every value"

    def __post_init__(self) -> None:
        check_level(self.kind, self.level)

    def levels(self, bounds: Interval | None) -> Interval:
        """No more than the whole range of values."""
        return within(bounds)

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Standard normal."""
        return stream.normal((n, *shape))

    def apply(self, x: Array, drawn: Array, level: float, bounds: Interval | None) -> Array:
        """Scale and add."""
        moved = drawn * level
        moved += x
        return clipped(moved, bounds)


@dataclass(frozen=True)
class UniformNoise:
    """Every value grows by a uniform amount in [lowest · level, level]; one-sided unless told.

    With `lowest` 0 this is the one-sided noise of the experiments of Bu & Sun; with -1 it is
    `LinfNoise`.
    """

    level: float
    lowest: float = 0.0
    kind: ClassVar[str] = "uniform"

    def __post_init__(self) -> None:
        check_level(self.kind, self.level)
        if not -1 <= self.lowest < 1:
            raise InvalidArgument(
                f"uniform: lowest is a share of the level in [-1, 1), got {self.lowest}: "
                "0 is one-sided noise, -1 symmetric"
            )

    @property
    def phrase(self) -> str:
        """What it does."""
        low = "0" if self.lowest == 0 else f"{self.lowest:g} · {{level}}"
        return f"noise drawn uniformly between {low} and {{level}}, added to every value"

    def levels(self, bounds: Interval | None) -> Interval:
        """No more than the whole range of values."""
        return within(bounds)

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Uniform in [0, 1)."""
        return stream.uniform((n, *shape))

    def apply(self, x: Array, drawn: Array, level: float, bounds: Interval | None) -> Array:
        """Stretch to [lowest · level, level] and add."""
        moved = drawn * ((1 - self.lowest) * level)
        moved += x + self.lowest * level
        return clipped(moved, bounds)
