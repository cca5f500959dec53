"""Group-sequential designs for a fixed width: when to look, when to stop, and what is proved.

Stop at the first look where z·√(p̃(1-p̃)/n) ≤ width with p̃ = (k+a)/(n+2a); at the last look always;
report k/n. z is calibrated so that the proved worst-case miss is at most the error
(`docs/methods/exact-sequential.md`; Z. and X. Chen 2013).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.statistics.bounds import binomial_masses

LOOKS = 48


@dataclass(frozen=True)
class Design:
    """A stopping rule: at `looks[i]` trials stop if at most `few[i]` held, or at most failed.

    `proved` bounds the probability, for every p in [0, 1], that k/n is off by more than `width`.
    """

    width: float
    error: float
    z: float
    pseudo: float
    looks: tuple[int, ...]
    few: tuple[int, ...]
    proved: float

    def stops(self, look: int, kept: int) -> bool:
        """Whether to stop at this look."""
        return kept <= self.few[look] or kept >= self.looks[look] - self.few[look]

    @cached_property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Looks and limits, for computing."""
        return np.array(self.looks), np.array(self.few)

    def _span(self) -> str:
        if len(self.looks) == 1:
            return f"1 look at {self.looks[0]:,} trials"
        return f"{len(self.looks)} looks from {self.looks[0]:,} to {self.looks[-1]:,} trials"

    def __str__(self) -> str:
        """The design in a few lines."""
        return (
            f"exact sequential design: width {self.width:g}, error {self.error:g}\n"
            f"{self._span()}, z = {self.z:.5f}\n"
            f"proved for every p: P(|estimate - p| > {self.width:g}) <= {self.proved:.6g}"
        )


def draft(width: float, error: float, z: float, pseudo: float) -> Design:
    """The design of this z; nothing is proved of it yet."""
    last = math.ceil(z * z / (4 * width * width))
    first = _first_look(width, z, pseudo, last)
    steps = np.linspace(math.sqrt(first), math.sqrt(last), LOOKS)
    looks = np.unique(np.rint(steps**2).astype(np.int64))
    looks[0], looks[-1] = first, last
    few = _limits(looks, width, z, pseudo)
    return Design(width, error, z, pseudo, tuple(looks.tolist()), tuple(few.tolist()), proved=1.0)


def _first_look(width: float, z: float, pseudo: float, last: int) -> int:
    """The smallest n at which no failure at all is enough to stop."""

    def stops(n: int) -> bool:
        near = pseudo / (n + 2 * pseudo)
        return z * z * near * (1 - near) <= width * width * n

    return 1 + bisect_left(range(1, last), True, key=stops)


def _limits(looks: NDArray[np.int64], width: float, z: float, pseudo: float) -> NDArray[np.int64]:
    """The largest k at each look that stops; everything stops at the last."""
    spread = np.minimum(looks * (width / z) ** 2, 0.25)
    near = 0.5 - np.sqrt(0.25 - spread)
    few: NDArray[np.int64] = np.floor(near * (looks + 2 * pseudo) - pseudo).astype(np.int64)
    few[0] = max(few[0], 0)
    few[-1] = looks[-1]
    return few


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
        cut = max(0, begin - first)
        masses, first = masses[cut : end - first + 1], first + cut
        k = first + np.arange(len(masses))
        stopped = (k <= limit) | (k >= n - limit)
        stopped_by_look.append((n, k[stopped], masses[stopped]))
        inside = np.flatnonzero(~stopped)
        if len(inside) == 0:
            break
        first, masses = int(k[inside[0]]), masses[inside[0] : inside[-1] + 1]
    sizes = np.concatenate([np.full(len(k), float(size)) for size, k, _ in stopped_by_look])
    kept = np.concatenate([k.astype(np.float64) for _, k, _ in stopped_by_look])
    mass = np.concatenate([m for _, _, m in stopped_by_look])
    real = np.flatnonzero(mass > 0)
    order = real[np.argsort(kept[real] / sizes[real], kind="stable")]
    sizes, kept = sizes[order], kept[order]
    return Stops(p0, sizes, kept, np.log(mass[order]), kept / sizes, lost)


def _group(m: int, p: float) -> tuple[int, Floats]:
    """Binomial(m, p) masses on a window, and where it begins."""
    begin, end = _window(m, p)
    return begin, binomial_masses(m, p, np.arange(begin, end + 1))


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


ROUNDING = 1e-7
"""Relative allowance for rounding: logarithms of factorials up to 1e8 carry about 1e-9 each."""
_NOISE = 1e-12
"""Absolute allowance: convolutions by Fourier transforms were measured to be off by 1e-14."""
SMALLEST_PROVED = 1e-9
"""The smallest error of a design: the allowance is a thousandth of it."""
_FIRST_CUTS = 32
"""Intervals of a block at first: most pass at once."""
_HALVINGS = 5
"""Times an interval that does not pass is halved before the design is given up."""
_RESOLUTION = 1e-4
"""Of an end, in widths of the design: what is lost by it shows in no printed digit."""
_NUMBERS_AT_A_TIME = 4_000_000
"""Numbers in one array: 32 megabytes."""
PSEUDO_COUNTS = (5.0, 8.0, 12.0, 17.0)
"""Candidates for `calibrate`, which takes the smallest that costs little more than the best."""


def blocks(design: Design) -> Iterator[Interval]:
    """[0, 1/2] in pieces about half the width of an estimate's spread, each for one recursion."""
    step = 0.5 * design.width / max(1.0, design.z / 2)
    edges = np.linspace(0.0, 0.5, math.ceil(0.5 / step) + 1)
    return (Interval(low, high) for low, high in pairwise(edges.tolist()))


def worst_in(design: Design, block: Interval, enough: float) -> float:
    """A bound of the miss for every p of the block; refined until below `enough`, or given up."""
    stops = stopping_points(design, (block.low + block.high) / 2, block.low, block.high)
    edges = np.linspace(block.low, block.high, _FIRST_CUTS + 1)
    intervals = np.stack([edges[:-1], edges[1:]], axis=1)
    worst_passed = 0.0
    for _ in range(_HALVINGS + 1):
        bound = _bounds(stops, intervals, design.width)
        passed = bound <= enough
        worst_passed = max(worst_passed, float(bound[passed].max(initial=0.0)))
        if passed.all():
            return worst_passed
        low, high = intervals[~passed].T
        middle = (low + high) / 2
        halves = (np.stack(half, axis=1) for half in ((low, middle), (middle, high)))
        intervals = np.concatenate(list(halves))
    return float(bound.max())


def _bounds(stops: Stops, intervals: Floats, width: float) -> Floats:
    """The miss bound of each interval [p1, p2], with allowances for rounding and lost mass."""
    upper = _tails(stops, intervals[:, 1], intervals[:, 0] + width - _NOISE, above=True)
    lower = _tails(stops, intervals[:, 0], intervals[:, 1] - width + _NOISE, above=False)
    bound: Floats = (upper + lower) * (1 + ROUNDING) + stops.lost + _NOISE
    return bound


def _tails(stops: Stops, p: Floats, threshold: Floats, *, above: bool) -> Floats:
    """P_p(estimate ≥ threshold), or ≤, for each p with its own threshold."""
    if above:
        part = slice(int(np.searchsorted(stops.estimate, threshold.min(), side="left")), None)
    else:
        part = slice(0, int(np.searchsorted(stops.estimate, threshold.max(), side="right")))
    estimate, n, k = stops.estimate[part], stops.n[part], stops.k[part]
    mass = stops.log_mass[part]
    tails = np.zeros(len(p))
    if len(estimate) == 0:
        return tails
    rows = max(1, _NUMBERS_AT_A_TIME // len(estimate))
    for start in range(0, len(p), rows):
        here = slice(start, start + rows)
        weight = np.exp(mass + _log_ratio(stops.p0, p[here, None], n, k))
        beyond = estimate >= threshold[here, None] if above else estimate <= threshold[here, None]
        tails[here] = np.where(beyond, weight, 0.0).sum(axis=1)
    return tails


def _log_ratio(p0: float, p: Floats, n: Floats, k: Floats) -> Floats:
    """k log(p/p0) + (n-k) log((1-p)/(1-p0)); at p = 0 only k = 0 remains."""
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(p > 0, np.log(np.where(p > 0, p, 1.0) / p0), -np.inf)
        grown = np.where(k > 0, k * up, 0.0)
    down = np.log1p(-p) - math.log1p(-p0)
    ratio: Floats = grown + (n - k) * down
    return ratio


@lru_cache(maxsize=256)
def ends_after_stop(design: Design, trials: int, kept: int, error: float) -> Interval:
    """The share kept, each end by itself wrong with at most `error`, where the design stopped.

    P_p(k/n ≥ z) rises with p (X. Chen), so that the lower end is where as much as was seen, or
    more, has just that probability; the design is the same for what failed.
    """
    low, high = (_lower_end(design, k / trials, error) for k in (kept, trials - kept))
    return Interval(low, 1 - high)


def _lower_end(design: Design, estimate: float, error: float) -> float:
    low, high = 0.0, estimate
    while high - low > _RESOLUTION * design.width:
        p = (low + high) / 2
        stops = stopping_points(design, p, p, p)
        tail = float(_tails(stops, np.array([p]), np.array([estimate - _NOISE]), above=True)[0])
        enough = tail * (1 + ROUNDING) + stops.lost + _NOISE <= error
        low, high = (p, high) if enough else (low, p)
    return low


def prove(design: Design) -> Design:
    """The design with the bound that is proved for every p; above the error if it fails."""
    worst = 0.0
    for block in blocks(design):
        worst = max(worst, worst_in(design, block, design.error))
        if worst > design.error:
            break
    return replace(design, proved=worst)


def calibrate(width: float, error: float) -> Design:
    """The design with about the smallest z that can be proved, for the best pseudo-count.

    A small pseudo-count stops too early near p = 0, which only a larger z everywhere can pay for;
    a large one samples too long there, where most inputs of a good classifier are. So: the
    smallest that costs at most 3 % more than the best, on average over p.
    """
    tried = [_smallest_z(width, error, pseudo) for pseudo in PSEUDO_COUNTS]
    costs = [average_trials(design) for design in tried]
    design = next(d for d, cost in zip(tried, costs, strict=True) if cost <= 1.03 * min(costs))
    while True:
        proved = prove(design)
        if proved.proved <= error:
            return proved
        design = draft(width, error, design.z * 1.0005, design.pseudo)


def _smallest_z(width: float, error: float, pseudo: float) -> Design:
    """About the smallest z that passes on a sample of p."""
    from scipy.special import ndtri

    normal = -float(ndtri(error / 2))
    low, high = 0.97 * normal, 1.02 * normal
    suspects = _suspects(draft(width, error, high, pseudo))
    while not _passes(draft(width, error, high, pseudo), suspects):
        low, high = high, high * 1.03
    while high - low > 2e-4 * normal:
        z = (low + high) / 2
        low, high = (low, z) if _passes(draft(width, error, z, pseudo), suspects) else (z, high)
    return draft(width, error, high, pseudo)


def average_trials(design: Design) -> float:
    """The mean number of trials, averaged over p from 0 to 1."""
    grid = np.linspace(0.0, 0.5, 26)
    weights = np.ones(len(grid))
    weights[[0, -1]] = 0.5
    trials = [expected_trials(design, float(p)) for p in grid]
    return float(np.average(trials, weights=weights))


def _suspects(design: Design) -> list[Interval]:
    """A sample of the blocks: every one near the ends, fewer in the middle."""
    whole = list(blocks(design))
    chosen = {round(i) for i in np.geomspace(1, len(whole), 24)} | {0}
    return [whole[min(i, len(whole) - 1)] for i in sorted(chosen)]


def _passes(design: Design, suspects: list[Interval]) -> bool:
    return all(worst_in(design, block, design.error) <= design.error for block in suspects)


def expected_trials(design: Design, p: float) -> float:
    """The mean number of trials when the property holds with probability p."""
    if p in (0.0, 1.0):
        return float(design.looks[0])
    near = min(p, 1 - p)
    stops = stopping_points(design, near, near, near)
    return float((np.exp(stops.log_mass) * stops.n).sum())
