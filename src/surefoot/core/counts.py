"""What a bench returns to a procedure: small, mergeable, storable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Particle

Floats = NDArray[np.floating]


class Sampled(Protocol):
    """Evidence that can be made from a batch of severities and adds up over batches."""

    @classmethod
    def of(cls, severities: Floats, limit: float) -> Self:
        """Summarise one batch."""

    def __add__(self, other: Self, /) -> Self:
        """Merge with the batch that comes right after this one."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many trials were run, and how many of them were kept.

    `other`: of an input whose clean label is not the true one, how many had the other of the two
    labels; None where both are the same, or where the property is not about labels.
    """

    trials: int
    kept: int
    other: int | None = None

    @classmethod
    def of(cls, severities: Floats, limit: float) -> Self:
        """Count the severities strictly below the limit: a tie fails."""
        return cls(len(severities), int(np.count_nonzero(severities < limit)))

    def __add__(self, other: Self, /) -> Self:
        """Merge two disjoint batches."""
        known = self.other is not None and other.other is not None
        both = (self.other or 0) + (other.other or 0) if known else None
        return type(self)(self.trials + other.trials, self.kept + other.kept, both)

    @property
    def failed(self) -> int:
        """How many were not kept."""
        return self.trials - self.kept

    @property
    def rate(self) -> float:
        """The observed share of trials that were kept."""
        return self.kept / self.trials


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Each trial in order: 1 if it was kept, 0 if it failed."""

    marks: str

    @classmethod
    def of(cls, severities: Floats, limit: float) -> Self:
        """Mark the severities strictly below the limit."""
        return cls((np.asarray(severities < limit, dtype=np.uint8) + ord("0")).tobytes().decode())

    def __add__(self, other: Self, /) -> Self:
        """Append the next batch."""
        return type(self)(self.marks + other.marks)

    @property
    def goodness(self) -> Floats:
        """1 for each trial kept, 0 for each that failed."""
        return np.frombuffer(self.marks.encode(), dtype=np.uint8) - 48.0


@dataclass(frozen=True, slots=True)
class Severities:
    """The severities themselves, in the order of the trials, for methods that fit them."""

    values: tuple[float, ...]
    limit: float

    @classmethod
    def of(cls, severities: Floats, limit: float) -> Self:
        """Keep the batch as it is."""
        return cls(tuple(severities.tolist()), limit)

    def __add__(self, other: Self, /) -> Self:
        """Append the next batch."""
        return type(self)(self.values + other.values, self.limit)

    @property
    def goodness(self) -> Floats:
        """How far each trial was from the worst, for severities between 0 and 1."""
        return 1.0 - np.array(self.values)


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of one input's critical radius: proved up to `low`, refuted at `high`.

    `high` is None while no counterexample is known; `witness` is the counterexample, its float64
    values as base64. `discarded` counts those that the model itself did not confirm.
    """

    low: float
    high: float | None
    witness: str
    reason: str
    nodes: int
    seconds: float
    discarded: int = 0

    def __add__(self, other: Self, /) -> Self:
        """What both proofs say together."""
        nearer = self if self.far <= other.far else other
        return type(self)(
            max(self.low, other.low),
            nearer.high,
            nearer.witness,
            other.reason,
            self.nodes + other.nodes,
            self.seconds + other.seconds,
            self.discarded + other.discarded,
        )

    @property
    def far(self) -> float:
        """The upper end; infinite while there is none."""
        return math.inf if self.high is None else self.high


_SCALES = (1.0, 0.5, 2.0, 0.25)
"""Of the steps of a chain in turn, relative to its scale: one of them suits a severity that needs
shorter or longer steps than a linear one, without looking at what was accepted."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Move a particle of this severity by a chain of steps that stay above the severity `above`.

    A step of scale s takes the normal numbers z behind a perturbation to ρ·z + √(1-ρ²)·ξ, with
    ρ = (1-s²)/(1+s²) and new normal numbers ξ, which keeps their law. So the chain keeps the law
    of perturbations whose severity is above `above`.
    """

    particle: Particle
    severity: float
    above: float
    scale: float


def step_weights(step: int, scale: float) -> tuple[float, float]:
    """ρ and √(1-ρ²) of this step of a chain."""
    s = min(1.0, scale * _SCALES[step % len(_SCALES)])
    return (1 - s * s) / (1 + s * s), 2 * s / (1 + s * s)


@dataclass(frozen=True, slots=True)
class Chained:
    """Where a chain of steps ended: the severity there, and 1 for each step that was accepted."""

    severity: float
    accepted: str


Known = Proof | Steps
"""What an answer builds on."""
Answer = Counts | Outcomes | Severities | Proof | Chained
"""What a bench answers to a task: one kind in all of a run."""
_CLOSED_SLACK = 1 + 1e-6
"""A bracket counts as closed up to this factor on the tolerance: its ends are rounded outwards, so
a bracket that is exactly as wide as the tolerance is stored a little wider."""


def closed_to(low: float, high: float, tolerance: float) -> bool:
    """Whether a bracket from `low`, proved, to `high`, refuted, is as narrow as the tolerance."""
    return high - low <= tolerance * _CLOSED_SLACK
