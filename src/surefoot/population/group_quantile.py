"""A quantile of the critical level where groups of inputs were sampled, not single inputs.

The population's distribution of the critical level gives each group the same weight, and within a
group each of its inputs. For every level t the share of a group's inputs that are below it is one
value in [0, 1]; a bet on the mean of these values over groups decides on which side of t the
quantile lies. The shares rise with t, so the levels that are decided have one end, and the error
of that end is the error of the one test at the quantile itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.claims import Sampling
from surefoot.core.results import (
    Bracket,
    Decision,
    Footing,
    Guarantee,
    Interval,
    Quantile,
    Undecided,
)
from surefoot.population.groups import Group, averages, members_of
from surefoot.population.quantile import bracket_ends
from surefoot.population.requirement import Evidence, assumptions_of_sample
from surefoot.statistics.intervals import p_value_above
from surefoot.statistics.ranks import check_share

Groups = Sequence[Group[Bracket]]
_ROUNDING = 1e-9
"""Of a share of the groups: sums of fractions that differ by less count as equal."""


@dataclass(frozen=True)
class GroupQuantile:
    """A quantile of the critical level, each group with the same weight; half the error an end."""

    share: float = 0.05
    error: float = 0.05
    kind: ClassVar[str] = "groups"

    def __post_init__(self) -> None:
        check_share(self.share, self.error)

    def conclude(self, local: Groups, error: float) -> Quantile | Undecided:
        """The quantile, spending `error`."""
        if not local:
            return Undecided("there are no brackets to take a quantile of")
        lows, highs = bracket_ends(members_of(local))
        low = self._lower_end(local, np.unique(lows), error / 2)
        high = self._upper_end(local, np.unique(highs[np.isfinite(highs)]), error / 2)
        around = Interval(low, max(low, high))
        value = min(max(_sample_quantile(local, self.share), around.low), around.high)
        promise = Guarantee(Footing.CONDITIONAL, error, assumed(local))
        note = "; ".join(_notes(len(local), self.share, around))
        return Quantile(self.share, value, around, promise, len(lows), note=note)

    def _lower_end(self, local: Groups, levels: NDArray[np.float64], error: float) -> float:
        """The largest proved level that the quantile is shown to reach; 0 if there is none."""

        def reached(level: float) -> bool:
            return group_evidence(local, self.share, level, error).above <= error

        return _last(levels, reached, 0.0)

    def _upper_end(self, local: Groups, levels: NDArray[np.float64], error: float) -> float:
        """The smallest refuted level that the quantile is shown not to exceed."""

        def exceeded(level: float) -> bool:
            refuted = averages(local, lambda b: float(b.high <= level))
            return p_value_above(refuted, self.share, error) <= error

        return _last(levels[::-1], exceeded, math.inf)


def group_evidence(local: Groups, share: float, least: float, error: float) -> Evidence:
    """How surely the quantile is at least `least`, and how surely it is less: two p-values.

    Were it smaller, a share of `share` or more would have a critical level below `least`, and an
    input that is proved up to `least` has not. Were it at least `least`, no more than `share`
    would have a counterexample nearer than `least`. The bets are made for `error`.
    """
    proved = averages(local, lambda b: float(b.low >= least))
    refuted = averages(local, lambda b: float(b.high < least))
    return Evidence(p_value_above(proved, 1 - share, error), p_value_above(refuted, share, error))


def requires_of_groups(
    local: Groups, share: float, least: float, error: float
) -> Decision | Undecided:
    """Whether the quantile of the critical radius is at least `least`, one-sided."""
    check_share(share, error)
    if not local:
        return Undecided("there are no brackets to decide a requirement with")
    evidence = group_evidence(local, share, least, error)
    claim = f"the {share:g}-quantile of the critical radius is at least {least:g}"
    promise = Guarantee(Footing.CONDITIONAL, error, assumed(local))
    for holds, p_value in ((True, evidence.above), (False, evidence.below)):
        if p_value <= error:
            return Decision(claim, holds, promise, len(local), p_value=p_value)
    proved = float(averages(local, lambda b: float(b.low >= least)).mean())
    refuted = float(averages(local, lambda b: float(b.high < least)).mean())
    return Undecided(
        f"averaged over {len(local):,} groups, {proved:.1%} of the inputs are proved up to "
        f"{least:g} and {refuted:.1%} have a nearer counterexample: more groups, or more seconds "
        "or nodes for the open inputs, may decide it. Draw new ones: the number of groups must be "
        "chosen before they are evaluated",
        len(local),
    )


def assumed(local: Groups) -> tuple[str, ...]:
    """That the groups are a sample, and what the brackets themselves rest on."""
    rest = dict.fromkeys(a for b in members_of(local) for a in b.guarantee.assumptions)
    return (*assumptions_of_sample(Sampling.GROUPED, local), *rest)


def _last(levels: NDArray[np.float64], holds: Callable[[float], bool], none: float) -> float:
    """The last of the levels at which it holds, where it holds up to one of them and not beyond."""
    first, beyond = 0, len(levels)
    while first < beyond:
        middle = (first + beyond) // 2
        first, beyond = (middle + 1, beyond) if holds(float(levels[middle])) else (first, middle)
    return float(levels[first - 1]) if first else none


def _sample_quantile(local: Groups, share: float) -> float:
    """The middle of the two ends' quantiles in the sample; the low one if never refuted."""
    weights = np.concatenate([np.full(len(g.members), 1 / len(g.members)) for g in local])
    low, high = (
        _weighted_quantile(ends, weights / len(local), share)
        for ends in bracket_ends(members_of(local))
    )
    return (low + high) / 2 if math.isfinite(high) else low


def _weighted_quantile(
    values: NDArray[np.float64], weights: NDArray[np.float64], share: float
) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) >= share - _ROUNDING
    return float(values[order][int(reached.argmax())])


def _notes(groups: int, share: float, around: Interval) -> list[str]:
    notes = []
    if around.low == 0:
        number = f"{groups:,} groups" if groups > 1 else "one group"
        notes.append(
            f"with {number} the lower end of the {share:g}-quantile is 0: more groups, or more "
            "seconds for the inputs without a proof, may raise it"
        )
    if math.isinf(around.high):
        notes.append("so few groups, or so few refuted inputs, give no upper end")
    return notes
