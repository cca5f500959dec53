"""A gradient attack as a method: one search of the ball around each input."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from surefoot.errors import InvalidArgument
from surefoot.evidence import Proof
from surefoot.procedure import Needs
from surefoot.region.critical_level import bracket_of
from surefoot.results import Bracket

FOUND, NOT_FOUND, NO_GRADIENT, WRONG_CLEAN = (
    "a point that fails was found",
    "no point that fails was found",
    "every gradient was zero",
    "fails when clean",
)
CONFIRMED = "the model gives the same label when the point is run again"


@dataclass(frozen=True)
class Attack:
    """How hard to search: starts towards each target class, gradient steps of each.

    The first start is the input itself, the others are random points of the ball. `targets`: how
    many of the other classes are aimed at, those of the highest scores first.
    """

    starts: int = 2
    iterations: int = 20
    targets: int = 9
    needs: ClassVar[Needs] = Needs.REGION
    evidence: ClassVar[type[Proof]] = Proof
    error: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        for name in ("starts", "iterations", "targets"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise InvalidArgument(f"attack.{name} must be an integer ≥ 1, got {value}")

    def steps(self) -> Generator[int, Proof, Bracket]:
        """One question an input: search the ball."""
        return bracket_of((yield 1), CONFIRMED)
