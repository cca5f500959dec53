"""Where a design stops, and with what probability: an exact forward recursion over its looks.

The mass that continues is convolved with the binomial of the next group; what stops is taken out.
Only counts within a window around p0 are kept; `lost` bounds what falls outside, for every p of a
range. The number of paths to a stopping point does not depend on p, so the masses at p0 serve every
p near it after reweighting by (p/p0)^k ((1-p)/(1-p0))^(n-k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.statistics.designs import Design

_SIGMAS = 10.0
"""Standard deviations of counts that are kept; `lost` bounds what lies beyond."""
_MARGIN = 30
"""Counts kept beyond that, for small variances."""
_DIRECT = 2_000_000
"""Products up to which a direct convolution is faster than a Fourier transform."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stops:
    """Stopping points sorted by estimate, their log masses at p0, and the mass left out."""

    p0: float
    n: Floats
    k: Floats
    log_mass: Floats
    estimate: Floats
    lost: float

    def mass(self, p: float) -> Floats:
        """The probability of each stopping point at p."""
        if p in (0.0, 1.0):
            raise ValueError("the ends are certain, not reweighted")
        up, down = math.log(p / self.p0), math.log1p(-p) - math.log1p(-self.p0)
        masses: Floats = np.exp(self.log_mass + self.k * up + (self.n - self.k) * down)
        return masses


def stopping_points(design: Design, p0: float, low: float, high: float) -> Stops:
    """Run the recursion at p0; what it leaves out is bounded for every p in [low, high]."""
    looks, few = design.arrays
    first, masses, before, lost = 0, np.ones(1), 0, 0.0
    stopped_by_look: list[tuple[int, NDArray[np.int64], Floats]] = []
    for n, limit in zip(looks.tolist(), few.tolist(), strict=True):
        step, group = _group(n - before, p0)
        lost += _outside(n - before, step, step + len(group) - 1, low, high)
        masses, first, before = _convolved(masses, group), first + step, n
        begin, end = _window(n, p0)
        lost += _outside(n, begin, end, low, high)
        masses, first = _cut(masses, first, begin, end)
        k = first + np.arange(len(masses))
        stopped = (k <= limit) | (k >= n - limit)
        stopped_by_look.append((n, k[stopped], masses[stopped]))
        inside = np.flatnonzero(~stopped)
        if len(inside) == 0:
            break
        first, masses = int(k[inside[0]]), masses[inside[0] : inside[-1] + 1]
    return _sorted(p0, stopped_by_look, lost)


def _sorted(
    p0: float, stopped_by_look: list[tuple[int, NDArray[np.int64], Floats]], lost: float
) -> Stops:
    n = np.concatenate([np.full(len(k), float(size)) for size, k, _ in stopped_by_look])
    k = np.concatenate([k.astype(np.float64) for _, k, _ in stopped_by_look])
    mass = np.concatenate([m for _, _, m in stopped_by_look])
    real = mass > 0
    n, k, mass = n[real], k[real], mass[real]
    order = np.argsort(k / n, kind="stable")
    n, k = n[order], k[order]
    return Stops(p0, n, k, np.log(mass[order]), k / n, lost)


def _group(m: int, p: float) -> tuple[int, Floats]:
    """Binomial(m, p) masses on a window, and where it begins."""
    from scipy.special import gammaln

    begin, end = _window(m, p)
    k = np.arange(begin, end + 1)
    logs = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)
    masses: Floats = np.exp(logs + k * math.log(p) + (m - k) * math.log1p(-p))
    return begin, masses


def _window(n: int, p: float) -> tuple[int, int]:
    reach = _SIGMAS * math.sqrt(n * p * (1 - p)) + _MARGIN
    return max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))


def _outside(n: int, begin: int, end: int, low: float, high: float) -> float:
    """P(k < begin or k > end) for Binomial(n, p), at most, for p in [low, high]."""
    from scipy.special import betainc

    below = float(betainc(n - begin + 1, begin, 1 - low)) if begin > 0 else 0.0
    above = float(betainc(end + 1, n - end, high)) if end < n else 0.0
    return below + above


def _convolved(a: Floats, b: Floats) -> Floats:
    if len(a) * len(b) <= _DIRECT:
        return np.convolve(a, b)
    from scipy.signal import fftconvolve

    whole: Floats = np.maximum(fftconvolve(a, b), 0.0)
    return whole


def _cut(masses: Floats, first: int, begin: int, end: int) -> tuple[Floats, int]:
    left = max(0, begin - first)
    right = min(len(masses), end - first + 1)
    return masses[left:right], first + left
