"""Other estimators of a quantile of critical radii: Algorithm 1 of the thesis, resampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.limits import check_fields, limit
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import Bracket, Guarantee, Interval, Quantile, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population import lognormal
from surefoot.population.lognormal import LEAST_INPUTS, LogNormalPosterior, fit_of
from surefoot.population.quantile import OrderStatistics, ShortestRanks, assumptions_of

Floats = NDArray[np.float64]
SINGLE = 2.0**-149
"""The smallest positive number of single precision, in which the thesis multiplies."""
_CELLS = 64
"""Bins of the quantile, and of the median: a posterior covers half of them or more."""
_MOST_CELLS = 1000
"""Of either: a million numbers for each input."""
_RELAID = 6
"""Times, at most, that bins are laid anew for one input; each halves the region at least."""


@dataclass(frozen=True)
class Posterior:
    """The probability of each bin of quantiles, and how many inputs it is made from.

    `stopped` says why no more inputs were taken.
    """

    edges: Floats
    masses: Floats
    inputs: int = 0
    stopped: Reason | None = None

    def between(self, low: float, high: float) -> float:
        """How likely the quantile lies between two values."""
        reached = np.interp((low, high), self.edges, self._heaped)
        return max(0.0, float(reached[1] - reached[0]))

    def central(self, error: float) -> tuple[float, float, float]:
        """The interval that leaves out half of `error` on either side, the median in between."""
        chances = (error / 2, 0.5, 1 - error / 2)
        low, value, high = np.interp(chances, self._heaped, self.edges)
        return float(low), float(value), float(high)

    @property
    def _heaped(self) -> Floats:
        heaped: Floats = np.concatenate([[0.0], np.cumsum(self.masses)]) / self.masses.sum()
        return heaped


_LENGTH = limit(lambda x: 0 < x < math.inf, "be a length above 0", "try 0.002")
_PROBABILITY = limit(lambda x: 0 <= x < 1, "be a probability below 1", "0 for no limit")
_BINS = limit(
    lambda n: 8 <= n <= _MOST_CELLS, f"be an integer from 8 to {_MOST_CELLS}", f"try {_CELLS}"
)


@dataclass(frozen=True)
class AlgorithmOne:
    """Inputs in their order, until the interval is as short as `gamma` or the likelihood is 0.

    The prior is that of `LogNormalPosterior`. As published, likelihoods are rounded to multiples of
    `smallest`, and at 25 to 30 inputs all are 0; then the last input is taken back. With
    `smallest` 0, in log space, only `gamma` and the end of the inputs stop it. The thesis draws
    parameters at random and ends its loop when what is left is 2 `gamma` long; here the sum is on
    a grid, and the loop ends when the interval itself is `gamma` long.
    """

    share: float = 0.05
    error: float = 0.05
    gamma: float = field(default=0.002, metadata=_LENGTH)
    ceiling: float = 0.4
    smallest: float = field(default=SINGLE, metadata=_PROBABILITY)
    level: float = 0.05
    bins: int = field(default=_CELLS, metadata=_BINS)
    kind: ClassVar[str] = "algorithm-1"

    def __post_init__(self) -> None:
        LogNormalPosterior(self.share, self.error, self.ceiling, self.level)
        check_fields(self)

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The posterior median and the central interval, of the inputs before it stopped.

        Nothing where these are fewer than `LEAST_INPUTS`; `posterior` has what the algorithm gives
        there. `fit` is of all of `local`: what the algorithm did not use can contradict it too.
        """
        posterior = self.posterior(local, error)
        if isinstance(posterior, Undecided):
            return posterior
        if posterior.inputs < LEAST_INPUTS:
            taken = posterior.inputs, len(local), posterior.stopped
            return Undecided(Why.STOPPED_TOO_SOON.of(*taken, LEAST_INPUTS, DEFAULT_ESTIMATOR))
        low, value, high = posterior.central(error)
        used = local[: posterior.inputs]
        rests = (*assumptions_of(used), *LogNormalPosterior(ceiling=self.ceiling).assumptions)
        promise = Guarantee.given(error, rests)
        note = Why.INPUTS_USED.of(len(used), len(local), posterior.stopped)
        fit = fit_of(local, self.level)
        return Quantile(
            self.share, value, Interval(low, high), promise, len(used), fit=fit, note=note
        )

    def posterior(self, local: Sequence[Bracket], error: float) -> Posterior | Undecided:
        """The posterior after the inputs that the algorithm took, in the order of `local`."""
        if not local:
            return Undecided(Why.NO_BRACKETS.of())
        for bracket in local:
            if bracket.low == bracket.high:
                reason = Why.NO_LENGTH.of(bracket.low, bracket.high)
                reason = reason if bracket.high else Why.ZERO_LEVEL.of()
                return Undecided(reason)
        underflow = Why.UNDERFLOW.of(self.smallest, self.gamma)
        region = _Region((0.0, self.ceiling), (0.0, self.ceiling), self.share, self.bins)
        logs, before = np.zeros((self.bins, self.bins)), Posterior(np.zeros(1), np.zeros(0))
        for number, bracket in enumerate(local, 1):
            logs = logs + _log_mass(region, bracket.low, bracket.high)
            region, logs, cells = self._close_in(region, logs, local[:number])
            heights = cells.sum(axis=1)
            if not heights.any():
                return before if before.inputs else Undecided(Why.IMPOSSIBLE.of())
            now = Posterior(region.edges, heights, number, Why.NO_MORE_INPUTS.of())
            low, _, high = now.central(error)
            if high - low <= self.gamma:
                known = Why.SHORT_ENOUGH.of(self.gamma)
                return Posterior(now.edges, now.masses, number, known)
            before = Posterior(now.edges, now.masses, number, underflow)
        return now

    def _heights(self, region: _Region, logs: Floats) -> Floats:
        """The posterior at every node, up to a factor; what counts as 0 is 0."""
        if self.smallest:
            with np.errstate(divide="ignore"):
                logs = np.log(np.rint(np.exp(logs - math.log(self.smallest))))
        density = logs + _log_prior(region, self.ceiling)
        highest = density.max()
        if highest == -math.inf:
            return np.zeros_like(density)
        kept = density >= highest - lognormal.NEGLIGIBLE
        heights: Floats = np.where(kept, np.exp(density - highest), 0.0)
        return heights

    def _close_in(
        self, region: _Region, logs: Floats, local: Sequence[Bracket]
    ) -> tuple[_Region, Floats, Floats]:
        """Bins laid anew where the posterior is above 0, if that is less than half of them.

        The posterior at every node comes with them.
        """
        for _ in range(_RELAID):
            heights = self._heights(region, logs)
            above = heights > 0
            rows, columns = np.flatnonzero(above.any(axis=1)), np.flatnonzero(above.any(axis=0))
            if not rows.size or min(np.ptp(rows), np.ptp(columns)) >= self.bins // 2 - 2:
                return region, logs, heights
            region = region.around(rows, columns)
            logs = np.zeros_like(logs)
            for bracket in local:
                logs += _log_mass(region, bracket.low, bracket.high)
        return region, logs, self._heights(region, logs)


@dataclass(frozen=True)
class _Region:
    """Cells of the quantile (rows) and of the median (columns), each axis even."""

    quantiles: tuple[float, float]
    medians: tuple[float, float]
    share: float
    bins: int

    @property
    def edges(self) -> Floats:
        """The ends of the bins of the quantile."""
        return np.linspace(*self.quantiles, self.bins + 1)

    def around(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> _Region:
        """The cells between these, with a neighbour on either side."""
        ends = []
        for (low, high), cells in ((self.quantiles, rows), (self.medians, columns)):
            step = (high - low) / self.bins
            first, last = max(cells[0] - 1, 0), min(cells[-1] + 2, self.bins)
            ends.append((low + first * step, low + last * step))
        return _Region(ends[0], ends[1], self.share, self.bins)


def _nodes(ends: tuple[float, float], bins: int) -> Floats:
    edges = np.linspace(*ends, bins + 1)
    middles: Floats = (edges[1:] + edges[:-1]) / 2
    return middles


@lru_cache(maxsize=64)
def _log_prior(region: _Region, ceiling: float) -> Floats:
    """The median is uniform between the quantile and the ceiling."""
    quantiles = _nodes(region.quantiles, region.bins)[:, None]
    medians = _nodes(region.medians, region.bins)
    logs: Floats = np.where(medians > quantiles, -np.log(ceiling - quantiles), -np.inf)
    return logs


@lru_cache(maxsize=64)
def _log_normals(region: _Region) -> tuple[Floats, Floats]:
    """Means and deviations of the logarithm at every node."""
    from scipy.special import ndtri

    middles = np.log(_nodes(region.medians, region.bins))
    quantiles = np.log(_nodes(region.quantiles, region.bins))[:, None]
    return middles, np.maximum((quantiles - middles) / float(ndtri(region.share)), 1e-9)


@lru_cache(maxsize=512)
def _log_mass(region: _Region, low: float, high: float) -> Floats:
    middles, spreads = _log_normals(region)
    with np.errstate(divide="ignore"):
        first, last = ((np.log(end) - middles) / spreads for end in (low, high))
    logs = lognormal.log_normal_mass(first, last)
    logs.setflags(write=False)
    return logs


QuantileEstimator = ShortestRanks | OrderStatistics | LogNormalPosterior | AlgorithmOne
ESTIMATORS: dict[str, type[QuantileEstimator]] = {
    one.kind: one for one in (ShortestRanks, OrderStatistics, LogNormalPosterior, AlgorithmOne)
}
"""The first is that of every headline, unless another is chosen."""
DEFAULT_ESTIMATOR = ShortestRanks.kind
_SPELLINGS = {"lognormal": LogNormalPosterior.kind}


def estimator_named(
    name: str, share: float, error: float, gamma: float | None = None
) -> QuantileEstimator:
    """The estimator of this name; `gamma` is for algorithm-1 alone."""
    kind = _SPELLINGS.get(name, name)
    if kind not in ESTIMATORS:
        raise InvalidArgument(
            f"there is no estimator {name!r} (--estimator): choose one of {', '.join(ESTIMATORS)}"
        )
    chosen = ESTIMATORS[kind](share, error)
    if gamma is None:
        return chosen
    if not isinstance(chosen, AlgorithmOne):
        raise InvalidArgument(
            f"gamma (--gamma) {gamma:g} says when algorithm-1 stops, and {kind} takes all inputs: "
            "leave it out, or choose the estimator algorithm-1"
        )
    return replace(chosen, gamma=gamma)


def refuse_contradicted(quantile: Quantile | Undecided) -> Quantile | Undecided:
    """Undecided where the data reject the distribution of the interval, or cannot test it."""
    match quantile:
        case Quantile(fit=Reason(why=Why.REJECTED) as fit):
            return Undecided(Why.CONTRADICTED.of(fit, DEFAULT_ESTIMATOR))
        case Quantile(fit=Reason(why=Why.NOT_TESTED, values=(why,))):
            return Undecided(Why.NOT_TESTABLE.of(why, DEFAULT_ESTIMATOR))
        case _:
            return quantile
