"""Binomial bounds, and an error that claims share. Pure functions of numbers."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts
from surefoot.core.limits import between, check_value
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument


def shares(error: float, claims: int) -> float:
    """The error each of `claims` may spend so that all hold together (Bonferroni)."""
    if claims < 1:
        raise InvalidArgument(f"claims must be an integer ≥ 1, got {claims}")
    return error / claims


_LARGEST_ERROR = 0.999
"""The error of an interval must be below 1."""


def two_sided(error: float) -> float:
    """The error of an interval each of whose ends is wrong with at most this one."""
    return min(2 * error, _LARGEST_ERROR)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Each p-value adjusted for all of them (Holm 1979).

    Deciding on every claim whose adjusted p-value is at most the error is wrong about any of them
    with probability at most that error, however the claims depend on each other.
    """
    if any(not 0 <= p <= 1 for p in p_values):
        raise InvalidArgument(f"p-values lie between 0 and 1, got {list(p_values)}")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return tuple(adjusted)


def mcnemar(more: int, fewer: int) -> float:
    """Exact p-value of pairs that differ, so many this way and so many that way, as fair coins."""
    from scipy.special import bdtr

    return float(bdtr(fewer, more + fewer, 0.5))


_SAME_CUT = 1e-12
"""Cuts of [0, 1] closer than this differ only by rounding."""
_WHOLE = 1e-6
"""A count this close to a whole number is that number: rounding is far smaller."""
_EXHAUSTIVE = 10_000
"""Trials up to which every size from 1 is searched: beyond, the teeth are below 3 %."""
_SEARCH_FROM = 0.97
"""Part of the normal theory's number where the search begins above that."""
_SIZES_AT_A_TIME = 4096
"""Sizes screened in one array: a few megabytes."""


def okamoto(width: float, error: float) -> int:
    """Trials after which |p̂ - p| > width has probability at most error, for every p.

    Okamoto 1958 (Hoeffding's bound): ⌈ln(2/error) / (2 width²)⌉.
    """
    return math.ceil(math.log(2 / error) / (2 * width**2))


@lru_cache(maxsize=65_536)
def clopper_pearson(counts: Counts, error: float) -> Interval:
    """Exact interval for p; misses it with probability at most error."""
    from scipy.special import betainccinv, betaincinv

    n, k = counts.trials, counts.kept
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, error / 2))
    high = 1.0 if k == n else float(betainccinv(k + 1, n - k, error / 2))
    return Interval(low, high)


def binomial_masses(
    n: int, p: float, counts: NDArray[np.integer] | None = None
) -> NDArray[np.float64]:
    """How likely each of these counts is, else each from 0 to n; right also where that is tiny."""
    from scipy.special import gammaln

    k = np.arange(n + 1) if counts is None else counts
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    masses: NDArray[np.float64] = np.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))
    return masses


def divergence(a: float, b: float) -> float:
    """Kullback-Leibler divergence of Bernoulli(a) from Bernoulli(b)."""
    if (a > 0 and b <= 0) or (a < 1 and b >= 1):
        return math.inf
    first = 0.0 if a <= 0 else a * math.log(a / b)
    second = 0.0 if a >= 1 else (1 - a) * math.log((1 - a) / (1 - b))
    return first + second


@lru_cache(maxsize=4096)
def chernoff(within: Interval, width: float, error: float) -> int:
    """Trials that suffice for every p in `within`; never more than `okamoto`.

    Bu & Sun 2024, theorem 3 and algorithm 2. The worst p is the one nearest to 1/2.
    """
    p = min(max(0.5, within.low), within.high)
    ceiling = okamoto(width, error)
    if abs(p - 0.5) <= width / 2:
        return ceiling
    below, above = (divergence(q, p) if 0 <= q <= 1 else math.inf for q in (p - width, p + width))
    return 1 + bisect_left(
        range(1, ceiling), True, key=lambda n: math.exp(-n * below) + math.exp(-n * above) <= error
    )


def worst_miss(n: int, width: float) -> float:
    """The largest P(|k/n - p| > width) over every p in [0, 1], exactly.

    Cut [0, 1/2] where the set of counts within `width` of p changes. Between two cuts that set is
    a fixed range, and the probability of a range of counts has one peak in p; so the least
    coverage is at a cut, seen from one of its two sides. The other half mirrors this one. Cuts
    closer than 1e-12 are one cut, set apart by rounding.
    """
    counts = np.arange(n + 1)
    cuts = np.concatenate([counts / n - width, counts / n + width, [0.0, 0.5]])
    cuts = np.unique(cuts[(cuts >= 0) & (cuts <= 0.5)])
    real = np.diff(cuts) > _SAME_CUT
    left, right = cuts[:-1][real], cuts[1:][real]
    middle = (left + right) / 2
    first = np.ceil(n * (middle - width))
    last = np.floor(n * (middle + width))
    return float(max(_outside(first, last, n, p).max() for p in (left, right)))


def _outside(
    first: NDArray[np.float64],
    last: NDArray[np.float64],
    n: int | NDArray[np.int64],
    p: NDArray[np.float64] | float,
) -> NDArray[np.float64]:
    """P(k < first or k > last) for k from Binomial(n, p)."""
    from scipy.special import betainc

    size = np.asarray(n, dtype=np.float64)
    start, end = np.clip(first, 1, size), np.clip(last, 0, size - 1)
    below = np.where(first > 0, betainc(size - start + 1, start, 1 - p), 0.0)
    above = np.where(last < size, betainc(end + 1, size - end, p), 0.0)
    outside: NDArray[np.float64] = below + above
    return outside


def _plainly_too_few(n: NDArray[np.int64], width: float, error: float) -> NDArray[np.bool_]:
    """Sizes refuted by one p: 1/2 itself, or the cut next below it, from its worse side."""
    first, last = np.ceil(n * (0.5 - width) - _WHOLE), np.floor(n * (0.5 + width) + _WHOLE)
    half = _outside(first, last, n, 0.5)
    k = np.floor(n * (0.5 - width) + _WHOLE)
    p = np.clip(k / n + width, 0.0, 1.0)
    beside = _outside(k + 1, np.floor(n * (p + width) + _WHOLE), n, p)
    refuted: NDArray[np.bool_] = (k >= 0) & (np.maximum(half, beside) > error)
    return refuted


@lru_cache(maxsize=64)
def fixed_size(width: float, error: float) -> int:
    """The smallest number of trials that is enough for every p, by exact binomial sums.

    Not every larger number is enough too: the miss probability has teeth in n. Their height,
    relative to the error, is of the order of 1/√n; so above ten thousand the search begins at 97 %
    of the normal theory's number instead of at 1.
    """
    from scipy.special import ndtri

    normal = float(ndtri(error / 2)) ** 2 / (4 * width**2)
    start = 1 if normal < _EXHAUSTIVE else int(_SEARCH_FROM * normal)
    while True:
        sizes = np.arange(start, start + _SIZES_AT_A_TIME)
        for n in sizes[~_plainly_too_few(sizes, width, error)]:
            if worst_miss(int(n), width) <= error:
                return int(n)
        start += len(sizes)


SMALLEST_ERROR = 1e-12
"""Tails, their inverses and e-values are right to a part in 10^6 of this and of anything larger."""


ERROR = between(
    0,
    1,
    f"it is 1 - confidence, try 0.05 (the least that double precision keeps is {SMALLEST_ERROR:g})",
    least=SMALLEST_ERROR,
)


def check_error(error: float) -> None:
    """Refuse an error that is no probability, or too small to be kept in double precision."""
    check_value("error", error, ERROR)
