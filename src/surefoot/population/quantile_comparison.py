"""Quantiles of critical radii of models on the same inputs, and of two independent samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Bracket, Footing, Guarantee, Interval
from surefoot.errors import InvalidArgument
from surefoot.population.comparison import Difference
from surefoot.population.quantile import SortedEnds, assumptions_of, bracket_ends, sample_quantile
from surefoot.statistics.multiplicity import shares
from surefoot.statistics.ranks import Ranks, check_share, masses, shortest

Floats = NDArray[np.float64]
_PAIRED_SHARE = 0.5
"""The share of the error for the paired test, the rest is for the quantile of each model. Simulated
log-normal radii (n = 100 to 1000, shares .05 to .5, correlations 0 to 1): of .3, .7, .8 and .9 none
is narrower by more than 8 %, and from .8 on a hundred inputs lose their lower end. Of independent
samples (n = 50 to 400) .5, .7 and .85 differ by at most 4 % where radii have no atoms."""


def quantile_difference(
    first: Sequence[Bracket], second: Sequence[Bracket], share: float, error: float
) -> Interval:
    """How much larger the first one's quantile is; both hold a bracket of each input, in order.

    All pairs of quantiles are kept that neither test rejects: each lies between its own ranks, and
    as many inputs are below the first and not the second as the other way round (McNemar's exact
    test: the probability of both is the same, because either quantile has the share `share` below
    it). Nothing is supposed of how the radii of the two models go along.
    """
    check_share(share, error)
    if not first or len(first) != len(second):
        raise InvalidArgument(
            f"a comparison needs a bracket of each input for both models, got {len(first)} and "
            f"{len(second)}: leave out the inputs that one of them lacks"
        )
    return _between(first, second, *_split(len(first), share, error))


def quantile_differences(
    local: Mapping[str, Sequence[Bracket]], share: float, error: float
) -> tuple[Difference, ...]:
    """Every pair of models, all intervals holding together within `error`.

    `local` holds one bracket for each input, in the same order for every name. The models share
    the error of the ranks and the pairs that of the tests (Bonferroni).
    """
    check_share(share, error)
    sizes = {len(brackets) for brackets in local.values()}
    if len(local) < 2 or len(sizes) != 1 or sizes == {0}:
        raise InvalidArgument(
            "a comparison needs two or more models with a bracket for each of the same inputs, got "
            + ", ".join(f"{name}: {len(brackets)}" for name, brackets in local.items())
        )
    pairs = list(combinations(local, 2))
    ranks, tested = _split(sizes.pop(), share, error, len(local))
    differences = []
    for a, b in pairs:
        around = _between(local[a], local[b], ranks, tested)
        mine, other = (sample_quantile(SortedEnds.of(local[name]), share) for name in (a, b))
        value = min(max(mine - other, around.low), around.high)
        promise = Guarantee(
            Footing.CONDITIONAL,
            error,
            assumptions_of([*local[a], *local[b]]),
            f"all {len(pairs)} differences" if len(pairs) > 1 else "",
        )
        differences.append(Difference(a, b, value, around, promise))
    return tuple(differences)


def _split(n: int, share: float, error: float, models: int = 2) -> tuple[Ranks, float]:
    """The ranks of each quantile, and the error of the test of each pair.

    With so few inputs that the test could never reject, all of the error goes to the ranks.
    """
    ranks = shortest(n, share, shares((1 - _PAIRED_SHARE) * error, models))
    tested = shares(_PAIRED_SHARE * error, math.comb(models, 2))
    if _mcnemar(ranks.high - 1, 0) > tested / 2:
        return shortest(n, share, shares(error, models)), 0.0
    return ranks, tested


def _between(
    first: Sequence[Bracket], second: Sequence[Bracket], ranks: Ranks, error: float
) -> Interval:
    (lows, highs), (other_lows, other_highs) = bracket_ends(first), bracket_ends(second)
    low = -_largest(other_highs, lows, ranks, error / 2)
    return Interval(low, _largest(highs, other_lows, ranks, error / 2))


def _largest(highs: Floats, lows: Floats, ranks: Ranks, error: float) -> float:
    """The largest difference of two quantiles that no test rejects.

    An input is surely below the first quantile if its counterexample is nearer, and surely not
    below the second if it is proved beyond it. Between two ends nothing changes, so the ends of the
    brackets are the only candidates. The larger the first quantile and the smaller the second, the
    more is rejected, so the smallest second one that goes with a first one only grows with it.
    """
    n, order = len(lows), np.argsort(lows, kind="stable")
    if ranks.high > n:
        return math.inf
    highs, lows = highs[order], lows[order]
    least = 0.0 if ranks.low < 1 else float(lows[ranks.low - 1])
    near = lows[: ranks.high]  # beyond, more inputs are below the second than the first
    seconds = np.unique(np.append(least, near[near >= least]))
    counts = np.searchsorted(lows, seconds, side="right")
    nearest, best, place, below, both = np.argsort(highs), -math.inf, 0, 0, 0
    for at in np.unique(highs[nearest[: ranks.high]]):
        while highs[nearest[below]] < at:
            both += int(nearest[below] < counts[place])
            below += 1
        while _mcnemar(below - both, int(counts[place]) - both) <= error:
            both += int(np.count_nonzero(highs[counts[place] : counts[place + 1]] < at))
            place += 1  # ends before the last candidate, which is never rejected
        best = max(best, float(at - seconds[place]))
    return best


def _mcnemar(one: int, other: int) -> float:
    """P-value of McNemar's exact test: `one` or more of `one + other` fair coins show heads."""
    from scipy.special import bdtrc

    return 1.0 if one < 1 else float(bdtrc(one - 1, one + other, 0.5))


def unpaired_quantile_difference(
    first: Sequence[Bracket], second: Sequence[Bracket], share: float, error: float
) -> Interval:
    """How much larger the first one's quantile is, from two independent samples of any sizes.

    All pairs of quantiles are kept that neither test rejects: each lies between its own ranks, and
    the share of inputs below the first exceeds that below the second no further than that of two
    independent binomials of the probability `share` does. Of brackets: an input is surely below
    where its counterexample is, and surely not below where it is proved beyond.
    """
    check_share(share, error)
    if not first or not second:
        raise InvalidArgument(
            "a comparison needs one bracket or more of either sample, got "
            f"{len(first)} and {len(second)}"
        )
    sizes = len(first), len(second)
    tested = _PAIRED_SHARE * error
    ranks = [shortest(n, share, shares((1 - _PAIRED_SHARE) * error, 2)) for n in sizes]
    if any(_excess(r.high - 1, n, 0, m, share) > tested / 2
           for r, n, m in zip(ranks, sizes, sizes[::-1], strict=True)):  # fmt: skip
        ranks, tested = [shortest(n, share, shares(error, 2)) for n in sizes], 0.0
    (lows, highs), (other_lows, other_highs) = bracket_ends(first), bracket_ends(second)
    mine, other = ranks
    low = -_largest_unpaired(other_highs, lows, other, mine, share, tested / 2)
    return Interval(low, _largest_unpaired(highs, other_lows, mine, other, share, tested / 2))


def _largest_unpaired(
    highs: Floats, lows: Floats, ranks: Ranks, other: Ranks, share: float, error: float
) -> float:
    """The largest difference of two quantiles that no test rejects.

    Only ends of brackets are candidates, as with pairs. More of the first sample below its quantile
    call for more of the second below its own, so the smallest second quantile grows with the first.
    """
    n, m = len(highs), len(lows)
    if ranks.high > n:
        return math.inf
    highs, lows = np.sort(highs), np.sort(lows)
    least = 0.0 if other.low < 1 else float(lows[other.low - 1])
    best, below = -math.inf, 0
    for at in np.unique(highs[: ranks.high]):
        count = int(np.searchsorted(highs, at, side="left"))
        while below < m and _excess(count, n, below, m, share) <= error:
            below += 1
        second = least if below == 0 else max(least, float(lows[below - 1]))
        best = max(best, float(at) - second)
    return best


def _excess(one: int, n: int, other: int, m: int, share: float) -> float:
    """How likely Binomial(n)/n exceeds Binomial(m)/m by `one`/n - `other`/m or more; exact."""
    from scipy.special import bdtrc

    counts = np.arange(m + 1)
    needed = -((-(one * m + (counts - other) * n)) // m)  # whole numbers: no rounding
    tails = np.where(
        needed > n, 0.0, np.where(needed <= 0, 1.0, bdtrc(np.clip(needed, 1, n) - 1.0, n, share))
    )
    return float(masses(m, share) @ tails)
