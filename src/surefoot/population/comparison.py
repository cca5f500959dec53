"""Models compared on the same inputs or on others: means, and quantiles of critical radii."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import Assumed, Assumption, Together, jointly
from surefoot.core.reasons import Why
from surefoot.core.results import Bracket, Decision, Estimate, Guarantee, Interval, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population.groups import Sampled, unit_word
from surefoot.population.quantile import SortedEnds, assumptions_of, bracket_ends, sample_quantile
from surefoot.population.requirement import Population, more_inputs, sound, spent_by
from surefoot.statistics.bounds import binomial_masses, mcnemar, shares, two_sided
from surefoot.statistics.ranks import Ranks, check_share, shortest

Pairs = Collection[frozenset[str]]


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
    same = Guarantee.sound()
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
        promise = Guarantee.given(error, _assumed(mine, other))
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
    run: int | None = None,
    unit: str = "inputs",
) -> Decision | Undecided:
    """Whether this one is less robust than none of the others by more than `margin`.

    One-sided, spending the share of the error that run number `run` of the comparison has. It holds
    if each comparison by itself says so at that error: were one worse, that comparison would have
    to err. It is refuted if one of the k others is better by more at a k-th of it.
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
        return Decision(claim, True, Guarantee.sound(), trials)
    wholes = [sound(population.conclude(results, population.error)) for results in local.values()]
    promise = Guarantee.given(population.error, _assumed(*wholes))
    now = _spent_by_pair(population, run)
    later = now if run is None else _spent_by_pair(population, run + 1)
    holds = _holds(population, local[name], others, margin, now)
    if holds is not None:
        return Decision(claim, holds, promise, trials)

    open_ = [o for o in others if _gap(population, local[name], others[o], now).low < -margin]
    gaps = {o: _gap(population, local[name], others[o], later) for o in open_}
    inputs = len(local[name])

    def chance(number: int) -> float:
        return min(_chance(gaps[other], margin, later, number / inputs) for other in open_)

    forecast = more_inputs(chance, inputs, unit_word(local[name], unit))
    return Undecided(Why.MAY_BE_WORSE.of(name, margin, forecast, *open_), trials)


def _spent_by_pair(population: Population, run: int | None) -> float:
    """What a comparison may spend whose part that was run most often is run number `run`.

    Of two models, 2 `run` + 1 pairs of runs are such comparisons: each may be made.
    """
    return spent_by(population, run) / (2 * (run or 0) + 1)


def _holds(
    population: Population,
    mine: Sequence[Sampled],
    others: Mapping[str, Sequence[Sampled]],
    margin: float,
    error: float,
) -> bool | None:
    """Whether none of the others is better by more than the margin; None if undecided."""
    if all(_gap(population, mine, other, error).low >= -margin for other in others.values()):
        return True
    share = shares(error, len(others))
    beaten = any(_gap(population, mine, other, share).high < -margin for other in others.values())
    return False if beaten else None


def _gap(
    population: Population, mine: Sequence[Sampled], other: Sequence[Sampled], error: float
) -> Interval:
    """The difference, each end by itself wrong with probability at most `error`."""
    return population.difference(mine, other, two_sided(error))


def _chance(gap: Interval, margin: float, error: float, growth: float) -> float:
    """That `growth` times as many inputs decide: a forecast, by normal distributions.

    `gap` has ends of this error, so that half its width says how far off the estimate may be, and
    how wide the interval of more inputs will be.
    """
    from scipy.special import ndtr, ndtri

    half, centre = (gap.high - gap.low) / 2, (gap.high + gap.low) / 2
    spread = half / -float(ndtri(error)) * math.sqrt(1 - 1 / growth)
    if spread == 0:
        return 0.0
    away, reach = (centre + margin) / spread, half / math.sqrt(growth) / spread
    return float(ndtr(away - reach) + ndtr(-away - reach))


def _assumed(*wholes: Estimate | Undecided) -> tuple[Assumption, ...]:
    """All that the statements about these take for granted."""
    known = [whole.guarantee for whole in wholes if isinstance(whole, Estimate)]
    return tuple(dict.fromkeys(a for g in known for a in g.assumptions)) or (Assumed.SAMPLED,)


def not_worse_of_samples(
    population: Population, mine: Sequence[Sampled], other: Sequence[Sampled], margin: float
) -> Decision | Undecided:
    """Whether the quantity is at most `margin` smaller than that of the other sample.

    One-sided, spending `population.error`: each end of an interval spends half of the error that
    this is made with, so the two ends that decide spend all of it together, however the samples
    depend on each other (a union bound), inputs that they share included.
    """
    error = population.error
    known = [sound(population.conclude(local, error)) for local in (mine, other)]
    trials = sum(r.trials for local in (mine, other) for r in local)
    a, b = known
    if not (isinstance(a, Estimate) and isinstance(b, Estimate)):
        reason = next(one.reason for one in known if isinstance(one, Undecided))
        return Undecided(reason, trials)
    gap = Interval(a.interval.low - b.interval.high, a.interval.high - b.interval.low)
    assumptions = dict.fromkeys((*a.guarantee.assumptions, *b.guarantee.assumptions))
    promise = Guarantee.given(error, (*assumptions, Assumed.SAME_POPULATION))
    claim = f"{population.quantity} is at most {margin!r} smaller than that of the other sample"
    if gap.low >= -margin:
        return Decision(claim, True, promise, trials)
    if gap.high < -margin:
        return Decision(claim, False, promise, trials)
    return Undecided(Why.OTHER_INPUTS.of(100 * gap.low, 100 * gap.high), trials)


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
        promise = Guarantee.given(
            error, assumptions_of([*local[a], *local[b]]), jointly(Together.DIFFERENCES, len(pairs))
        )
        differences.append(Difference(a, b, value, around, promise))
    return tuple(differences)


def _split(n: int, share: float, error: float, models: int = 2) -> tuple[Ranks, float]:
    """The ranks of each quantile, and the error of the test of each pair.

    With so few inputs that the test could never reject, all of the error goes to the ranks.
    """
    ranks = shortest(n, share, shares((1 - _PAIRED_SHARE) * error, models))
    tested = shares(_PAIRED_SHARE * error, math.comb(models, 2))
    if mcnemar(ranks.high - 1, 0) > tested / 2:
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
        while mcnemar(below - both, int(counts[place]) - both) <= error:
            both += int(np.count_nonzero(highs[counts[place] : counts[place + 1]] < at))
            place += 1  # ends before the last candidate, which is never rejected
        best = max(best, float(at - seconds[place]))
    return best


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
    return float(binomial_masses(m, share) @ tails)
