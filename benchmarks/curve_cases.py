"""The worlds in which methods for curves are compared, and how a run of one is scored."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from surefoot.procedure import Session
from surefoot.results import Curve

Floats = NDArray[np.float64]
Right = NDArray[np.bool_]
_WAVES = 3


@dataclass(frozen=True)
class Measured:
    """A curve as it was measured, with straight lines between; levels are shares of the range."""

    name: str
    levels: Floats
    accuracies: Floats
    two_sided: bool

    def __call__(self, levels: Floats | float) -> Floats:
        """The accuracy there."""
        return np.asarray(np.interp(levels, self.levels, self.accuracies))

    @property
    def breaks(self) -> tuple[float, ...]:
        """Where the perturbation is none, if that lies inside the range: in the middle of all."""
        return (0.5,) if self.two_sided else ()


def measured(folder: Path) -> list[Measured]:
    """The curves of accuracy_curves.csv."""
    rows: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with (folder / "accuracy_curves.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            name = f"{row['model']} {row['alteration']}"
            rows[name].append((float(row["level"]), float(row["accuracy"])))
    curves = []
    for name, points in rows.items():
        levels, accuracies = (np.array(column) for column in zip(*sorted(points), strict=True))
        shares = (levels - levels[0]) / (levels[-1] - levels[0])
        assert levels[0] == 0 or levels[0] == -levels[-1]
        curves.append(Measured(name, shares, accuracies, two_sided=bool(levels[0] < 0)))
    return curves


@dataclass(frozen=True, eq=False)
class Images:
    """A finite set: image i is right at a level if its rank is below the accuracy there.

    With `wiggle`, ranks rise and fall by about so much with the level, each in its own way: images
    come and go a little, and the curve of the set is not as smooth as the one it came from.
    """

    ranks: Floats
    wiggle: float
    frequency: Floats
    phase: Floats

    @classmethod
    def drawn(cls, size: int, wiggle: float, rng: np.random.Generator) -> Self:
        """As many images, independently."""
        frequency = rng.uniform(1, 12, (size, _WAVES))
        phase = rng.uniform(0, 1, (size, _WAVES))
        return cls(rng.uniform(size=size), wiggle, frequency, phase)

    def right(self, curve: Measured, level: float) -> Right:
        """Which images are right at a level."""
        return np.asarray(self._ranks(np.array([level]))[0] < curve(level))

    def accuracies(self, curves: Sequence[Measured], levels: Floats) -> Floats:
        """The accuracy over the set: a row a curve, a column a level."""
        pieces = []
        for part in np.array_split(levels, 1 + len(levels) * len(self.ranks) // 1_000_000):
            ranks = self._ranks(part)
            pieces.append([(ranks < c(part)[:, None]).mean(axis=1) for c in curves])
        return np.concatenate(pieces, axis=1)

    def _ranks(self, levels: Floats) -> Floats:
        if not self.wiggle:
            return np.broadcast_to(self.ranks, (len(levels), len(self.ranks)))
        waves = np.zeros((len(levels), len(self.ranks)))
        for k in range(_WAVES):
            waves += np.sin(2 * np.pi * (levels[:, None] * self.frequency[:, k] + self.phase[:, k]))
        return self.ranks + waves * (self.wiggle / math.sqrt(_WAVES / 2))


class Shuffled:
    """A set of images under one curve, met in a random order."""

    def __init__(self, images: Images, curve: Measured, rng: np.random.Generator) -> None:
        self.images, self.curve = images, curve
        self.order = rng.permutation(len(images.ranks))
        self._right_by_level: dict[float, Right] = {}

    def right(self, level: float) -> Right:
        """By place in the order."""
        if level not in self._right_by_level:
            self._right_by_level[level] = self.images.right(self.curve, level)[self.order]
        return self._right_by_level[level]

    def accuracies(self, levels: Floats) -> Floats:
        """Over the set."""
        accuracies: Floats = self.images.accuracies([self.curve], levels)[0]
        return accuracies


@dataclass(frozen=True)
class Truth:
    """The robustness as a fine grid shows it, and how far that may be off."""

    value: float
    off: float


def truth(
    accuracy: Callable[[Floats], Floats], rough: Floats, threshold: float, finer: int = 16
) -> Truth:
    """From accuracies on an even grid of shares, cut finer beside every crossing on it.

    It may be off by half a step of the finer grid for each crossing.
    """
    cells = len(rough) - 1
    shares = np.linspace(0, 1, cells + 1)
    turns = np.flatnonzero(np.diff(rough >= threshold))
    near = np.unique(np.clip(turns[:, None] + np.arange(-2, 3), 0, cells - 1))
    inside = np.arange(1, finer) / finer
    fine = ((near[:, None] + inside) / cells).ravel()
    if len(fine):
        order = np.argsort(every := np.concatenate([shares, fine]))
        shares, rough = every[order], np.concatenate([rough, accuracy(fine)])[order]
    above = rough >= threshold
    value = float(np.sum(np.diff(shares) * (above[1:].astype(float) + above[:-1]) / 2))
    crossings = int(np.count_nonzero(np.diff(above)))
    return Truth(value, max(1, crossings) / cells / finer / 2)


@dataclass(frozen=True)
class Run:
    """One method on one case."""

    case: str
    levels: int
    evaluations: float
    """In units of the whole set."""
    error: float
    covers: bool
    width: float


def scored(case: str, procedure: Any, right: Callable[[float], Right], true: Truth) -> Run:  # noqa: ANN401
    """Drive a procedure for one threshold on images in a random order, and hold it to the truth."""
    curve, evaluations, levels = driven(procedure, right)
    reading = curve.readings[0]
    low, high = reading.interval.low - true.off, reading.interval.high + true.off
    return Run(
        case,
        levels,
        evaluations / curve.size,
        abs(reading.value - true.value),
        low - 1e-9 <= true.value <= high + 1e-9,
        reading.interval.width,
    )


def driven(procedure: Any, right: Callable[[float], Right]) -> tuple[Curve, int, int]:  # noqa: ANN401
    """Answer every question; the result, how many images were evaluated, and at how many levels."""
    session: Session[Any, Any, Curve] = Session(procedure)
    evaluations, levels = 0, set()
    while (question := session.question) is not None:
        several = isinstance(question, tuple)
        answers = []
        for ask in question if several else (question,):
            start = ask.start or 0
            marks = np.where(right(ask.level)[start : start + ask.units], -1.0, 1.0)
            answers.append(procedure.evidence.of(marks, 0.0))
            evaluations += ask.units
            levels.add(ask.level)
        session.tell(answers if several else answers[0])
    return session.result, evaluations, len(levels)
