"""A perturbation whose level is itself random, trial by trial."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

from array_api_compat import array_namespace

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.definition import Choices, perturbation
from surefoot.subject.protocols import Array, Drawn, Level, Perturbation, Stream, View


@perturbation
class RandomLevel:
    """`inner` at a level drawn anew for each trial: one perturbation with one failure probability.

    uniform: between lowest · level and level. log-uniform: the same range, its logarithm uniform.
    normal: level times a standard normal number, without its sign where `inner` has no negative
    levels. `lowest` is a share of the level; -1 means ±level, for perturbations with a direction.
    """

    level: float
    inner: Perturbation
    lowest: float = 0.0
    law: str = "uniform"
    choices: ClassVar[Choices] = {"law": ("uniform", "log-uniform", "normal")}
    signed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        inner: Any = self.inner
        if inner.level != self.level:  # one level for both, so that one thing has one description
            object.__setattr__(self, "inner", replace(inner, level=self.level))
        has_direction = bool(getattr(self.inner, "signed", False))
        if not -1 <= self.lowest < 1 or (self.lowest < 0 and not has_direction):
            raise InvalidArgument(
                f"{self.inner.kind}: lowest must be a share of the level from "
                f"{-1 if has_direction else 0} to below 1, got {self.lowest:g}"
            )
        if self.law == "log-uniform" and self.lowest <= 0:
            raise InvalidArgument(
                f"{self.inner.kind}: lowest must be above 0 for a log-uniform level, "
                f"got {self.lowest:g}"
            )

    @property
    def kind(self) -> str:
        """That of `inner`, marked."""
        return f"random-level-{self.inner.kind}"

    @property
    def phrase(self) -> str:
        """What it does."""
        low = {0.0: "0", -1.0: "-{level}"}.get(self.lowest, f"{self.lowest:g} · {{level}}")
        distribution = {
            "uniform": f"uniformly between {low} and {{level}}",
            "log-uniform": f"log-uniformly between {low} and {{level}}",
            "normal": "from a normal distribution of standard deviation {level}",
        }[self.law]
        inner = self.inner.phrase.replace("{level}", "s")
        return f"{inner}, with s drawn {distribution} for each trial"

    @property
    def view(self) -> View:
        """That of `inner`."""
        return self.inner.view

    def levels(self, bounds: Interval | None) -> Interval:
        """Those of `inner`."""
        return self.inner.levels(bounds)

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """A number for the level, and what `inner` draws."""
        number = stream.normal((n,)) if self.law == "normal" else stream.uniform((n,))
        return number, self.inner.draw(stream, n, shape)

    def apply(self, x: Array, drawn: Drawn, level: Level, bounds: Interval | None) -> Array:
        """`inner`, each row at its own level."""
        number, of_inner = drawn
        return self.inner.apply(x, of_inner, self._share_of_level(number, bounds) * level, bounds)

    def _share_of_level(self, number: Array, bounds: Interval | None) -> Array:
        xp = array_namespace(number)
        if self.law == "uniform":
            return number * (1 - self.lowest) + self.lowest
        if self.law == "log-uniform":
            return xp.exp((1 - number) * math.log(self.lowest))
        highest = self.inner.levels(bounds).high / max(self.level, 1e-30)
        share = xp.clip(number, -highest, highest) if math.isfinite(highest) else number
        return share if getattr(self.inner, "signed", False) else xp.abs(share)
