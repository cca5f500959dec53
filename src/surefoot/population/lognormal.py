"""The log-normal posterior of the quantile (Kielhöfer 2024, algorithm 1), in log space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.population.requirement import SAMPLED
from surefoot.results import Bracket, Footing, Guarantee, Interval, Quantile, Undecided
from surefoot.statistics.ranks import check_share
from surefoot.statistics.tail import anderson_darling

Floats = NDArray[np.float64]
_ZOOMS, _COARSE = 8, 17
_NEGLIGIBLE = 18.0  # e^-18 of the highest: left out
_TINY = 1e-300
_WIDEST, _NARROWEST = math.log(6.0), math.log(1e-4)


@dataclass(frozen=True)
class LogNormalPosterior:
    """The quantile if critical levels are log-normal: the central interval of its posterior.

    Prior as in the thesis: flat in the quantile up to `ceiling`, then the median uniform between
    the quantile and `ceiling`. A bracket contributes the probability between its ends. The grid
    is deterministic. Coverage rests on the log-normal: `fit` tells whether the data reject it.
    """

    share: float = 0.05
    error: float = 0.05
    ceiling: float = 0.4
    level: float = 0.05
    kind: ClassVar[str] = "log-normal"

    def __post_init__(self) -> None:
        check_share(self.share, self.error)
        if self.share >= 0.5:
            raise InvalidArgument(
                f"the prior puts the quantile below the median: share must be less than 0.5, got "
                f"{self.share}"
            )
        if not 0 < self.ceiling < math.inf:
            raise InvalidArgument(f"ceiling is the largest level searched, got {self.ceiling}")

    def conclude(self, local: Sequence[Bracket], error: float) -> Quantile | Undecided:
        """The posterior median, and the interval that leaves out `error`, half on either side."""
        if not local:
            return Undecided("there are no brackets to take a quantile of")
        zeros = sum(b.high == 0 for b in local)
        if zeros:
            return Undecided(f"{zeros} inputs have a critical level of 0, which no log-normal has")
        seen = _Seen.of(local)
        if not (np.isfinite(seen.highs).any() and (seen.lows < self.ceiling).any()):
            return Undecided("no input was refuted below the ceiling: there is nothing to fit")
        quantiles, weights = self._posterior(seen)
        low, value, high = _read(quantiles, weights, (error / 2, 0.5, 1 - error / 2))
        assumption = f"{SAMPLED}; critical levels are log-normal, median at most {self.ceiling:g}"
        promise = Guarantee(Footing.CONDITIONAL, error, assumption)
        fit = _verdict(seen, self.level)
        return Quantile(self.share, value, Interval(low, high), promise, len(local), fit=fit)

    def _posterior(self, seen: _Seen) -> tuple[Floats, Floats]:
        """The quantile at every node of the last grid, with its weight."""
        logs = np.log(seen.points())
        span = max(4.0, 2 * float(np.ptp(logs)))
        ceiling = math.log(self.ceiling)
        dense = np.linspace(-1, 1, _COARSE) ** 3  # most nodes where the middle of the data is
        middles = np.unique(np.minimum(float(logs.mean()) + span * dense, ceiling))
        spreads = np.linspace(_NARROWEST, _WIDEST, _COARSE)
        for _ in range(_ZOOMS):
            height = self._height(seen, middles, spreads)
            kept = height > height.max() - _NEGLIGIBLE
            rows, columns = kept.any(axis=1), kept.any(axis=0)
            middles, spreads = _closer(middles, rows, _COARSE), _closer(spreads, columns, _COARSE)
            if min(rows.sum(), columns.sum()) > _COARSE // 2:
                break
        fine = int(np.clip(420 / math.sqrt(len(seen.times)), 37, 121))
        middles, spreads = (np.linspace(x[0], x[-1], fine) for x in (middles, spreads))
        height = self._height(seen, middles, spreads)
        return self._quantile(middles, spreads).ravel(), np.exp(height - height.max()).ravel()

    def _quantile(self, middles: Floats, spreads: Floats) -> Floats:
        from scipy.special import ndtri

        found: Floats = np.exp(middles[:, None] + float(ndtri(self.share)) * np.exp(spreads))
        return found

    def _height(self, seen: _Seen, middles: Floats, spreads: Floats) -> Floats:
        """log of likelihood and prior over the log of the median and the log of the spread.

        Prior: dq dM / (ceiling - q), with q = M e^(z s); so q M s / (ceiling - q) d(ln M) d(ln s).
        """
        quantile = self._quantile(middles, spreads)
        prior = np.log(np.maximum(quantile, _TINY)) + middles[:, None] + spreads
        prior -= np.log(np.maximum(self.ceiling - quantile, _TINY))
        found: Floats = prior + seen.likelihood(middles, np.exp(spreads))
        return found


@dataclass(frozen=True)
class _Seen:
    """The different brackets, and how often each came."""

    lows: Floats
    highs: Floats
    times: Floats

    @classmethod
    def of(cls, local: Sequence[Bracket]) -> _Seen:
        pairs = np.array([(b.low, b.high) for b in local])
        kinds, times = np.unique(pairs, axis=0, return_counts=True)
        return cls(kinds[:, 0], kinds[:, 1], times.astype(np.float64))

    def likelihood(self, middles: Floats, spreads: Floats) -> Floats:
        """log-likelihood at every pair of a log median and a spread; ends are scored once each."""
        from scipy.special import ndtr

        exact = self.lows == self.highs
        wide = ~exact
        with np.errstate(divide="ignore"):
            ends, places = np.unique(
                np.log(np.concatenate([self.lows[wide], self.highs[wide]])), return_inverse=True
            )
        first, second = places[: wide.sum()], places[wide.sum() :]
        z = (ends - middles[:, None, None]) / spreads[:, None]
        tails, sides = ndtr(-np.abs(z)), z > 0
        mass = np.where(sides, -tails, tails)
        mass = mass[..., second] - mass[..., first] + (sides[..., second] & ~sides[..., first])
        total: Floats = np.log(np.maximum(mass, _TINY)) @ self.times[wide]
        points = np.log(self.lows[exact])
        z = (points - middles[:, None, None]) / spreads[:, None]
        total += (-0.5 * z**2 - np.log(spreads)[:, None] - points) @ self.times[exact]
        return total

    def points(self) -> Floats:
        """One level for each input: those with the same bracket spread evenly over it."""
        known = np.isfinite(self.highs)
        found = [
            low + (np.arange(times) + 0.5) / times * (high - low)
            for low, high, times in zip(
                self.lows[known], self.highs[known], self.times[known].astype(int), strict=True
            )
        ]
        found.append(np.repeat(self.lows[~known], self.times[~known].astype(int)))
        every = np.concatenate(found)
        raised: Floats = np.maximum(every, every[every > 0].min() / 2)
        return raised


def _closer(nodes: Floats, kept: NDArray[np.bool_], size: int) -> Floats:
    """A finer grid over the nodes that matter and their neighbours."""
    places = np.flatnonzero(kept)
    first, last = max(places[0] - 1, 0), min(places[-1] + 1, len(nodes) - 1)
    return np.linspace(nodes[first], nodes[last], size)


def _read(values: Floats, weights: Floats, chances: tuple[float, ...]) -> tuple[float, ...]:
    order = np.argsort(values)
    heaped = np.cumsum(weights[order])
    middle = (heaped - weights[order] / 2) / heaped[-1]
    return tuple(float(v) for v in np.interp(chances, middle, values[order]))


def _verdict(seen: _Seen, level: float) -> str:
    censored = int(seen.times[np.isinf(seen.highs)].sum())
    if censored:
        return f"not tested: {censored} inputs were never refuted"
    if seen.times.sum() < 8:
        return "not tested: fewer than 8 inputs"
    p = anderson_darling(np.log(seen.points()))
    told = "rejected" if p < level else "not rejected"
    return f"log-normal {told} at the {100 * level:g} % level (Anderson-Darling, p = {p:.2g})"
