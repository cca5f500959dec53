"""Independent noise on every value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.levels import check_level, clip_in_place, level_per_row, within
from surefoot.results import Interval
from surefoot.subject import Additive, Array, Level, Stream, View


@dataclass(frozen=True)
class GaussianNoise:
    """Normal noise; the level is its standard deviation."""

    level: float | None = None
    kind: ClassVar[str] = "gaussian"
    additive: ClassVar[Additive] = Additive(normal=True, factor=1.0, shift=0.0)
    presets: ClassVar[dict[str, tuple[float, ...]]] = {
        "small": (0.04, 0.06, 0.08, 0.09, 0.10),
        "large": (0.08, 0.12, 0.18, 0.26, 0.38),
    }
    view: ClassVar[View] = View.VALUES
    phrase: ClassVar[str] = "Gaussian noise of standard deviation {level} on every value"

    def __post_init__(self) -> None:
        check_level(self.kind, self.level)

    def levels(self, bounds: Interval | None) -> Interval:
        """No more than the whole range of values."""
        return within(bounds)

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Standard normal."""
        return stream.normal((n, *shape))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Scale and add."""
        moved = drawn * level_per_row(level, drawn)
        moved += x
        return clip_in_place(moved, bounds)


@dataclass(frozen=True)
class UniformNoise:
    """Every value grows by a uniform amount in [lowest · level, level]; one-sided unless told.

    With `lowest` 0 this is the one-sided noise of the experiments of Bu & Sun; with -1 it is
    `LinfNoise`.
    """

    level: float | None = None
    lowest: float = 0.0
    kind: ClassVar[str] = "uniform"
    view: ClassVar[View] = View.VALUES

    def __post_init__(self) -> None:
        check_level(self.kind, self.level)
        if not -1 <= self.lowest < 1:
            raise InvalidArgument(
                f"uniform: lowest is a share of the level in [-1, 1), got {self.lowest}: "
                "0 is one-sided noise, -1 symmetric"
            )

    @property
    def additive(self) -> Additive:
        """From lowest · level to level."""
        return Additive(normal=False, factor=1 - self.lowest, shift=self.lowest)

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

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Stretch to [lowest · level, level] and add."""
        span = level_per_row(level, drawn)
        moved = drawn * ((1 - self.lowest) * span)
        moved += self.lowest * span
        moved += x
        return clip_in_place(moved, bounds)
