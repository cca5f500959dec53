"""The log-normal posterior of the quantile (Kielhöfer 2024, algorithm 1), in log space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import Assumed, Assumption, Prior
from surefoot.core.limits import check_fields, limit
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import Bracket, Guarantee, Interval, Quantile, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population.quantile import assumptions_of
from surefoot.statistics.ranks import check_share
from surefoot.statistics.tail import anderson_darling

Floats = NDArray[np.float64]
_ZOOMS = 8
"""Times the grid is laid anew around the posterior; three or four are usually enough."""
_COARSE = 17
"""Nodes along each side of a grid that only finds where the posterior lies."""
_FINE = 121
"""Nodes, at most, along each side of the last grid, from which the interval is read."""
NEGLIGIBLE = 18.0
"""Log units below the highest density: e^-18 of it is left out."""
_TINY = 1e-300
"""The smallest number whose logarithm is taken."""
_MANY = 2000
"""Different brackets beyond which they are rounded and the likelihood is interpolated."""
_STEPS = 64
"""Steps to a standard deviation of the logarithms, to which many brackets are rounded."""
_CACHED_NUMBERS = 200_000
"""Numbers computed at a time, so that they stay in the processor's cache."""
_WIDEST, _NARROWEST = math.log(6.0), math.log(1e-4)
"""Logarithms of the largest and smallest spread considered: radii of one network vary by less than
a factor e^6, and no bracket resolves a spread of 1e-4."""
_LEAST_TESTED = 8
"""Inputs: of fewer the p-value of the test is not known."""
LEAST_INPUTS = 20
"""Fewer do not outweigh the prior: of true log-normal radii the 95 % interval misses the quantile
in 40, 20, 13 and 13 % of samples of 1, 2, 3 and 5 inputs."""


_CEILING = limit(lambda x: 0 < x < math.inf, "be a finite radius above 0")


@dataclass(frozen=True)
class LogNormalPosterior:
    """The quantile if critical levels are log-normal: the central interval of its posterior.

    Prior as in the thesis: flat in the quantile up to `ceiling`, then the median uniform between
    the quantile and `ceiling`. A bracket contributes the probability between its ends. The grid
    is deterministic. Coverage rests on the log-normal, of which `fit` tells whether the data reject
    it, and is an average over the prior. Of fewer than `LEAST_INPUTS` inputs it says nothing.
    """

    share: float = 0.05
    error: float = 0.05
    ceiling: float = field(default=0.4, metadata=_CEILING)
    level: float = 0.05
    kind: ClassVar[str] = "log-normal"

    def __post_init__(self) -> None:
        check_fields(self)
        check_share(self.share, self.error)
        if self.share >= 0.5:
            raise InvalidArgument(
                f"share must be less than 0.5, got {self.share}: the prior puts the quantile below "
                "the median"
            )

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The posterior median, and the interval that leaves out `error`, half on either side."""
        if not local:
            return Undecided(Why.NO_BRACKETS.of())
        if len(local) < LEAST_INPUTS:
            return Undecided(Why.FEW_FOR_POSTERIOR.of(len(local), LEAST_INPUTS))
        zeros = sum(b.high == 0 for b in local)
        if zeros:
            return Undecided(Why.ZERO_LEVELS.of(zeros))
        brackets = _BracketCounts.of(local)
        if not (np.isfinite(brackets.highs).any() and (brackets.lows < self.ceiling).any()):
            return Undecided(Why.NOTHING_REFUTED.of())
        quantiles, weights = self._posterior(brackets)
        low, value, high = _read(quantiles, weights, (error / 2, 0.5, 1 - error / 2))
        promise = Guarantee.given(error, (*assumptions_of(local), *self.assumptions))
        fit = _verdict(brackets, self.level)
        return Quantile(self.share, value, Interval(low, high), promise, len(local), fit=fit)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the interval supposes beyond the sample and the brackets."""
        return Assumed.LOG_NORMAL, Prior(self.ceiling)

    def _posterior(self, brackets: _BracketCounts) -> tuple[Floats, Floats]:
        """The quantile at every node of the last grid, with its weight.

        Where to look is found with rounded brackets if there are very many; should the posterior
        not end within that region, with all of them as they are.
        """
        rough = brackets.rounded()
        for searched in (rough,) if rough is brackets else (rough, brackets):
            middles, spreads = self._region(searched)
            fine = brackets.fineness
            middles, spreads = (np.linspace(x[0], x[-1], fine) for x in (middles, spreads))
            height = self._prior(middles, spreads) + brackets.finely(middles, spreads)
            inner = height[1:-1, 1:-1].max()
            border = max(
                side.max() for side in (height[0], height[-1], height[:, 0], height[:, -1])
            )
            if inner == height.max() and border < inner - NEGLIGIBLE / 2:
                break
        return self._quantile(middles, spreads).ravel(), np.exp(height - height.max()).ravel()

    def _region(self, brackets: _BracketCounts) -> tuple[Floats, Floats]:
        """Log medians and log spreads that span all of the posterior that counts."""
        logs = np.log(brackets.points())
        span = max(4.0, 2 * float(np.ptp(logs)))
        ceiling = math.log(self.ceiling)
        dense = np.linspace(-1, 1, _COARSE) ** 3  # most nodes where the middle of the data is
        middles = np.unique(np.minimum(float(logs.mean()) + span * dense, ceiling))
        spreads = np.linspace(_NARROWEST, _WIDEST, _COARSE)
        for _ in range(_ZOOMS):
            height = self._prior(middles, spreads) + brackets.likelihood(middles, np.exp(spreads))
            relevant = height > height.max() - NEGLIGIBLE
            rows, columns = relevant.any(axis=1), relevant.any(axis=0)
            middles, spreads = _closer(middles, rows, _COARSE), _closer(spreads, columns, _COARSE)
            if min(rows.sum(), columns.sum()) > _COARSE // 2:
                break
        return middles, spreads

    def _quantile(self, middles: Floats, spreads: Floats) -> Floats:
        from scipy.special import ndtri

        quantiles: Floats = np.exp(middles[:, None] + float(ndtri(self.share)) * np.exp(spreads))
        return quantiles

    def _prior(self, middles: Floats, spreads: Floats) -> Floats:
        """log of the prior over the log of the median and the log of the spread.

        dq dM / (ceiling - q), with q = M e^(z s); so q M s / (ceiling - q) d(ln M) d(ln s).
        """
        quantile = self._quantile(middles, spreads)
        logs: Floats = np.log(np.maximum(quantile, _TINY)) + middles[:, None] + spreads
        logs -= np.log(np.maximum(self.ceiling - quantile, _TINY))
        return logs


@dataclass(frozen=True)
class _BracketCounts:
    """The different brackets, and how often each occurs."""

    lows: Floats
    highs: Floats
    times: Floats

    @classmethod
    def of(cls, local: Sequence[Bracket]) -> _BracketCounts:
        pairs = np.array([(b.low, b.high) for b in local])
        kinds, times = np.unique(pairs, axis=0, return_counts=True)
        return cls(kinds[:, 0], kinds[:, 1], times.astype(np.float64))

    def likelihood(self, middles: Floats, spreads: Floats) -> Floats:
        """log-likelihood at every pair of a log median and a spread, a few brackets at a time."""
        exact = self.lows == self.highs
        with np.errstate(divide="ignore"):
            lows, highs, times = np.log(self.lows), np.log(self.highs), self.times
        total: Floats = np.zeros((len(middles), len(spreads)))
        places, few = np.flatnonzero(~exact), max(1, _CACHED_NUMBERS // total.size)
        for part in (places[i : i + few] for i in range(0, len(places), few)):
            total += _log_mass(lows[part], highs[part], middles, spreads) @ times[part]
        points, often = lows[exact], times[exact]
        if often.size:  # of a normal, the mean and the variance say all
            count, mean = often.sum(), float(np.average(points, weights=often))
            around = float(often @ (points - mean) ** 2)
            total -= (around + count * (mean - middles[:, None]) ** 2) / (2 * spreads**2)
            total -= count * (np.log(spreads) + mean)
        return total

    @property
    def fineness(self) -> int:
        """How many nodes the last grid has along each side."""
        few = int(np.clip(420 / math.sqrt(len(self.times)), 37, _FINE))
        return few if len(self.times) <= _MANY else _FINE

    def finely(self, middles: Floats, spreads: Floats) -> Floats:
        """log-likelihood on an even grid of log medians and log spreads.

        Of very many brackets it is so smooth there that a polynomial through few nodes gives it.
        """
        if len(self.times) <= _MANY:
            return self.likelihood(middles, np.exp(spreads))
        from numpy.polynomial.chebyshev import chebpts1, chebvander

        nodes = chebpts1(_COARSE)
        through = np.linalg.inv(chebvander(nodes, _COARSE - 1))
        read = chebvander(np.linspace(-1, 1, len(middles)), _COARSE - 1) @ through
        m, s = (x.mean() + nodes * (x[-1] - x[0]) / 2 for x in (middles, spreads))
        interpolated: Floats = read @ self.likelihood(m, np.exp(s)) @ read.T
        return interpolated

    def rounded(self) -> _BracketCounts:
        """Very many brackets as fewer, their ends rounded on the log scale."""
        step = float(np.log(self.points()).std()) / _STEPS
        if len(self.times) <= _MANY or not step > 0:
            return self
        with np.errstate(divide="ignore"):
            ends = np.log(np.stack([self.lows, self.highs], axis=1))
        kinds, places = np.unique(np.round(ends / step) * step, axis=0, return_inverse=True)
        return _BracketCounts(
            np.exp(kinds[:, 0]),
            np.exp(kinds[:, 1]),
            np.bincount(places.ravel(), self.times).astype(np.float64),
        )

    def points(self) -> Floats:
        """One level for each input: those with the same bracket spread evenly over it."""
        known, times = np.isfinite(self.highs), self.times.astype(int)
        kind = np.repeat(np.flatnonzero(known), times[known])
        place = np.arange(len(kind)) - np.repeat(
            np.cumsum(times[known]) - times[known], times[known]
        )
        within = (place + 0.5) / times[kind] * (self.highs[kind] - self.lows[kind])
        every = np.append(self.lows[kind] + within, np.repeat(self.lows[~known], times[~known]))
        raised: Floats = np.maximum(every, every[every > 0].min() / 2)
        return raised


def _log_mass(lows: Floats, highs: Floats, middles: Floats, spreads: Floats) -> Floats:
    """log of the probability between two ends at every median and spread, the ends last."""
    low, high = ((ends - middles[:, None, None]) / spreads[:, None] for ends in (lows, highs))
    return log_normal_mass(low, high)


def log_normal_mass(low: Floats, high: Floats) -> Floats:
    """log of the probability between two ends of a standard normal.

    Above the median it is the difference of the upper tails, which are not rounded to 1 there.
    """
    from scipy.special import ndtr

    above = low > 0
    low, high = np.where(above, -high, low), np.where(above, -low, high)
    logs: Floats = np.log(np.maximum(ndtr(high) - ndtr(low), _TINY))
    return logs


def _closer(nodes: Floats, relevant: NDArray[np.bool_], size: int) -> Floats:
    """A finer grid over the nodes that matter and their neighbours."""
    places = np.flatnonzero(relevant)
    first, last = max(places[0] - 1, 0), min(places[-1] + 1, len(nodes) - 1)
    return np.linspace(nodes[first], nodes[last], size)


def _read(values: Floats, weights: Floats, chances: tuple[float, ...]) -> tuple[float, ...]:
    order = np.argsort(values)
    heaped = np.cumsum(weights[order])
    middle = (heaped - weights[order] / 2) / heaped[-1]
    return tuple(float(v) for v in np.interp(chances, middle, values[order]))


def fit_of(local: Sequence[Bracket], level: float) -> Reason:
    """Whether Anderson-Darling rejects the log-normal at this level."""
    return _verdict(_BracketCounts.of(local), level)


def _verdict(brackets: _BracketCounts, level: float) -> Reason:
    censored = int(brackets.times[np.isinf(brackets.highs)].sum())
    if censored:
        return Why.NOT_TESTED.of(Why.NEVER_REFUTED.of(censored))
    if brackets.times.sum() < _LEAST_TESTED:
        return Why.NOT_TESTED.of(Why.FEW_TO_TEST.of(_LEAST_TESTED))
    p = anderson_darling(np.log(brackets.points()))
    outcome = Why.REJECTED if p < level else Why.NOT_REJECTED
    return outcome.of(100 * level, p)
