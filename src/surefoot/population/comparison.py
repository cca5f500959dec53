"""Several models, or several levels, on the same inputs and the same perturbations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from surefoot.population.requirement import SAMPLED, Population, sound
from surefoot.results import Decision, Estimate, Footing, Guarantee, Interval, Result, Undecided
from surefoot.statistics.multiplicity import shares


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
    over: Population, local: Mapping[str, Sequence[Result]], error: float
) -> tuple[Difference, ...]:
    """Every pair, all intervals holding together within `error` (Bonferroni).

    `local` holds one result for each input, in the same order for every name. Where one of a pair
    is undecided, the value is no more than the middle of the interval.
    """
    pairs = list(combinations(local, 2))
    promise = Guarantee(Footing.CONDITIONAL, error, (SAMPLED,))
    found = []
    for a, b in pairs:
        around = over.difference(local[a], local[b], shares(error, len(pairs)))
        mine, other = (sound(over.conclude(local[name], over.error)) for name in (a, b))
        value = (around.low + around.high) / 2
        if isinstance(mine, Estimate) and isinstance(other, Estimate):
            value = mine.value - other.value
        within = Interval(min(around.low, value), max(around.high, value))
        found.append(Difference(a, b, value, within, promise))
    return tuple(found)


def ranks(names: Sequence[str], found: Sequence[Difference]) -> dict[str, Rank]:
    """The places that the differences leave open; right whenever all of them are."""
    above = dict.fromkeys(names, 0)
    below = dict.fromkeys(names, 0)
    for pair in found:
        if pair.better is not None:
            other = pair.second if pair.better == pair.first else pair.first
            above[other] += 1
            below[pair.better] += 1
    return {name: Rank(1 + above[name], len(names) - below[name]) for name in names}


def not_worse(name: str, found: Sequence[Difference], margin: float) -> Decision | Undecided:
    """Whether this one is less robust than none of the others by more than `margin`."""
    claim = f"{name} is less robust than none of the others by more than {margin!r}"
    against = [(p.second, p.interval) for p in found if p.first == name]
    against += [
        (p.first, Interval(-p.interval.high, -p.interval.low)) for p in found if p.second == name
    ]
    if all(gap.low >= -margin for _, gap in against):
        return Decision(claim, True, found[0].guarantee, 0)
    if any(gap.high < -margin for _, gap in against):
        return Decision(claim, False, found[0].guarantee, 0)
    open_ = ", ".join(other for other, gap in against if gap.low < -margin)
    return Undecided(f"{name} may be less robust than {open_} by more than {margin!r}")
