"""A quantile of the critical level, from brackets of it (Kielhöfer 2024, σ-robustness)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.population.requirement import SAMPLED
from surefoot.results import Bracket, Footing, Guarantee, Interval, Quantile, Undecided
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
EVEN = "each critical level lies evenly anywhere within its bracket"
_ROUNDING = 1e-9
_ROOM = 2**20  # numbers at a time


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
class Ends:
    """Proved and refuted levels, each sorted by itself."""

    lows: Floats
    highs: Floats

    @classmethod
    def of(cls, local: Sequence[Bracket]) -> Ends:
        """Sorted apart: the i-th smallest critical level lies between the i-th of either."""
        lows, highs = _ends(local)
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

    Supposes no more than they do: the pair is settled by the number of inputs alone.
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
class SpreadRanks:
    """The shortest ranks, read from inside the brackets.

    At each level the inputs whose critical level is below are counted in parts: a bracket that is
    passed by a third counts a third. The lower end is the last level that at most the low rank
    less one have passed, the upper end the first that the high rank has. Always within what
    `ShortestRanks` gives, and equal to it when no bracket has a width. An input that was never
    refuted counts whole against the lower end and not at all for the upper one.
    """

    share: float = 0.05
    error: float = 0.05
    kind: ClassVar[str] = "spread-ranks"

    def __post_init__(self) -> None:
        check_share(self.share, self.error)

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The quantile, spending `error`."""
        exact = _between(local, self.share, error, shortest, error)
        if isinstance(exact, Undecided):
            return exact
        ranks, ends = shortest(len(local), self.share, error), Ends.of(local)
        low, high = exact.interval.low, exact.interval.high
        at = ends.at(ranks.low)
        if ranks.low > 0 and math.isfinite(at.high):
            low = _Passed.of(local, at, unknown=1.0).last(ranks.low - 1)
        if math.isfinite(high):
            high = _Passed.of(local, ends.at(ranks.high), unknown=0.0).first(ranks.high)
        value = min(max(exact.value, low), high)
        promise = Guarantee(Footing.CONDITIONAL, error, (SAMPLED, EVEN))
        return Quantile(
            self.share, value, Interval(low, high), promise, len(local), note=exact.note
        )


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
    over: LevelQuantile, groups: Mapping[str, Sequence[Bracket]], error: float
) -> dict[str, Quantile | Undecided]:
    """The quantile of every class, all intervals holding together within `error`."""
    if not groups:
        raise InvalidArgument("there are no classes to give a quantile of")
    each = shares(error, len(groups))
    return {name: over.conclude(local, each) for name, local in groups.items()}


def sample_quantile(ends: Ends, share: float) -> float:
    """The middle of the bracket of the quantile in the sample; its low end if never refuted."""
    at = ends.at(math.ceil(share * len(ends.lows) - _ROUNDING))
    return (at.low + at.high) / 2 if math.isfinite(at.high) else at.low


def _ends(local: Sequence[Bracket]) -> tuple[Floats, Floats]:
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
    n, ends = len(local), Ends.of(local)
    ranks = choose(n, share, error)
    around = Interval(ends.at(ranks.low).low, ends.at(ranks.high).high)
    value = min(max(sample_quantile(ends, share), around.low), around.high)
    promise = Guarantee(Footing.CONDITIONAL, error, (SAMPLED,))
    note = "; ".join(_notes(ends, ranks, share, below))
    return Quantile(share, value, around, promise, n, note=note)


def _notes(ends: Ends, ranks: Ranks, share: float, below: float) -> list[str]:
    n, told = len(ends.lows), []
    if ranks.low < 1:
        told.append(
            f"{n} inputs do not bound the {share:g}-quantile from below, so the lower end is 0: "
            f"that takes {fewest(share, below)} or more"
        )
    elif ends.lows[ranks.low - 1] == 0:
        bare = int(np.count_nonzero(ends.lows == 0))
        told.append(f"nothing was proved for {bare} of {n} inputs, so the lower end is 0")
    if math.isinf(ends.at(ranks.high).high):
        few = "so few inputs" if ranks.high > n else "so few refuted inputs"
        told.append(f"{few} give no upper end")
    return told


@dataclass(frozen=True)
class _Passed:
    """How many critical levels are passed just before and at the ends of brackets.

    A bracket that is passed in part counts in part, so between two ends the number is a line.
    """

    ends: Floats
    before: Floats
    at: Floats

    @classmethod
    def of(cls, local: Sequence[Bracket], within: Interval, unknown: float) -> _Passed:
        """`unknown` is what a bracket without an upper end counts once its low end is passed."""
        lows, highs = _ends(local)
        every = np.unique(np.concatenate([lows, highs]))
        ends = every[(every >= within.low) & (every <= within.high)]
        passed = int(np.count_nonzero(highs < within.low))
        part = (highs >= within.low) & (lows <= within.high)
        lows, highs = lows[part], highs[part]
        open_, exact = np.isinf(highs), highs == lows
        reach = np.where(open_ | exact, 1.0, highs - lows)
        before, jumps = np.zeros(len(ends)), np.zeros(len(ends))
        few = max(1, _ROOM // max(len(lows), 1))
        for i in range(0, len(ends), few):
            at = ends[i : i + few, None]
            with np.errstate(over="ignore"):  # a bracket of almost no width is passed at once
                parts = np.clip((at - lows) / reach, 0.0, 1.0)
            parts = np.where(exact, at > lows, parts)
            before[i : i + few] = np.where(open_, unknown * (at > lows), parts).sum(axis=1)
            jumps[i : i + few] = (np.where(exact, 1.0, unknown * open_) * (at == lows)).sum(axis=1)
        return cls(ends, passed + before, passed + before + jumps)

    def last(self, count: int) -> float:
        """The last level that at most `count` have passed."""
        return self._where(self.at > count + _ROUNDING, count)

    def first(self, count: int) -> float:
        """The first level that `count` have passed."""
        return self._where(self.at > count - _ROUNDING, count)

    def _where(self, over: NDArray[np.bool_], count: int) -> float:
        i = int(np.argmax(over))
        if i == 0 or self.before[i] <= count + _ROUNDING:
            return float(self.ends[i])
        left, right = self.ends[i - 1], self.ends[i]
        part = (count - self.at[i - 1]) / (self.before[i] - self.at[i - 1])
        return float(left + part * (right - left))
