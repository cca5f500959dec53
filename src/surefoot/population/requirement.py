"""Whether what is known of a population, or of each of its classes, meets a requirement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from surefoot.core.assumptions import Assumed, Assumption
from surefoot.core.claims import Continues, Sampling
from surefoot.core.limits import check_value, limit
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import (
    Decision,
    Estimate,
    ExtrapolatedMean,
    Guarantee,
    Undecided,
    Whole,
)
from surefoot.errors import InvalidArgument
from surefoot.population.groups import Sampled, is_grouped, unit_word
from surefoot.population.mean import Mean, TailMean
from surefoot.population.share import RobustShare
from surefoot.statistics.bounds import holm
from surefoot.statistics.counted import rung

_MOST_FORECAST = 100_000
"""Inputs beyond which a forecast says "more than": nobody plans a run by a larger number."""


Population = Mean | TailMean | RobustShare
"""From local results, in an order that no value decides, to a statement about the population."""

_LEAST = limit(lambda share: 0 <= share <= 1, "lie between 0 and 1", "try 0.95")


def assumptions_within(sampling: Sampling | None) -> tuple[Assumption, ...]:
    """What a statement about one class takes for granted of its inputs."""
    if sampling is Sampling.GROUPED:
        return Assumed.GROUPS_SAMPLED, Assumed.WHOLE_GROUPS
    return (Assumed.SAMPLED_WITHIN,)


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
    run: int | None = None,
    unit: str = "inputs",
) -> Decision | Undecided:
    """Whether the quantity of the population is at least `least`.

    One-sided both ways: of PASS and FAIL only one can be wrong, so each may spend the whole error;
    of several runs of one study, of which this is number `run`, each spends its share of it. `unit`
    says how a forecast calls the inputs.
    """
    check_value("required robustness", least, _LEAST)
    whole = sound(population.conclude(local, population.error))
    if isinstance(whole, Undecided):
        return whole
    tested, now = population.tested(local, least), spent_by(population, run)
    later = now if run is None else spent_by(population, run + 1)
    evidence = tested.p_values
    promise = Guarantee.given(population.error, whole.guarantee.assumptions)
    claim = f"{population.quantity} is at least {least!r}"
    if evidence.above <= now:
        return Decision(claim, True, promise, whole.trials, p_value=evidence.above)
    if evidence.below <= now:
        return Decision(claim, False, promise, whole.trials, p_value=evidence.below)
    if least == 1:  # one more failure refutes it, and nothing shows it
        return Undecided(Why.EVIDENCE_OPEN.of(Why.OUT_OF_REACH.of(math.inf)), whole.trials)
    forecast = more_inputs(
        lambda inputs: tested.chance(inputs, later), len(local), unit_word(local, unit)
    )
    return Undecided(Why.EVIDENCE_OPEN.of(forecast), whole.trials)


def spent_by(population: Population, run: int | None) -> float:
    """What run number `run` of a study may spend on an answer; all of it where there is but one.

    Inputs may be added to a run with `anytime` for nothing; another run, as with another seed, is
    paid for like any other.
    """
    if not run and (run is None or population.continues is Continues.ANYTIME):
        return population.error
    return rung(population.error, run)


def without_plan(population: Any) -> Any:  # noqa: ANN401  any population
    """The same of a class: what was planned is a number of inputs of all classes."""
    planned = getattr(population, "anytime", False)
    return replace(population, anytime=True) if planned else population


_GOOD_CHANCE = 0.8
"""What a forecast of inputs aims at."""


def more_inputs(
    chance: Callable[[int], float], inputs: int, unit: str = "inputs", most: float = _MOST_FORECAST
) -> Reason:
    """How many inputs in all would decide, with what chance: a forecast to two digits, no claim.

    `unit` says what was sampled: inputs, cases or groups. Beyond `most` nobody plans a run by it.
    """
    low, high = inputs, 2 * inputs
    while (likely := chance(high)) < _GOOD_CHANCE:
        low, high = high, 2 * high
        if high > most:
            return Why.MANY_MAY_DECIDE.of(low, unit, likely)
    while high > 1.05 * low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= _GOOD_CHANCE else (middle, high)
    digits = 10.0 ** max(0, math.floor(math.log10(max(high, 1))) - 1)
    many = int(math.ceil(high / digits) * digits)
    return Why.LIKELY_DECIDES.of(many, unit, chance(many))


@dataclass(frozen=True)
class Each:
    """A requirement of every class: the claim that all meet it, and each class by itself."""

    together: Decision | Undecided
    classes: Mapping[str, Decision | Undecided]


def requirement_of_each(
    population: Population,
    groups: Mapping[str, Sequence[Sampled]],
    least: float | Mapping[str, float],
    run: int | None = None,
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
        check_value("required robustness", number, _LEAST)
    error, now = population.error, spent_by(population, run)
    population = without_plan(population)
    evidence_by_class = {
        name: population.tested(local, each[name]).p_values for name, local in groups.items()
    }
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
        if min(up, down) <= now / sides:
            holds, p = up <= down, min(1.0, sides * min(up, down))
            rows[name] = Decision(claim, holds, promise, trials[name], p_value=p)
        else:
            rows[name] = Undecided(Why.CLASS_OPEN.of(each[name]), trials[name])
    claim = f"{population.quantity} of every class is at least what is required of it"
    total = sum(trials.values())
    if all(e.above <= now for e in evidence_by_class.values()):
        return Each(Decision(claim, True, promise, total), rows)
    if min(below) <= now:
        return Each(Decision(claim, False, promise, total), rows)
    doubtful = [name for name, e in evidence_by_class.items() if e.above > now]
    return Each(Undecided(Why.CLASSES_OPEN.of(len(doubtful), *doubtful[:5]), total), rows)
