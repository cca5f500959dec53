"""The critical level of an input: how far it can be disturbed before its label can change."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from surefoot.errors import InvalidArgument
from surefoot.evidence import Proof
from surefoot.procedure import Ask
from surefoot.results import Bracket, Footing, Guarantee, Interval

ARITHMETIC = "float64 bounds with an allowance for rounding are true of the model as it runs"
_FIRST = 5.0


@dataclass(frozen=True)
class CriticalLevel:
    """Prove and attack until the bracket is as narrow as `tolerance`, or the seconds are spent.

    A first, short try, then one with all the time: what the first one proved is kept if the second
    is interrupted. `quantile` and `error` are for what is said of the population.
    """

    tolerance: float = 0.002
    seconds: float = 60.0
    quantile: float = 0.05
    error: float = 0.05
    proves: ClassVar[bool] = True
    evidence: ClassVar[type[Proof]] = Proof

    def __post_init__(self) -> None:
        if not 1e-6 <= self.tolerance <= 1:
            raise InvalidArgument(
                f"tolerance is the width of a bracket, from 1e-6 to 1, got {self.tolerance:g}: "
                "try 0.002"
            )
        if not 0 < self.seconds < math.inf:
            raise InvalidArgument(f"seconds for an input: above 0, got {self.seconds:g}: try 60")
        if not 0 < self.quantile < 1:
            raise InvalidArgument(
                f"a quantile lies between 0 and 1, got {self.quantile:g}: try 0.05"
            )
        if not 1e-9 <= self.error < 1:
            raise InvalidArgument(
                f"error must lie between 0 and 1, got {self.error}: it is 1 - confidence, try 0.05"
            )

    @property
    def efforts(self) -> tuple[float, ...]:
        """The seconds of each try."""
        return (self.seconds,) if self.seconds <= 2 * _FIRST else (_FIRST, self.seconds)

    def steps(self) -> Generator[Ask, Proof, Bracket]:
        """Ask for one try after the other until the bracket is narrow enough."""
        found = yield Ask(0.0, 1)
        for _ in self.efforts[1:]:
            if found.width <= self.tolerance * (1 + 1e-9):
                break
            found = found + (yield Ask(0.0, 1))
        high = math.inf if found.high is None else found.high
        promise = Guarantee(Footing.CONDITIONAL, 0.0, ARITHMETIC)
        return Bracket(Interval(found.low, high), promise, found.reason, found.nodes)
