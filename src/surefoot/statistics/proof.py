"""A proof, for every p in [0, 1], that a design misses with at most a stated probability.

k/n is a unimodal-likelihood estimator, so P_p(k/n ≥ t) rises with p below t and P_p(k/n ≤ t) falls
with p above t (X. Chen). Hence for every p in [p1, p2] with p2 - p1 < width the miss is at most
P_{p2}(k/n ≥ p1 + width) + P_{p1}(k/n ≤ p2 - width). A cover of [0, 1/2] by such intervals proves
the bound; the other half mirrors it. Intervals that do not pass are halved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from surefoot.statistics.designs import Design, draft
from surefoot.statistics.paths import Floats, Stops, stopping_points

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
_NUMBERS_AT_A_TIME = 4_000_000
"""Numbers in one array: 32 megabytes."""
PSEUDO_COUNTS = (5.0, 8.0, 12.0, 17.0)
"""Candidates for `calibrate`, which takes the smallest that costs little more than the best."""


@dataclass(frozen=True)
class Block:
    """A range of p served by one recursion."""

    low: float
    high: float

    @property
    def centre(self) -> float:
        """Where the recursion runs."""
        return (self.low + self.high) / 2


def blocks(design: Design) -> Iterator[Block]:
    """[0, 1/2] in pieces about half the width of an estimate's spread."""
    step = 0.5 * design.width / max(1.0, design.z / 2)
    count = math.ceil(0.5 / step)
    edges = np.linspace(0.0, 0.5, count + 1)
    for low, high in pairwise(edges.tolist()):
        yield Block(low, high)


def worst_in(design: Design, block: Block, enough: float) -> float:
    """A bound of the miss for every p of the block; refined until below `enough`, or given up."""
    stops = stopping_points(design, block.centre, block.low, block.high)
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
        intervals = np.concatenate(
            [np.stack([low, middle], axis=1), np.stack([middle, high], axis=1)]
        )
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
        cut = int(np.searchsorted(stops.estimate, threshold.min(), side="left"))
        part = slice(cut, None)
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


def average_trials(design: Design, points: int = 26) -> float:
    """The mean number of trials, averaged over p from 0 to 1."""
    grid = np.linspace(0.0, 0.5, points)
    weights = np.ones(points)
    weights[[0, -1]] = 0.5
    trials = [expected_trials(design, float(p)) for p in grid]
    return float(np.average(trials, weights=weights))


def _suspects(design: Design) -> list[Block]:
    """A sample of the blocks: every one near the ends, fewer in the middle."""
    whole = list(blocks(design))
    chosen = {round(i) for i in np.geomspace(1, len(whole), 24)} | {0}
    return [whole[min(i, len(whole) - 1)] for i in sorted(chosen)]


def _passes(design: Design, suspects: list[Block]) -> bool:
    return all(worst_in(design, block, design.error) <= design.error for block in suspects)


def expected_trials(design: Design, p: float) -> float:
    """The mean number of trials when the property holds with probability p."""
    if p in (0.0, 1.0):
        return float(design.looks[0])
    near = min(p, 1 - p)
    stops = stopping_points(design, near, near, near)
    return float((np.exp(stops.log_mass) * stops.n).sum())
