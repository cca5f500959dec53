"""A perturbation whose strength is itself random, trial by trial."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from array_api_compat import array_namespace

from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.levels import check_level, is_zero
from surefoot.results import Interval
from surefoot.subject import Array, Drawn, Level, Perturbation, Stream, View

LAWS = ("uniform", "log-uniform", "normal")


@dataclass(frozen=True)
class RandomLevel:
    """The strength of `inner` drawn anew for each trial; one perturbation with one probability.

    uniform: between lowest · level and level. log-uniform: the same ends, its logarithm uniform.
    normal: level times a standard normal number, without its sign where `inner` has none.
    `lowest` is a share of the level; -1 is "±level", for perturbations that have a direction.
    """

    level: float
    inner: Perturbation
    lowest: float = 0.0
    law: str = "uniform"
    signed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_level(self.kind, self.level)
        inner: Any = self.inner
        if inner.level != self.level:  # whose level is ours, so that one thing has one description
            object.__setattr__(self, "inner", replace(inner, level=self.level))
        if self.law not in LAWS:
            raise InvalidArgument(f"there is no law {self.law!r}: choose one of {', '.join(LAWS)}")
        directed = bool(getattr(self.inner, "signed", False))
        if not -1 <= self.lowest < 1 or (self.lowest < 0 and not directed):
            least = -1 if directed else 0
            raise InvalidArgument(
                f"{self.inner.kind}: the lowest strength is a share of the highest, from {least} "
                f"to below 1, got {self.lowest:g}"
            )
        if self.law == "log-uniform" and self.lowest <= 0:
            raise InvalidArgument("log-uniform needs a lowest strength above 0")

    @property
    def kind(self) -> str:
        """The inner one's name, marked."""
        return f"spread-{self.inner.kind}"

    @property
    def phrase(self) -> str:
        """What it does."""
        low = {0.0: "0", -1.0: "-{level}"}.get(self.lowest, f"{self.lowest:g} · {{level}}")
        told = {
            "uniform": f"uniformly between {low} and {{level}}",
            "log-uniform": f"log-uniformly between {low} and {{level}}",
            "normal": "from a normal distribution of deviation {level}",
        }[self.law]
        return (
            self.inner.phrase.replace("{level}", "s") + f", the strength s drawn {told} each time"
        )

    @property
    def view(self) -> View:
        """As the inner one sees it."""
        return self.inner.view

    def levels(self, bounds: Interval | None) -> Interval:
        """Those of the inner one."""
        return self.inner.levels(bounds)

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """A number for the strength, and what the inner one draws."""
        strength = stream.normal((n,)) if self.law == "normal" else stream.uniform((n,))
        return strength, self.inner.draw(stream, n, shape)

    def apply(self, x: Array, drawn: Drawn, level: Level, bounds: Interval | None) -> Array:
        """The inner one, at each row's own strength."""
        strength, inner = drawn
        if is_zero(level):
            return self.inner.apply(x, inner, 0.0, bounds)
        return self.inner.apply(x, inner, self._shares(strength, bounds) * level, bounds)

    def _shares(self, drawn: Array, bounds: Interval | None) -> Array:
        xp = array_namespace(drawn)
        if self.law == "uniform":
            return drawn * (1 - self.lowest) + self.lowest
        if self.law == "log-uniform":
            return xp.exp((1 - drawn) * math.log(self.lowest))
        most = self.inner.levels(bounds).high / max(self.level, 1e-30)
        within = xp.clip(drawn, -most, most) if math.isfinite(most) else drawn
        return within if getattr(self.inner, "signed", False) else xp.abs(within)
