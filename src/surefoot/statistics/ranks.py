"""Which sorted values enclose a quantile, whatever the distribution. Exact binomial sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from surefoot.core.limits import check_value, limit
from surefoot.errors import InvalidArgument
from surefoot.statistics.bounds import binomial_masses, check_error

Floats = NDArray[np.float64]
_ROUNDING = 1e-9
"""Relative: a tail that exceeds its error by less does so by rounding, and counts as equal."""
_SMALLEST_SHARE = 1e-6
"""Shares closer to 0 or 1 than this need millions of inputs."""
_GROWTH = 2 / 3
"""Power with which the p-quantile is supposed to grow in p: chosen on real critical radii. It
decides which ranks are nearest, not how often they cover."""


@dataclass(frozen=True)
class Ranks:
    """The quantile lies between the `low`-th and the `high`-th smallest value, counted from 1.

    `low` is 0 where no value bounds it from below, `high` the number of values plus 1 where none
    bounds it from above.
    """

    low: int
    high: int


_SHARE = limit(
    lambda share: _SMALLEST_SHARE <= share <= 1 - _SMALLEST_SHARE,
    "lie between 0 and 1",
    f"try 0.05 (the least distance from either is {_SMALLEST_SHARE:g})",
)


def check_share(share: float, error: float) -> None:
    """Refuse a share that is none, or an error too small to be kept in double precision."""
    check_value("share", share, _SHARE)
    check_error(error)


def _tails(n: int, share: float) -> tuple[Floats, Floats]:
    """At place i, of 0 to n + 1: how likely fewer than i of n values are below the quantile.

    And how likely i or more are: each by itself, so that both are right where they are tiny. For
    values without ties. With ties, a value that bounds the quantile from either side does so at
    least as often.
    """
    from scipy.special import bdtr, bdtrc

    counts = np.arange(n + 1.0)
    fewer: Floats = np.concatenate([[0.0], bdtr(counts, n, share)])
    more: Floats = np.concatenate([[1.0], bdtrc(counts, n, share)])
    return fewer, more


def missed(n: int, share: float, ranks: Ranks) -> float:
    """How likely the quantile lies outside; exact without ties, at most that with ties."""
    fewer, more = _tails(n, share)
    return float(fewer[ranks.low] + more[ranks.high])


def coverage(n: int, share: float, ranks: Ranks) -> float:
    """How likely the ranks enclose the quantile; exact without ties, at least that with ties."""
    return 1 - missed(n, share, ranks)


@lru_cache(maxsize=4096)
def equal_tails(n: int, share: float, error: float) -> Ranks:
    """The innermost ranks with at most half the error on either side (Meeker, Hahn & Escobar)."""
    fewer, more = _tails(n, share)
    most = error / 2 * (1 + _ROUNDING)
    return Ranks(int(np.flatnonzero(fewer <= most).max()), int(np.flatnonzero(more <= most).min()))


@lru_cache(maxsize=4096)
def shortest(n: int, share: float, error: float) -> Ranks:
    """Of all ranks that enclose the quantile with at most `error` in sum, the pair nearest by.

    A pair is chosen before the values are seen, so its coverage is exact. Which is nearest is
    judged by the distance where the p-quantile grows like p to the power 2/3, which was chosen on
    real critical levels; another growth changes the choice little and the coverage not at all.
    """
    fewer, more = _tails(n, share)
    most = error * (1 + _ROUNDING)
    lows = np.flatnonzero(fewer <= most)
    highs = n + 2 - np.searchsorted(more[::-1], most - fewer[lows], side="right")
    far = np.where(highs > n, 2.0, (highs / (n + 1)) ** _GROWTH)
    best = int(np.argmin(far - (lows / (n + 1)) ** _GROWTH))
    return Ranks(int(lows[best]), int(highs[best]))


@lru_cache(maxsize=4096)
def lower_rank(n: int, share: float, error: float) -> int:
    """The largest rank whose value exceeds the quantile with at most `error`; 0 if none."""
    return int(np.flatnonzero(_tails(n, share)[0] <= error * (1 + _ROUNDING)).max())


def fewest(share: float, error: float) -> int:
    """How many values it takes until the smallest is a lower bound: (1 - share)^n <= error."""
    return math.ceil(math.log(error) / math.log1p(-share) * (1 - _ROUNDING))


@lru_cache(maxsize=64)
def at_every_look(looks: tuple[int, ...], share: float, error: float) -> tuple[Ranks, ...]:
    """Ranks for growing numbers of values that enclose the quantile at all of them together.

    The same error is allowed at each look (Pocock 1977), and it is the largest for which the
    number of values below the quantile, a random walk, ever leaves the ranks with at most `error`;
    that is a sum over its paths, not a bound.
    """
    if not looks or any(b <= a for a, b in pairwise((0, *looks))):
        raise InvalidArgument(f"looks must be growing numbers of inputs, got {looks}")
    low, high = 0.0, error
    best = tuple(Ranks(0, n + 1) for n in looks)
    for _ in range(30):
        middle = (low + high) / 2
        tried = tuple(equal_tails(n, share, middle) for n in looks)
        if ever_missed(looks, share, tried) <= error:
            low, best = middle, tried
        else:
            high = middle
    return best


def ever_missed(looks: tuple[int, ...], share: float, ranks: tuple[Ranks, ...]) -> float:
    """The probability that the quantile lies outside at one look or more, both sides added."""
    too_high = _leaves(looks, share, lambda k, count: count < ranks[k].low)
    too_low = _leaves(looks, share, lambda k, count: count >= ranks[k].high)
    return too_high + too_low


def _leaves(
    looks: tuple[int, ...], share: float, outside: Callable[[int, Floats], NDArray[np.bool_]]
) -> float:
    """How likely the number of values below the quantile is outside at any look."""
    inside, left = np.ones(1), 0.0
    for k, (before, now) in enumerate(pairwise((0, *looks))):
        inside = np.convolve(inside, binomial_masses(now - before, share))
        gone = outside(k, np.arange(now + 1.0))
        left += float(inside[gone].sum())
        inside = np.where(gone, 0.0, inside)
    return left
