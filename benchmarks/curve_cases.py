"""Published curves as sets of images, and how a run of a method for curves is scored."""

from __future__ import annotations

import csv
import hashlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Outcomes
from surefoot.core.procedure import Session
from surefoot.core.results import Curve

Floats = NDArray[np.float64]
Right = NDArray[np.bool_]
Answer = Callable[[float, int, int], Right]
"""From a level, a first trial and a number of trials to which of them are right."""
ROUNDING = 1e-9
DRAWING = "GN"
"""The published perturbation that draws: Gaussian noise."""


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
    def clean(self) -> float:
        """Where the perturbation is none: at the lowest level or in the middle."""
        return 0.5 if self.two_sided else 0.0

    @property
    def held_out(self) -> bool:
        """Whether no constant may be chosen on it: half of the curves, by a digest of the name."""
        return bool(hashlib.sha256(self.name.encode()).digest()[0] % 2)

    @property
    def draws(self) -> bool:
        """Whether the perturbation is random at a level."""
        return self.name.endswith(DRAWING)

    def own_thresholds(self, shares: tuple[float, ...]) -> tuple[float, ...]:
        """Thresholds at these shares of the curve's own range."""
        low, high = float(self.accuracies.min()), float(self.accuracies.max())
        return tuple(low + share * (high - low) for share in shares)


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


def ranked(ranks: Floats, curve: Callable[[float], Floats]) -> Answer:
    """Images in this order, each right where its rank is below the curve."""
    return lambda level, start, units: ranks[start : start + units] < curve(level)


def drawn(curve: Callable[[float], Floats], rng: np.random.Generator) -> Answer:
    """Every trial on its own, right as likely as the curve says."""
    return lambda level, start, units: rng.random(units) < curve(level)


@dataclass(frozen=True)
class Run:
    """One method on one case."""

    case: str
    levels: int
    evaluations: float
    """In units of the whole set."""
    value: float
    low: float
    high: float
    truth: float
    contradicted: bool
    off: float = 0.0
    """How far the truth itself may be off, where it is that of a fine grid."""

    @property
    def error(self) -> float:
        """How far the value is off."""
        return abs(self.value - self.truth)

    @property
    def width(self) -> float:
        """Of the interval."""
        return self.high - self.low

    @property
    def covers(self) -> bool:
        """Whether the interval holds the truth."""
        return self.meets(self.truth - self.off, self.truth + self.off)

    def meets(self, lowest: float, highest: float) -> bool:
        """Whether the interval meets this one."""
        return self.low - ROUNDING <= highest and lowest <= self.high + ROUNDING

    @property
    def crosses(self) -> bool:
        """Whether the curve meets the threshold inside the range."""
        return ROUNDING < self.truth < 1 - ROUNDING


def scored(
    case: str,
    procedure: Any,  # noqa: ANN401  any method, any evidence
    answer: Answer,
    truth: float,
    off: float = 0.0,
    stays: float | None = None,
) -> Run:
    """Drive a procedure for one threshold, and hold it to the truth; to `stays` where its interval
    is about the levels around the clean one alone.
    """
    curve, evaluations, levels = driven(procedure, answer)
    reading = curve.readings[0]
    if stays is not None and getattr(procedure, "assume", "") == "bounded-rise":
        truth = truth if reading.guarantee.assumptions[0].contradicted else stays
    return Run(
        case,
        levels,
        evaluations / procedure.size,
        reading.value,
        reading.interval.low,
        reading.interval.high,
        truth,
        bool(curve.contradiction),
        off,
    )


def driven(procedure: Any, answer: Answer) -> tuple[Curve, int, int]:  # noqa: ANN401  any method, any evidence
    """Answer every question; the result, how many trials were run, and at how many levels."""
    session: Session[Any, Any, Curve] = Session(procedure)
    evaluations, levels = 0, set()
    while (question := session.question) is not None:
        several = isinstance(question, tuple)
        answers = []
        for ask in question if several else (question,):
            right = answer(ask.level, ask.start or 0, ask.units)
            assert len(right) == ask.units, f"there are not so many trials: {ask}"
            answers.append(collected(procedure.evidence, right))
            evaluations += ask.units
            levels.add(ask.level)
        session.tell(answers if several else answers[0])
    return session.result, evaluations, len(levels)


def collected(evidence: Any, right: Right) -> Any:  # noqa: ANN401  any method, any evidence
    """The evidence of these trials; outcomes by a shorter way, as some runs have millions."""
    if evidence is Outcomes:
        return Outcomes((right.astype(np.uint8) + ord("0")).tobytes().decode())
    return evidence.of(np.where(right, -1.0, 1.0), 0.0)
