"""Several models, or several levels, on the same inputs and the same perturbations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from surefoot.core.claims import Continues
from surefoot.core.results import Decision, Estimate, Footing, Guarantee, Interval, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population.groups import Sampled, unit_word
from surefoot.population.requirement import (
    SAMPLED,
    Population,
    as_many,
    enough,
    more_inputs,
    sound,
)
from surefoot.statistics.multiplicity import shares

Pairs = Collection[frozenset[str]]
_LARGEST_ERROR = 0.999
"""The error of an interval must be below 1; each end spends half of it."""


@dataclass(frozen=True)
class Difference:
    """How much larger the first one's quantity is; `better` is None for indistinguishable."""

    first: str
    second: str
    value: float
    interval: Interval
    guarantee: Guarantee

    @property
    def better(self) -> str | None:
        """The one that is shown to be more robust."""
        if self.interval.low > 0:
            return self.first
        return self.second if self.interval.high < 0 else None


@dataclass(frozen=True)
class Rank:
    """The places one may have: 1 is the most robust."""

    best: int
    worst: int


def differences(
    population: Population,
    local: Mapping[str, Sequence[Sampled]],
    error: float,
    identical: Pairs = (),
) -> tuple[Difference, ...]:
    """Every pair, all intervals holding together within `error` (Bonferroni).

    `local` holds one result for each input, in the same order for every name. Where one of a pair
    is undecided, the value is no more than the middle of the interval. The pairs in `identical`
    are the same file on the same seed and device: they differ by exactly 0, and cost nothing.
    """
    pairs = list(combinations(local, 2))
    paid = [pair for pair in pairs if frozenset(pair) not in identical]
    wholes = {name: sound(population.conclude(local[name], population.error)) for name in local}
    same = Guarantee(Footing.SOUND, 0.0)
    pairwise = []
    for a, b in pairs:
        if (a, b) not in paid:
            pairwise.append(Difference(a, b, 0.0, Interval(0.0, 0.0), same))
            continue
        around = population.difference(local[a], local[b], shares(error, len(paid)))
        mine, other = wholes[a], wholes[b]
        value = (around.low + around.high) / 2
        if isinstance(mine, Estimate) and isinstance(other, Estimate):
            value = mine.value - other.value
        within = Interval(min(around.low, value), max(around.high, value))
        promise = Guarantee(Footing.CONDITIONAL, error, _assumed(mine, other))
        pairwise.append(Difference(a, b, value, within, promise))
    return tuple(pairwise)


def candidates(names: Sequence[str], pairwise: Sequence[Difference]) -> tuple[str, ...]:
    """Those that are not shown to be less robust than another: the most robust is among them.

    Right whenever all differences are. Should they contradict each other, so that everyone is
    beaten by someone, it may be anyone.
    """
    beaten = {
        pair.second if pair.better == pair.first else pair.first
        for pair in pairwise
        if pair.better is not None
    }
    return tuple(name for name in names if name not in beaten) or tuple(names)


def ranks(names: Sequence[str], pairwise: Sequence[Difference]) -> dict[str, Rank]:
    """The places that the differences leave open; right whenever all of them are."""
    above = dict.fromkeys(names, 0)
    below = dict.fromkeys(names, 0)
    for pair in pairwise:
        if pair.better is not None:
            other = pair.second if pair.better == pair.first else pair.first
            above[other] += 1
            below[pair.better] += 1
    return {name: Rank(1 + above[name], len(names) - below[name]) for name in names}


def not_worse(
    population: Population,
    local: Mapping[str, Sequence[Sampled]],
    name: str,
    margin: float,
    identical: Pairs = (),
    continues: Continues = Continues.ONCE,
) -> Decision | Undecided:
    """Whether this one is less robust than none of the others by more than `margin`.

    One-sided, spending `over.error`. It holds if each comparison by itself says so at the whole
    error: were one worse, that comparison would have to err. It is refuted if one of the k others
    is better by more at error/k.
    """
    if name not in local:
        raise InvalidArgument(
            f"{name!r} is not among the models compared: choose one of {', '.join(local)}"
        )
    claim = f"{name} is less robust than none of the others by more than {margin!r}"
    trials = sum(r.trials for results in local.values() for r in results)
    same = {other for other in local if frozenset((name, other)) in identical and margin >= 0}
    others = {other: local[other] for other in local if other != name and other not in same}
    if not others:
        return Decision(claim, True, Guarantee(Footing.SOUND, 0.0), trials)
    wholes = [sound(population.conclude(results, population.error)) for results in local.values()]
    promise = Guarantee(Footing.CONDITIONAL, population.error, _assumed(*wholes))
    holds = _holds(population, local[name], others, margin)
    if holds is not None:
        return Decision(claim, holds, promise, trials)

    def decided(inputs: int) -> bool:
        grown = {other: as_many(results, inputs) for other, results in others.items()}
        return _holds(population, as_many(local[name], inputs), grown, margin) is not None

    open_ = [
        o
        for o in others
        if _gap(population, local[name], others[o], population.error).low < -margin
    ]
    inputs = len(local[name])
    return Undecided(
        f"{name} may be less robust than {', '.join(open_)} by more than {margin!r}: "
        + more_inputs(inputs, enough(decided, inputs), continues, unit_word(local[name])),
        trials,
    )


def _holds(
    population: Population,
    mine: Sequence[Sampled],
    others: Mapping[str, Sequence[Sampled]],
    margin: float,
) -> bool | None:
    """Whether none of the others is better by more than the margin; None if undecided."""
    if all(
        _gap(population, mine, other, population.error).low >= -margin for other in others.values()
    ):
        return True
    share = shares(population.error, len(others))
    beaten = any(_gap(population, mine, other, share).high < -margin for other in others.values())
    return False if beaten else None


def _gap(
    population: Population, mine: Sequence[Sampled], other: Sequence[Sampled], error: float
) -> Interval:
    """The difference, each end by itself wrong with probability at most `error`."""
    return population.difference(mine, other, min(2 * error, _LARGEST_ERROR))


def _assumed(*wholes: Estimate | Undecided) -> tuple[str, ...]:
    """All that the statements about these take for granted."""
    known = [whole.guarantee for whole in wholes if isinstance(whole, Estimate)]
    return tuple(dict.fromkeys(a for g in known for a in g.assumptions)) or (SAMPLED,)
