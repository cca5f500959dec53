"""A quantile of the critical level, from brackets of it (Kielhöfer 2024, σ-robustness)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import Assumed, Assumption, Jointly, Together
from surefoot.core.claims import Sampling
from surefoot.core.limits import check_fields, check_value, limit
from surefoot.core.reasons import Reason, Why, several
from surefoot.core.results import Bracket, Decision, Guarantee, Interval, Quantile, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population import groups as g
from surefoot.population.groups import Group, averages, is_grouped, members_of, unit_word
from surefoot.population.requirement import more_inputs
from surefoot.statistics.bounds import shares
from surefoot.statistics.counted import Side, Sides, Tested, rung
from surefoot.statistics.intervals import p_value_above
from surefoot.statistics.ranks import (
    Ranks,
    at_every_look,
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

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The quantile, spending `error`."""


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
class _OfShare:
    """Which quantile, and the error that its interval may spend."""

    share: float = 0.05
    error: float = 0.05

    def __post_init__(self) -> None:
        check_share(self.share, self.error)


@dataclass(frozen=True)
class OrderStatistics(_OfShare):
    """Sorted proofs bound the quantile from below, sorted counterexamples from above.

    Nothing is supposed of the distribution (Meeker, Hahn & Escobar 2017, chapter 5): half the
    error on either side, ranks counted from 1. The thesis' code is off by one rank.
    """

    kind: ClassVar[str] = "order-statistics"

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The quantile, spending `error`."""
        return _between(local, self.share, error, equal_tails, error / 2)


@dataclass(frozen=True)
class ShortestRanks(_OfShare):
    """As order statistics, with the error split so that the ranks are as near as can be.

    Supposes no more than they do: the pair is settled by the number of inputs alone. Nothing is
    read from inside a bracket: there the critical radius is mostly close to the upper end.
    """

    kind: ClassVar[str] = "shortest-ranks"

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The quantile, spending `error`."""
        return _between(local, self.share, error, shortest, error)


@dataclass(frozen=True)
class LowerBound(_OfShare):
    """A level the quantile is not below, and nothing else: the whole error on one side."""

    kind: ClassVar[str] = "lower-bound"

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The quantile, spending `error`; the upper end is infinite."""
        return _between(
            local, self.share, error, lambda n, *at: Ranks(lower_rank(n, *at), n + 1), error
        )


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
    each, together = shares(error, number), Jointly(Together.GROUPS, number)
    quantiles: dict[K, Quantile | Undecided] = {}
    for name, local in groups.items():
        quantile = estimator.conclude(local, each)
        if isinstance(quantile, Quantile):
            quantile = replace(
                quantile, guarantee=replace(quantile.guarantee, error=error, jointly=together)
            )
        quantiles[name] = quantile
    return quantiles


def assumptions_of(local: Sequence[Bracket]) -> tuple[Assumption, ...]:
    """That the inputs are a sample, and what the brackets themselves rest on."""
    return (Assumed.SAMPLED, *dict.fromkeys(a for b in local for a in b.guarantee.assumptions))


def sample_quantile(ends: SortedEnds, share: float) -> float:
    """The middle of the bracket of the quantile in the sample; its low end if never refuted."""
    at = ends.at(math.ceil(share * len(ends.lows) - _ROUNDING))
    return (at.low + at.high) / 2 if math.isfinite(at.high) else at.low


def bracket_ends(local: Sequence[Bracket]) -> tuple[Floats, Floats]:
    """Proved and refuted levels, in the order of the inputs."""
    return np.array([b.low for b in local]), np.array([b.high for b in local])


def _between(
    local: Sequence[Bracket],
    share: float,
    error: float,
    choose: Callable[[int, float, float], Ranks],
    below: float,
) -> Quantile | Undecided:
    """The interval between two ranks; `below` is what the lower end may spend of the error."""
    if not local:
        return Undecided(Why.NO_BRACKETS.of())
    n, ends = len(local), SortedEnds.of(local)
    ranks = choose(n, share, error)
    around = Interval(ends.at(ranks.low).low, ends.at(ranks.high).high)
    value = min(max(sample_quantile(ends, share), around.low), around.high)
    promise = Guarantee.given(error, assumptions_of(local))
    note = several(_notes(ends, ranks, share, below))
    return Quantile(share, value, around, promise, n, note=note)


def _notes(ends: SortedEnds, ranks: Ranks, share: float, below: float) -> list[Reason]:
    """Why an end is 0 or open."""
    n, notes = len(ends.lows), list[Reason]()
    wrong, bare = (int(np.count_nonzero(side == 0)) for side in (ends.highs, ends.lows))
    if ends.at(ranks.high).high == 0:
        notes.append(Why.QUANTILE_ZERO.of(wrong, n))
    elif ranks.low < 1:
        notes.append(Why.FEW_FOR_LOWER_END.of(n, 100 * share, fewest(share, below)))
    elif ends.lows[ranks.low - 1] == 0:
        notes.append(Why.LOWER_END_ZERO.of(wrong, bare - wrong, n))
    if math.isinf(ends.at(ranks.high).high):
        unrefuted = int(np.count_nonzero(np.isinf(ends.highs)))
        few = Why.FEW_FOR_UPPER_END.of(n)
        notes.append(few if ranks.high > n else Why.NO_UPPER_END.of(unrefuted, n))
    return notes


@dataclass(frozen=True)
class QuantileWithin:
    """Take growing numbers of inputs; stop at the first that tells the quantile to ± `within`.

    The intervals at all these numbers hold together with probability 1 - `error`, whatever the
    distribution and whenever it stops (`statistics/ranks.py`). Narrower brackets stop it sooner;
    an interval that is still wider after `max_inputs` inputs is given as it is, and noted.
    """

    within: float = field(metadata=limit(lambda x: x > 0, "be more than 0", "try 0.005"))
    share: float = 0.05
    error: float = 0.05
    max_inputs: int = 2000
    growth: float = 1.3

    def __post_init__(self) -> None:
        check_fields(self)
        check_share(self.share, self.error)
        if self.max_inputs < 1 or not self.growth > 1:
            raise InvalidArgument(
                f"max_inputs must be at least 1 and growth more than 1, got {self.max_inputs} "
                f"and {self.growth}: try 2000 and 1.3"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of inputs it may stop at: the first can bound the quantile from below."""
        first = fewest(self.share, self.error / 10)
        sizes = [min(first, self.max_inputs)]
        while sizes[-1] < self.max_inputs:
            sizes.append(min(self.max_inputs, math.ceil(sizes[-1] * self.growth)))
        return tuple(sizes)

    @property
    def ranks(self) -> tuple[Ranks, ...]:
        """Which sorted levels enclose the quantile at each of these numbers."""
        return at_every_look(self.sizes, self.share, self.error)

    def steps(self) -> Generator[int, Sequence[Bracket], Quantile]:
        """Ask for more inputs, get their brackets in order, conclude."""
        local: list[Bracket] = []
        for ranks, (before, now) in zip(self.ranks, pairwise((0, *self.sizes)), strict=True):
            local += yield now - before
            quantile = self.conclude(local, ranks)
            if not quantile.note:
                break
        return quantile

    def stopped(self, local: Sequence[Bracket], error: float) -> Quantile:
        """Its answer where it stopped, at a smaller error: that of one of several runs."""
        ranks = at_every_look(self.sizes, self.share, error)
        return self.conclude(local, ranks[self.sizes.index(len(local))])

    def conclude(self, local: Sequence[Bracket], ranks: Ranks) -> Quantile:
        """What so many inputs tell, with a note where it is not enough."""
        ends = SortedEnds.of(local)
        around = Interval(ends.at(ranks.low).low, ends.at(ranks.high).high)
        promise = Guarantee.given(self.error, assumptions_of(local))
        if around.width <= 2 * self.within:
            value, note = (around.low + around.high) / 2, None
        else:
            value = min(max(sample_quantile(ends, self.share), around.low), around.high)
            note = Why.NOT_WITHIN.of(len(local), self.within)
        return Quantile(self.share, value, around, promise, len(local), note=note)


Groups = Sequence[Group[Bracket]]
_SHARE_ROUNDING = 1e-9
"""Of a share of the groups: sums of fractions that differ by less count as equal."""
_LEAST = limit(lambda x: 0 < x < math.inf, "be a finite number above 0", "try 8/255", "{:g}")


@dataclass(frozen=True)
class GroupQuantile(_OfShare):
    """A quantile of the critical level, each group with the same weight; half the error an end."""

    kind: ClassVar[str] = "groups"

    def conclude(self, local: Groups, error: float) -> Quantile | Undecided:
        """The quantile, spending `error`."""
        if not local:
            return Undecided(Why.NO_BRACKETS.of())
        lows, highs = bracket_ends(members_of(local))
        half = error / 2

        def reached(level: float) -> bool:
            return tested(local, self.share, level, half).p_values.above <= half

        def not_exceeded(level: float) -> bool:
            refuted = averages(local, lambda b: float(b.high <= level))
            return p_value_above(refuted, self.share, half) <= half

        low = _last(np.unique(lows), reached, 0.0)
        high = _last(np.unique(highs[np.isfinite(highs)])[::-1], not_exceeded, math.inf)
        around = Interval(low, max(low, high))
        value = min(max(_sample_quantile(local, self.share), around.low), around.high)
        promise = Guarantee.given(error, assumed(local))
        note = several(_group_notes(len(local), self.share, around))
        return Quantile(self.share, value, around, promise, len(lows), note=note)


def assumed(local: Groups) -> tuple[Assumption, ...]:
    """That the groups are a sample, and what the brackets themselves rest on."""
    rest = dict.fromkeys(a for b in members_of(local) for a in b.guarantee.assumptions)
    return (*g.assumptions_of_sample(Sampling.GROUPED, local), *rest)


def _last(levels: NDArray[np.float64], holds: Callable[[float], bool], none: float) -> float:
    """The last of the levels at which it holds, where it holds up to one of them and not beyond."""
    beyond = bisect_left(levels, True, key=lambda level: not holds(float(level)))
    return float(levels[beyond - 1]) if beyond else none


def _sample_quantile(local: Groups, share: float) -> float:
    """The middle of the two ends' quantiles in the sample; the low one if never refuted."""
    weights = np.concatenate([np.full(len(g.members), 1 / len(g.members)) for g in local])

    def weighted(values: Floats) -> float:
        order = np.argsort(values)
        reached = np.cumsum((weights / len(local))[order]) >= share - _SHARE_ROUNDING
        return float(values[order][int(reached.argmax())])

    low, high = map(weighted, bracket_ends(members_of(local)))
    return (low + high) / 2 if math.isfinite(high) else low


def _group_notes(groups: int, share: float, around: Interval) -> list[Reason]:
    low = [Why.GROUPS_LOWER_END_ZERO.of(groups, share)] * (around.low == 0)
    return low + [Why.GROUPS_NO_UPPER_END.of()] * math.isinf(around.high)


def tested(local: Sequence[Any], share: float, least: float, error: float) -> Tested:
    """The requirement that the quantile is at least `least`, as a test of both answers.

    Were the quantile smaller, a share of `share` or more would have a critical radius below
    `least`, and an input that is proved up to `least` has not: proofs are counted. Were it at least
    `least`, no more than `share` would have a counterexample nearer than `least`: these are counted
    for the other answer. Of groups the shares within each; bets on them are made for `error`.
    """
    proved = averages(local, lambda b: float(b.low >= least))
    refuted = averages(local, lambda b: float(b.high < least))
    grouped = is_grouped(local)
    up, down = (Side(v, single=not grouped, anytime=grouped) for v in (proved, refuted))
    return Tested(Sides(up, down), least, 1 - share, 1 - share, error)


def requires(
    local: Sequence[Any], share: float, least: float, error: float, run: int = 0
) -> Decision | Undecided:
    """Whether the quantile of the critical radius is at least `least`.

    From brackets of inputs, or groups of them. One side only, so that the error is not halved: at
    most one of the two answers can be wrong, whatever the truth. For a number of inputs that was
    settled beforehand; run number `run` of those on other inputs spends its share of the error.
    Narrower brackets of the same inputs cost nothing: what they decide, the radii themselves would
    have decided.
    """
    check_share(share, error)
    check_value("required radius", least, _LEAST)
    if not local:
        return Undecided(Why.NO_BRACKETS_TO_DECIDE.of())
    test, now = tested(local, share, least, error), rung(error, run)
    grouped = is_grouped(local)
    rests_on = assumed(local) if grouped else assumptions_of(local)
    claim = f"the {share:g}-quantile of the critical radius is at least {least:g}"
    evidence = test.p_values
    for holds, p_value in ((True, evidence.above), (False, evidence.below)):
        if p_value <= now:
            promise = Guarantee.given(error, rests_on)
            return Decision(claim, holds, promise, len(local), p_value=p_value)
    way_out = _way_out(local, test, now, rung(error, run + 1))
    proved, refuted = test.sides.up.values, test.sides.down.values
    if grouped:
        shares_of = float(proved.mean()), least, float(refuted.mean())
        return Undecided(Why.RADIUS_OF_GROUPS_OPEN.of(len(local), *shares_of, way_out), len(local))
    counts = int(proved.sum()), len(local), least, int(refuted.sum())
    unknown = len(local) - counts[0] - counts[3]
    return Undecided(Why.RADIUS_OPEN.of(*counts, unknown, way_out), len(local))


def _way_out(local: Sequence[Any], test: Tested, now: float, later: float) -> Reason:
    """What may decide it: narrower brackets of these, or more inputs, with what chance."""
    up, down = test.sides.up, test.sides.down
    is_open = bool((up.values + down.values < 1).any())
    closed = Sides(replace(up, values=1 - down.values), replace(down, values=1 - up.values))
    best = replace(test, sides=closed).p_values
    if is_open and min(best.above, best.below) <= now:
        return Why.PROOFS_MAY_DECIDE.of()
    forecast = more_inputs(lambda n: test.chance(n, later), len(local), unit_word(local))
    if forecast.why is Why.MANY_MAY_DECIDE and is_open:
        return Why.NEW_RUN_AND_PROOFS_MAY_DECIDE.of()
    return forecast


def requires_of_interval(quantile: Quantile, least: float) -> Decision | Undecided:
    """The same of a quantile that chose the number of inputs itself: by its interval alone."""
    check_value("required radius", least, _LEAST)
    claim = f"the {quantile.share:g}-quantile of the critical radius is at least {least:g}"
    around = quantile.interval
    if around.low >= least:
        return Decision(claim, True, quantile.guarantee, quantile.inputs)
    if around.high < least:
        return Decision(claim, False, quantile.guarantee, quantile.inputs)
    reason = Why.WITHIN_INTERVAL.of(least, around.low, around.high)
    return Undecided(reason, quantile.inputs)
