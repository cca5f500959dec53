"""The critical level of an input: how far it can be perturbed before its label can change."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, Protocol

from surefoot.errors import InvalidArgument
from surefoot.evidence import Proof, closed_to
from surefoot.procedure import Ask, Needs
from surefoot.results import Bracket, Footing, Guarantee, Interval

ARITHMETIC = "the model computes exactly, in real arithmetic (a run in float32 may differ)"
_LEFT_ALONE = {
    "refuted at the goal": "no more was asked than a counterexample",
    "proved at the goal": "proved as far as was asked",
}
_FIRST, _LONG = 5.0, 100.0


class Proving(Protocol):
    """What every search for critical levels needs to know."""

    @property
    def tolerance(self) -> float:
        """How narrow a bracket is to be."""
        ...

    @property
    def seconds_per_input(self) -> float:
        """CPU seconds for an input."""
        ...

    @property
    def quantile(self) -> float:
        """Which quantile."""
        ...

    @property
    def error(self) -> float:
        """How likely the interval of the quantile may be wrong."""
        ...

    @property
    def samples(self) -> int:
        """Points drawn within each radius."""
        ...


def check_proving(asked: Proving) -> None:
    """Refuse what no proof can be asked for."""
    tolerance, seconds, quantile, error = (
        asked.tolerance,
        asked.seconds_per_input,
        asked.quantile,
        asked.error,
    )
    if not 1e-6 <= tolerance <= 1:
        raise InvalidArgument(
            f"tolerance is the width of a bracket, from 1e-6 to 1, got {tolerance:g}: try 0.002"
        )
    if not 0 < seconds < math.inf:
        raise InvalidArgument(f"seconds for an input: above 0, got {seconds:g}: try 60")
    if not 0 < quantile < 1:
        raise InvalidArgument(f"a quantile lies between 0 and 1, got {quantile:g}: try 0.05")
    if not 1e-9 <= error < 1:
        raise InvalidArgument(
            f"error must lie between 0 and 1, got {error}: it is 1 - confidence, try 0.05"
        )
    if asked.samples < 0:
        raise InvalidArgument(f"samples are at least 0 for a radius, got {asked.samples}: try 200")


def bracket_of(proof: Proof, assumption: str = ARITHMETIC) -> Bracket:
    """What is known of one input, and what that rests on."""
    return Bracket(
        Interval(proof.low, proof.far),
        Guarantee(Footing.CONDITIONAL, 0.0, (assumption,)),
        _LEFT_ALONE.get(proof.reason, proof.reason),
        proof.nodes,
        proof.seconds,
        proof.discarded,
        proof.witness,
    )


@dataclass(frozen=True)
class CriticalLevel:
    """Prove and attack until the bracket is as narrow as `tolerance`, or the seconds are spent.

    A first, short try, then one or two with the rest of the time, each from where the last one
    ended: what one has proved is kept if the next is interrupted. `quantile` and `error` are for
    what is said of the population; `samples` points are drawn within each of some radii, as the
    statistical counterpart. `verifier` is the command of another prover, in place of ours.
    """

    tolerance: float = 0.002
    seconds_per_input: float = 60.0
    quantile: float = 0.05
    error: float = 0.05
    samples: int = 200
    verifier: str = ""
    needs: ClassVar[Needs] = Needs.RADII
    evidence: ClassVar[type[Proof]] = Proof

    def __post_init__(self) -> None:
        check_proving(self)

    @property
    def efforts(self) -> tuple[float, ...]:
        """The seconds of each try."""
        if self.seconds_per_input <= 2 * _FIRST:
            return (self.seconds_per_input,)
        rest = self.seconds_per_input - _FIRST
        return (_FIRST, rest) if rest <= _LONG else (_FIRST, rest / 4, rest * 3 / 4)

    def steps(self) -> Generator[Ask, Proof, Bracket]:
        """Ask for one try after the other until the bracket is narrow enough."""
        found = yield Ask(0.0, 1)
        for _ in self.efforts[1:]:
            if closed_to(found.low, found.far, self.tolerance):
                break
            found = found + (yield Ask(0.0, 1, known=found))
        return bracket_of(found, self.assumption)

    @property
    def assumption(self) -> str:
        """What a lower end rests on."""
        if not self.verifier:
            return ARITHMETIC
        return f"the proofs are those of {self.verifier!r}, in its own arithmetic, not checked here"
