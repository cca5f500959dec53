"""How often intervals of a quantile hold it, where the brackets at hand are the population."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from surefoot.core.counts import Counts
from surefoot.core.results import Bracket, Interval, Quantile, Undecided
from surefoot.population.algorithm_one import AlgorithmOne, Posterior
from surefoot.population.lognormal import LogNormalPosterior
from surefoot.population.quantile import LevelQuantile, OrderStatistics, ShortestRanks, SortedEnds
from surefoot.statistics.bounds import clopper_pearson

_ROUNDING = 1e-9
"""Of a rank: share · n is a whole number if it is this close to one."""


@dataclass(frozen=True)
class Draw:
    """One run of algorithm 1 on inputs drawn at random, and what others say of the same inputs.

    `places` are the inputs it took, in order; `others` has an interval for each other estimator,
    None where it gave none.
    """

    places: tuple[int, ...]
    posterior: Posterior
    interval: Interval
    others: dict[str, Interval | None]


@dataclass(frozen=True)
class Coverage:
    """Of `given` intervals, how many hold the quantile, and what that says of the coverage.

    The quantile is known to a bracket: `share` counts its middle. `around` is a Clopper-Pearson
    interval at confidence 95 % wherever in the bracket the quantile lies: its low end counts
    intervals that hold the whole bracket, its high end those that touch it.
    """

    estimator: str
    given: int
    held: int
    around: Interval
    length: float

    @property
    def share(self) -> float:
        """The share of intervals that hold the middle of the bracket of the quantile."""
        return self.held / self.given if self.given else math.nan


@dataclass(frozen=True)
class Resampling:
    """Runs of algorithm 1 on samples of these brackets.

    `refused`: runs without an interval; `reason`: why the first of them gave none.
    """

    local: tuple[Bracket, ...]
    share: float
    draws: tuple[Draw, ...]
    refused: int
    reason: str = ""

    @property
    def repeats(self) -> int:
        """All runs, with an interval or without."""
        return len(self.draws) + self.refused

    @cached_property
    def quantile(self) -> Interval:
        """The bracket of the quantile of all of them."""
        return quantile_of(self.local, self.share)

    def coverage(self) -> tuple[Coverage, ...]:
        """Of algorithm 1, then of each other estimator on the same inputs."""
        if not self.draws:
            return ()
        kinds = [*self.draws[0].others]
        each = {AlgorithmOne.kind: [draw.interval for draw in self.draws]}
        each |= {k: [i for d in self.draws if (i := d.others[k]) is not None] for k in kinds}
        return tuple(_coverage(kind, intervals, self.quantile) for kind, intervals in each.items())


def quantile_of(local: Sequence[Bracket], share: float) -> Interval:
    """Between which levels the quantile of these brackets themselves lies."""
    return SortedEnds.of(local).at(math.ceil(share * len(local) - _ROUNDING))


@lru_cache(maxsize=64)
def resample(local: tuple[Bracket, ...], over: AlgorithmOne, repeats: int, seed: int) -> Resampling:
    """Run it `repeats` times on inputs drawn with replacement, so that draws are independent.

    The other estimators get the inputs that algorithm 1 took.
    """
    rng = np.random.default_rng(seed)
    draws, refused = [], list[str]()
    for _ in range(repeats):
        places = rng.integers(0, len(local), len(local))
        posterior = over.posterior([local[i] for i in places], over.error)
        if isinstance(posterior, Undecided):
            refused.append(posterior.reason)
            continue
        low, _, high = posterior.central(over.error)
        used = tuple(int(i) for i in places[: posterior.inputs])
        drawn = [local[i] for i in used]
        draws.append(Draw(used, posterior, Interval(low, high), _others(over, drawn)))
    return Resampling(local, over.share, tuple(draws), len(refused), "".join(refused[:1]))


def _others(over: AlgorithmOne, drawn: Sequence[Bracket]) -> dict[str, Interval | None]:
    estimators: tuple[LogNormalPosterior | OrderStatistics | ShortestRanks, ...] = (
        LogNormalPosterior(over.share, over.error, over.ceiling),
        OrderStatistics(over.share, over.error),
        ShortestRanks(over.share, over.error),
    )
    return {one.kind: _interval(one, drawn, over.error) for one in estimators}


def _interval(one: LevelQuantile, drawn: Sequence[Bracket], error: float) -> Interval | None:
    quantile = one.conclude(drawn, error)
    return quantile.interval if isinstance(quantile, Quantile) else None


def _coverage(kind: str, intervals: Sequence[Interval], truth: Interval) -> Coverage:
    middle = (truth.low + truth.high) / 2 if math.isfinite(truth.high) else truth.low
    n = len(intervals)
    whole = sum(i.low <= truth.low and truth.high <= i.high for i in intervals)
    touching = sum(i.low <= truth.high and truth.low <= i.high for i in intervals)
    held = sum(i.low <= middle <= i.high for i in intervals)
    if not n:
        return Coverage(kind, 0, 0, Interval(0.0, 1.0), math.nan)
    low, high = (clopper_pearson(Counts(n, count), 0.05) for count in (whole, touching))
    length = float(np.mean([i.width for i in intervals]))
    return Coverage(kind, n, held, Interval(low.low, high.high), length)
