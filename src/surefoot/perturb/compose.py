"""Perturbations one after the other, or one of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.levels import check_level, copy_rows, is_zero, level_of, level_words
from surefoot.results import Interval
from surefoot.subject import Array, Drawn, Level, Perturbation, Stream, View

SHARES = Interval(0.0, 1.0)


@dataclass(frozen=True)
class Chain:
    """All parts one after the other, each clipped to the bounds; the level scales all of them."""

    parts: tuple[Perturbation, ...]
    level: float | None = 1.0
    kind: ClassVar[str] = "chain"

    def __post_init__(self) -> None:
        _check_parts(self.kind, self.parts, self.level)

    @property
    def phrase(self) -> str:
        """What is done, in order."""
        told = ", then ".join(_phrase_at_level(part) for part in self.parts)
        return f"first {told}, all strengths times {{level}}"

    @property
    def view(self) -> View:
        """As the most particular part sees it."""
        return _common_view(self.parts)

    def levels(self, bounds: Interval | None) -> Interval:
        """1 is every part as stated."""
        return SHARES

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """What each part draws, in order."""
        return tuple(part.draw(stream, n, shape) for part in self.parts)

    def apply(self, x: Array, drawn: Drawn, level: Level, bounds: Interval | None) -> Array:
        """One after the other."""
        for part, own in zip(self.parts, drawn, strict=True):
            x = part.apply(x, own, level_of(part) * level, bounds)
        return x


@dataclass(frozen=True)
class Mixture:
    """One of the parts, drawn anew for each trial; the level scales all of them."""

    parts: tuple[Perturbation, ...]
    weights: tuple[float, ...] = ()
    level: float | None = 1.0
    kind: ClassVar[str] = "mixture"

    def __post_init__(self) -> None:
        _check_parts(self.kind, self.parts, self.level)
        if self.weights and len(self.weights) != len(self.parts):
            raise InvalidArgument(
                f"mixture: {len(self.weights)} weights for {len(self.parts)} parts: one for each"
            )
        if any(not 0 < w < float("inf") for w in self.weights):
            raise InvalidArgument(f"mixture: weights are above 0, got {self.weights}")

    @property
    def chances(self) -> tuple[float, ...]:
        """How likely each part is."""
        weights = self.weights or (1.0,) * len(self.parts)
        return tuple(w / sum(weights) for w in weights)

    @property
    def phrase(self) -> str:
        """What may be done, and how likely."""
        told = "; or ".join(
            f"{100 * chance:.3g} %: {_phrase_at_level(part)}"
            for chance, part in zip(self.chances, self.parts, strict=True)
        )
        return f"one of the following, drawn each time, all strengths times {{level}}: {told}"

    @property
    def view(self) -> View:
        """As the most particular part sees it."""
        return _common_view(self.parts)

    def levels(self, bounds: Interval | None) -> Interval:
        """1 is every part as stated."""
        return SHARES

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """A number for the choice, and what each part would draw."""
        choice = stream.uniform((n,))
        return choice, tuple(part.draw(stream, n, shape) for part in self.parts)

    def apply(self, x: Array, drawn: Drawn, level: Level, bounds: Interval | None) -> Array:
        """Each row by the part that was drawn for it."""
        choice, of_parts = drawn
        out = copy_rows(x, len(choice))
        if is_zero(level):
            return out
        xp = array_namespace(x)
        begun = 0.0
        for i, (part, chance) in enumerate(zip(self.parts, self.chances, strict=True)):
            end = 2.0 if i == len(self.parts) - 1 else begun + chance
            rows = xp.nonzero((choice >= begun) & (choice < end))[0]
            begun += chance
            if len(rows) == 0:
                continue
            given = x if len(x) == 1 else x[rows]
            strength = level_of(part) * (level if isinstance(level, int | float) else level[rows])
            out[rows] = part.apply(given, _take(of_parts[i], rows), strength, bounds)
        return out


def _take(drawn: Drawn, rows: Array) -> Drawn:
    return tuple(_take(d, rows) for d in drawn) if isinstance(drawn, tuple) else drawn[rows]


def _phrase_at_level(part: Perturbation) -> str:
    return part.phrase.replace("{level}", level_words(level_of(part)))


def _check_parts(kind: str, parts: Sequence[Perturbation], level: float | None) -> None:
    check_level(kind, level)
    if not parts:
        raise InvalidArgument(f"a {kind} needs at least one part")
    for part in parts:
        level_of(part)
    _common_view(parts)


def _common_view(parts: Sequence[Perturbation]) -> View:
    """Images and signals cannot be seen at once; plain values can be seen as either."""
    views = {part.view for part in parts} - {View.VALUES}
    if len(views) > 1:
        raise InvalidArgument("perturbations of images and of signals cannot be combined")
    return views.pop() if views else View.VALUES
