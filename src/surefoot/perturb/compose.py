"""Perturbations one after the other, one of several, or at a random level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from array_api_compat import array_namespace

from surefoot.core.limits import one_of
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import copy_rows, level_of
from surefoot.perturb._ops.definition import Levels, perturbation
from surefoot.subject.protocols import Array, Drawn, Level, Perturbation, Stream, View
from surefoot.system.text import level_words


@dataclass(frozen=True)
class _Combined:
    """What perturbations of several parts share."""

    parts: tuple[Perturbation, ...]
    kind: ClassVar[str]
    levels: ClassVar[Levels] = Levels(1.0, "share of the level of every part")

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidArgument(f"{self.kind}: parts must be at least one perturbation, got none")
        for part in self.parts:
            level_of(part)
        _common_view(self.parts)

    @property
    def view(self) -> View:
        """That of the parts; values where none needs an image or a signal."""
        return _common_view(self.parts)


@perturbation
class Chain(_Combined):
    """All parts one after the other, each clipped to the bounds; the level scales all of them."""

    level: float | None = 1.0
    kind = "chain"

    @property
    def phrase(self) -> str:
        """What is done, in order."""
        steps = ", then ".join(_phrase_at_level(part) for part in self.parts)
        return f"first {steps}, all levels times {{level}}"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """What each part draws, in order."""
        return tuple(part.draw(stream, n, shape) for part in self.parts)

    def apply(self, x: Array, drawn: Drawn, level: Level, bounds: Interval | None) -> Array:
        """One after the other."""
        for part, own in zip(self.parts, drawn, strict=True):
            x = part.apply(x, own, level_of(part) * level, bounds)
        return x


@perturbation
class Mixture(_Combined):
    """One of the parts, drawn anew for each trial; the level scales all of them."""

    weights: tuple[float, ...] = ()
    level: float | None = 1.0
    kind = "mixture"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights and len(self.weights) != len(self.parts):
            raise InvalidArgument(
                f"mixture: weights must be one for each of the {len(self.parts)} parts, "
                f"got {len(self.weights)} weights"
            )
        if any(not 0 < w < float("inf") for w in self.weights):
            raise InvalidArgument(f"mixture: weights must be above 0, got {self.weights}")

    @property
    def probabilities(self) -> tuple[float, ...]:
        """How likely each part is."""
        weights = self.weights or (1.0,) * len(self.parts)
        return tuple(w / sum(weights) for w in weights)

    @property
    def phrase(self) -> str:
        """What may be done, and how likely."""
        choices = "; or ".join(
            f"{100 * probability:.3g} %: {_phrase_at_level(part)}"
            for probability, part in zip(self.probabilities, self.parts, strict=True)
        )
        return f"one of the following, drawn for each trial, all levels times {{level}}: {choices}"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """A number for the choice, and what each part would draw."""
        choice = stream.uniform((n,))
        return choice, tuple(part.draw(stream, n, shape) for part in self.parts)

    def apply(self, x: Array, drawn: Drawn, level: Level, bounds: Interval | None) -> Array:
        """Each row by the part that was drawn for it."""
        choice, of_parts = drawn
        out = copy_rows(x, len(choice))
        xp = array_namespace(x)
        start = 0.0
        for i, (part, probability) in enumerate(zip(self.parts, self.probabilities, strict=True)):
            end = 2.0 if i == len(self.parts) - 1 else start + probability
            rows = xp.nonzero((choice >= start) & (choice < end))[0]
            start += probability
            if len(rows) == 0:
                continue
            chosen = x if len(x) == 1 else x[rows]
            strength = level_of(part) * (level if isinstance(level, int | float) else level[rows])
            out[rows] = part.apply(chosen, _take(of_parts[i], rows), strength, bounds)
        return out


def _take(drawn: Drawn, rows: Array) -> Drawn:
    return tuple(_take(d, rows) for d in drawn) if isinstance(drawn, tuple) else drawn[rows]


def _phrase_at_level(part: Perturbation) -> str:
    return part.phrase.replace("{level}", level_words(level_of(part)))


_VIEWED = {View.IMAGE: "images", View.SERIES: "signals", View.TEXT: "texts"}


def _common_view(parts: Sequence[Perturbation]) -> View:
    """Plain values can be images or signals as well; the other views exclude each other."""
    views = {part.view for part in parts} - {View.VALUES}
    if len(views) > 1:
        kinds = " and of ".join(sorted(_VIEWED[view] for view in views))
        raise InvalidArgument(f"perturbations of {kinds} cannot be combined: use those of one kind")
    return views.pop() if views else View.VALUES


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
    law: str = field(default="uniform", metadata=one_of("uniform", "log-uniform", "normal"))
    signed = False

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
        share, of_inner = drawn
        xp = array_namespace(share)
        if self.law == "uniform":
            share = share * (1 - self.lowest) + self.lowest
        elif self.law == "log-uniform":
            share = xp.exp((1 - share) * math.log(self.lowest))
        else:
            highest = self.inner.levels(bounds).high / max(self.level, 1e-30)
            share = xp.clip(share, -highest, highest) if math.isfinite(highest) else share
            share = share if getattr(self.inner, "signed", False) else xp.abs(share)
        return self.inner.apply(x, of_inner, share * level, bounds)
