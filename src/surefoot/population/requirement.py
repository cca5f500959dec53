"""Whether what is known of a population, or of each of its classes, meets a requirement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from surefoot.errors import InvalidArgument
from surefoot.results import (
    Decision,
    Estimate,
    ExtrapolatedMean,
    Footing,
    Guarantee,
    Interval,
    Result,
    Undecided,
    Whole,
)
from surefoot.statistics.multiplicity import holm

SAMPLED = "the inputs are an independent random sample of the population they stand for"


@dataclass(frozen=True)
class Evidence:
    """Two p-values: small `above` shows that a requirement is met, small `below` that it is not."""

    above: float
    below: float


class Population(Protocol):
    """From local results to a statement about the population the inputs come from."""

    @property
    def error(self) -> float:
        """How often at most the statement may be wrong."""
        ...

    @property
    def kind(self) -> str:
        """Its name in a specification."""
        ...

    @property
    def quantity(self) -> str:
        """What it is about, in words."""
        ...

    def conclude(self, local: Sequence[Result], error: float) -> Whole:
        """The statement, spending `error`. The order of `local` must not depend on the values."""
        ...

    def studied(self, local: Sequence[Result]) -> Estimate | None:
        """The same quantity of these inputs themselves, whatever they were drawn from."""
        ...

    def difference(
        self, first: Sequence[Result], second: Sequence[Result], error: float
    ) -> Interval:
        """How much larger the first quantity is, from two results for each input."""
        ...

    def evidence(self, local: Sequence[Result], least: float) -> Evidence:
        """How surely the quantity is at least `least`, and how surely it is less."""
        ...

    def strongest(self, local: Sequence[Result], whole: Whole) -> tuple[Decision, ...]:
        """The strongest claims the evidence allows."""
        ...


def sound(whole: Whole) -> Estimate | Undecided:
    """The part of a statement that carries a guarantee."""
    match whole:
        case ExtrapolatedMean(counted=plain) | Undecided(counted=Estimate() as plain):
            return plain
        case _:
            return whole


def requirement(
    whole: Estimate | Undecided, least: float, what: str, inputs: int = 0
) -> Decision | Undecided:
    """Whether `what` of the population is at least `least`, as far as its interval tells."""
    _check(least)
    claim = f"{what} is at least {least!r}"
    if isinstance(whole, Undecided):
        return whole
    if whole.interval.low >= least:
        return Decision(claim, True, whole.guarantee, whole.trials)
    if whole.interval.high < least:
        return Decision(claim, False, whole.guarantee, whole.trials)
    return Undecided(
        f"{least!r} lies within the interval from {whole.interval.low:.4f} to "
        f"{whole.interval.high:.4f}: {_more(whole, least, inputs)} would narrow it",
        whole.trials,
    )


def _more(whole: Estimate, least: float, inputs: int) -> str:
    """How many inputs would likely be enough: an interval shrinks like one over their root."""
    near = whole.value - whole.interval.low if whole.value > least else whole.interval.high - least
    apart = abs(whole.value - least)
    if not inputs or apart < near / 30:
        return "more inputs"
    return f"more inputs (about {_rounded(inputs * (near / apart) ** 2):,} in all)"


def _rounded(n: float) -> int:
    """Two digits, upwards."""
    unit = 10.0 ** max(0, math.floor(math.log10(max(n, 1))) - 1)
    return int(math.ceil(n / unit) * unit)


@dataclass(frozen=True)
class Each:
    """A requirement of every class: the claim that all meet it, and each class by itself."""

    together: Decision | Undecided
    classes: Mapping[str, Decision | Undecided]


def requirement_of_each(
    over: Population, groups: Mapping[str, Sequence[Result]], least: float
) -> Each:
    """Whether the quantity of every class is at least `least`.

    All meet it if each one's own evidence says so: were one below, that one would pass with
    probability at most the error. That one is below is claimed at p-values adjusted for the number
    of classes (Holm). Which classes meet it and which do not, all together, at half the error each.
    """
    _check(least)
    if not groups:
        raise InvalidArgument("there are no classes to require anything of")
    error = over.error
    found = {name: over.evidence(local, least) for name, local in groups.items()}
    above, below = (holm([getattr(e, side) for e in found.values()]) for side in ("above", "below"))
    promise = Guarantee(Footing.CONDITIONAL, error, (SAMPLED,))
    trials = {name: sum(r.trials for r in local) for name, local in groups.items()}
    rows: dict[str, Decision | Undecided] = {}
    for name, up, down in zip(groups, above, below, strict=True):
        claim = f"{over.quantity} of class {name} is at least {least!r}"
        if min(up, down) <= error / 2:
            holds = up <= down
            rows[name] = Decision(
                claim, holds, promise, trials[name], p_value=min(1.0, 2 * min(up, down))
            )
        else:
            rows[name] = Undecided(f"the evidence does not decide {least!r}", trials[name])
    claim, total = f"{over.quantity} of every class is at least {least!r}", sum(trials.values())
    if all(e.above <= error for e in found.values()):
        return Each(Decision(claim, True, promise, total), rows)
    if min(below) <= error:
        return Each(Decision(claim, False, promise, total), rows)
    doubtful = [name for name, e in found.items() if e.above > error]
    shown = ", ".join(doubtful[:5]) + (", …" if len(doubtful) > 5 else "")
    told = f"class {shown}" if len(doubtful) == 1 else f"{len(doubtful)} classes ({shown})"
    return Each(Undecided(f"{told} may lie on either side of {least!r}", total), rows)


def at_least(whole: Whole, what: str) -> tuple[Decision, ...]:
    """The largest requirement that the interval of the population meets, if it meets any."""
    plain = sound(whole)
    if isinstance(plain, Undecided):
        return ()
    least = math.floor(1e4 * plain.interval.low) / 1e4
    claim = f"{what} of the population is at least {least:g}"
    return (Decision(claim, True, plain.guarantee, plain.trials),) * (least > 0)


def _check(least: float) -> None:
    if not 0 <= least <= 1:
        raise InvalidArgument(f"a required robustness lies between 0 and 1, got {least}")
