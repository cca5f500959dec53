"""What a record keeps of an attack."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attacked:
    """How a gradient attack fared, or the reason why there is none; then there is no rate.

    `broken`: the ids of inputs with a point in the ball at which the model itself breaks the
    property; `undisturbed` of them do so where they are. `blind`: inputs not broken at which every
    gradient was zero. `discarded`: points that the model did not confirm.
    """

    starts: int
    steps: int
    rivals: int
    inputs: int
    level: float
    ball: str = ""
    failure_rate: float | None = None
    broken: tuple[str, ...] = ()
    undisturbed: int = 0
    blind: int = 0
    discarded: int = 0
    seconds: float = 0.0
    reason: str = ""
