"""A quantile of the critical level, from brackets of it (Kielhöfer 2024, σ-robustness)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Bracket, Footing, Guarantee, Interval, Quantile, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population.requirement import SAMPLED
from surefoot.statistics.multiplicity import shares
from surefoot.statistics.ranks import (
    Ranks,
    check_share,
    equal_tails,
    fewest,
    lower_rank,
    shortest,
)

Floats = NDArray[np.float64]
K = TypeVar("K", bound=Hashable)
_ROUNDING = 1e-9
"""Of a rank: share · n is a whole number if it is this close to one."""


class LevelQuantile(Protocol):
    """From brackets of the critical level to its quantile in the population."""

    @property
    def share(self) -> float:
        """Which quantile."""
        ...

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The quantile, spending `error`."""
        ...


@dataclass(frozen=True)
class SortedEnds:
    """Proved and refuted levels, each sorted by itself."""

    lows: Floats
    highs: Floats

    @classmethod
    def of(cls, local: Sequence[Bracket]) -> SortedEnds:
        """Sorted apart: the i-th smallest critical level lies between the i-th of either."""
        lows, highs = bracket_ends(local)
        return cls(np.sort(lows), np.sort(highs))

    def at(self, rank: int) -> Interval:
        """Between which levels the `rank`-th smallest critical level lies."""
        n = len(self.lows)
        low = 0.0 if rank < 1 else float(self.lows[min(rank, n) - 1])
        return Interval(low, math.inf if rank > n else float(self.highs[max(rank, 1) - 1]))


@dataclass(frozen=True)
class OrderStatistics:
    """Sorted proofs bound the quantile from below, sorted counterexamples from above.

    Nothing is supposed of the distribution (Meeker, Hahn & Escobar 2017, chapter 5): half the
    error on either side, ranks counted from 1. The thesis' code is off by one rank.
    """

    share: float = 0.05
    error: float = 0.05
    kind: ClassVar[str] = "order-statistics"

    def __post_init__(self) -> None:
        check_share(self.share, self.error)

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The quantile, spending `error`."""
        return _between(local, self.share, error, equal_tails, error / 2)


@dataclass(frozen=True)
class ShortestRanks:
    """As order statistics, with the error split so that the ranks are as near as can be.

    Supposes no more than they do: the pair is settled by the number of inputs alone. Nothing is
    read from inside a bracket: there the critical radius is mostly close to the upper end.
    """

    share: float = 0.05
    error: float = 0.05
    kind: ClassVar[str] = "shortest-ranks"

    def __post_init__(self) -> None:
        check_share(self.share, self.error)

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The quantile, spending `error`."""
        return _between(local, self.share, error, shortest, error)


@dataclass(frozen=True)
class LowerBound:
    """A level the quantile is not below, and nothing else: the whole error on one side."""

    share: float = 0.05
    error: float = 0.05
    kind: ClassVar[str] = "lower-bound"

    def __post_init__(self) -> None:
        check_share(self.share, self.error)

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The quantile, spending `error`; the upper end is infinite."""
        return _between(local, self.share, error, _from_below, error)


def of_each(
    estimator: LevelQuantile, groups: Mapping[K, Sequence[Bracket]], error: float, networks: int = 1
) -> dict[K, Quantile | Undecided]:
    """The quantile of every group, all intervals holding together within `error` (Bonferroni).

    A group is a class, or a network and a class. Where each of several `networks` is given its own
    call, with groups of the same number, all of their intervals hold together.
    """
    if not groups:
        raise InvalidArgument("quantiles of classes need at least one class, got none")
    if networks < 1:
        raise InvalidArgument(f"networks must be an integer ≥ 1, got {networks}")
    number = len(groups) * networks
    each, jointly = shares(error, number), f"the quantiles of all {number} groups"
    quantiles: dict[K, Quantile | Undecided] = {}
    for name, local in groups.items():
        quantile = estimator.conclude(local, each)
        if isinstance(quantile, Quantile):
            quantile = replace(
                quantile, guarantee=replace(quantile.guarantee, error=error, jointly=jointly)
            )
        quantiles[name] = quantile
    return quantiles


def assumptions_of(local: Sequence[Bracket]) -> tuple[str, ...]:
    """That the inputs are a sample, and what the brackets themselves rest on."""
    return (SAMPLED, *dict.fromkeys(a for b in local for a in b.guarantee.assumptions))


def sample_quantile(ends: SortedEnds, share: float) -> float:
    """The middle of the bracket of the quantile in the sample; its low end if never refuted."""
    at = ends.at(math.ceil(share * len(ends.lows) - _ROUNDING))
    return (at.low + at.high) / 2 if math.isfinite(at.high) else at.low


def bracket_ends(local: Sequence[Bracket]) -> tuple[Floats, Floats]:
    """Proved and refuted levels, in the order of the inputs."""
    return np.array([b.low for b in local]), np.array([b.high for b in local])


def _from_below(n: int, share: float, error: float) -> Ranks:
    return Ranks(lower_rank(n, share, error), n + 1)


def _between(
    local: Sequence[Bracket],
    share: float,
    error: float,
    choose: Callable[[int, float, float], Ranks],
    below: float,
) -> Quantile | Undecided:
    """The interval between two ranks; `below` is what the lower end may spend of the error."""
    if not local:
        return Undecided("there are no brackets to take a quantile of")
    n, ends = len(local), SortedEnds.of(local)
    ranks = choose(n, share, error)
    around = Interval(ends.at(ranks.low).low, ends.at(ranks.high).high)
    value = min(max(sample_quantile(ends, share), around.low), around.high)
    promise = Guarantee(Footing.CONDITIONAL, error, assumptions_of(local))
    note = "; ".join(_notes(ends, ranks, share, below))
    return Quantile(share, value, around, promise, n, note=note)


def _notes(ends: SortedEnds, ranks: Ranks, share: float, below: float) -> list[str]:
    """Why an end is 0 or open, each as a clause."""
    n, notes = len(ends.lows), list[str]()
    wrong, bare = (int(np.count_nonzero(side == 0)) for side in (ends.highs, ends.lows))
    known = f"{wrong} of {n} inputs {'is' if wrong == 1 else 'are'} wrong or tied when clean"
    if ends.at(ranks.high).high == 0:
        notes.append(f"{known}, so the quantile is 0")
    elif ranks.low < 1:
        notes.append(
            f"{n} inputs are too few to bound the {100 * share:g} % quantile from below, so the "
            f"lower end is 0: that takes {fewest(share, below)} or more"
        )
    elif ends.lows[ranks.low - 1] == 0:
        unknown = f"nothing was proved for {bare - wrong} of {n} inputs"
        reason = " and ".join([known] * (wrong > 0) + [unknown] * (bare > wrong))
        notes.append(f"{reason}, so the lower end is 0")
    if math.isinf(ends.at(ranks.high).high):
        unrefuted = int(np.count_nonzero(np.isinf(ends.highs)))
        open_ = (
            f"no counterexample is known for {unrefuted} of {n} inputs, so there is no upper end"
        )
        notes.append(f"{n} inputs give no upper end" if ranks.high > n else open_)
    return notes
