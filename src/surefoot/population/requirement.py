"""Whether what is known of a population, or of each of its classes, meets a requirement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Protocol

from surefoot.core.assumptions import Assumed, Assumption, TheseGroups
from surefoot.core.claims import Continues, Sampling
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import (
    Decision,
    Estimate,
    ExtrapolatedMean,
    Guarantee,
    Interval,
    Result,
    Undecided,
    Whole,
)
from surefoot.errors import InvalidArgument
from surefoot.population.groups import Sampled, is_grouped, unit_word
from surefoot.statistics.bounds import holm

_MOST_FORECAST = 100_000
"""Inputs beyond which a forecast says "more than": nobody plans a run by a larger number."""


def assumptions_of_sample(sampling: Sampling, sampled: Sequence[Any]) -> tuple[Assumption, ...]:
    """What a statement about the population takes for granted of the inputs."""
    if sampling is Sampling.GROUPED or is_grouped(sampled):
        return TheseGroups(len(sampled)), Assumed.WHOLE_GROUPS
    return (Assumed.STRATIFIED if sampling is Sampling.STRATIFIED else Assumed.SAMPLED,)


def assumptions_within(sampling: Sampling | None) -> tuple[Assumption, ...]:
    """What a statement about one class takes for granted of its inputs."""
    if sampling is Sampling.GROUPED:
        return Assumed.GROUPS_SAMPLED, Assumed.WHOLE_GROUPS
    return (Assumed.SAMPLED_WITHIN,)


@dataclass(frozen=True)
class PValues:
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

    def conclude(self, local: Sequence[Sampled], error: float) -> Whole:
        """The statement, spending `error`. The order of `local` must not depend on the values."""
        ...

    def studied(self, local: Sequence[Result]) -> Estimate | None:
        """The same quantity of these inputs themselves, whatever they were drawn from."""
        ...

    def difference(
        self, first: Sequence[Sampled], second: Sequence[Sampled], error: float
    ) -> Interval:
        """How much larger the first quantity is, from two results for each input."""
        ...

    def evidence(self, local: Sequence[Sampled], least: float) -> PValues:
        """How surely the quantity is at least `least`, and how surely it is less."""
        ...


def sound(whole: Whole) -> Estimate | Undecided:
    """The part of a statement that carries a guarantee."""
    match whole:
        case ExtrapolatedMean(counted=plain) | Undecided(counted=Estimate() as plain):
            return plain
        case _:
            return whole


def requirement(
    population: Population,
    local: Sequence[Sampled],
    least: float,
    continues: Continues = Continues.ONCE,
    unit: str = "inputs",
) -> Decision | Undecided:
    """Whether the quantity of the population is at least `least`.

    One-sided both ways: of PASS and FAIL only one can be wrong, so each may spend the whole error.
    `continues` says whether inputs may be added to these, `unit` how a forecast calls them.
    """
    _check(least)
    whole = sound(population.conclude(local, population.error))
    if isinstance(whole, Undecided):
        return whole
    evidence = population.evidence(local, least)
    promise = Guarantee.given(population.error, whole.guarantee.assumptions)
    claim = f"{population.quantity} is at least {least!r}"
    if evidence.above <= population.error:
        return Decision(claim, True, promise, whole.trials, p_value=evidence.above)
    if evidence.below <= population.error:
        return Decision(claim, False, promise, whole.trials, p_value=evidence.below)

    def decided(inputs: int) -> bool:
        likely = population.evidence(as_many(local, inputs), least)
        return min(likely.above, likely.below) <= population.error

    forecast = more_inputs(
        len(local), enough(decided, len(local)), continues, unit_word(local, unit)
    )
    return Undecided(Why.EVIDENCE_OPEN.of(forecast), whole.trials)


def enough(decided: Callable[[int], bool], inputs: int) -> int | None:
    """Inputs in all that would likely decide; None for very many.

    `decided` supposes that further inputs are as these. A forecast, to two digits, not a claim.
    """
    low, high = inputs, 2 * inputs
    while not decided(high):
        low, high = high, 2 * high
        if high > _MOST_FORECAST:
            return None
    while high > 1.05 * low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    unit = 10.0 ** max(0, math.floor(math.log10(max(high, 1))) - 1)
    return int(math.ceil(high / unit) * unit)


def least_number(decides: Callable[[int], bool], most: int, parts: int) -> int | None:
    """The first number from which on it decides, to one in so many parts; None beyond `most`."""
    low, high = 1, 2
    while not decides(high):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > max(1, low // parts):
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high


def as_many(local: Sequence[Sampled], inputs: int) -> list[Sampled]:
    """These results over again, until they are so many."""
    return list(islice(cycle(local), inputs))


def more_inputs(
    inputs: int, needed: int | None, continues: Continues, unit: str = "inputs"
) -> Reason:
    """What would decide a question that these inputs leave open, and at what price.

    `unit` says what was sampled: inputs, cases or groups.
    """
    beyond = Why.MORE_THAN.of(max(_MOST_FORECAST, inputs))
    many = beyond if needed is None else Why.ABOUT.of(needed)
    added = continues is Continues.ANYTIME
    return (Why.ADDED_WOULD_DECIDE if added else Why.NEW_RUN_WOULD_DECIDE).of(many, unit)


@dataclass(frozen=True)
class Each:
    """A requirement of every class: the claim that all meet it, and each class by itself."""

    together: Decision | Undecided
    classes: Mapping[str, Decision | Undecided]


def requirement_of_each(
    population: Population,
    groups: Mapping[str, Sequence[Sampled]],
    least: float | Mapping[str, float],
) -> Each:
    """Whether the quantity of every class is at least `least`, or at least its own number.

    All meet it if each one's own evidence says so: were one below, that one would pass with
    probability at most the error. That one is below is claimed at p-values adjusted for the number
    of classes (Holm). Which classes meet it and which do not, all together, at half the error each.
    """
    if not groups:
        raise InvalidArgument("a requirement of every class needs at least one class, got none")
    each = dict(least) if isinstance(least, Mapping) else dict.fromkeys(groups, least)
    for number in each.values():
        _check(number)
    error = population.error
    evidence_by_class = {n: population.evidence(local, each[n]) for n, local in groups.items()}
    above, below = (
        holm([getattr(e, side) for e in evidence_by_class.values()]) for side in ("above", "below")
    )
    grouped = Sampling.GROUPED if any(map(is_grouped, groups.values())) else None
    promise = Guarantee.given(error, assumptions_within(grouped))
    trials = {name: sum(r.trials for r in local) for name, local in groups.items()}
    sides = 1 if len(groups) == 1 else 2  # of one class only one of the two answers can be wrong
    rows: dict[str, Decision | Undecided] = {}
    for name, up, down in zip(groups, above, below, strict=True):
        claim = f"{population.quantity} of class {name} is at least {each[name]!r}"
        if min(up, down) <= error / sides:
            holds, p = up <= down, min(1.0, sides * min(up, down))
            rows[name] = Decision(claim, holds, promise, trials[name], p_value=p)
        else:
            rows[name] = Undecided(Why.CLASS_OPEN.of(each[name]), trials[name])
    claim = f"{population.quantity} of every class is at least what is required of it"
    total = sum(trials.values())
    if all(e.above <= error for e in evidence_by_class.values()):
        return Each(Decision(claim, True, promise, total), rows)
    if min(below) <= error:
        return Each(Decision(claim, False, promise, total), rows)
    doubtful = [name for name, e in evidence_by_class.items() if e.above > error]
    return Each(Undecided(Why.CLASSES_OPEN.of(len(doubtful), *doubtful[:5]), total), rows)


def _check(least: float) -> None:
    if not 0 <= least <= 1:
        raise InvalidArgument(
            f"required robustness must lie between 0 and 1, got {least}: try 0.95"
        )
