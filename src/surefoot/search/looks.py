"""What some of the inputs say about all of them, or about where they come from."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache

import numpy as np

from surefoot.evidence import Counts, Floats
from surefoot.results import Interval
from surefoot.statistics.bounds import clopper_pearson, divergence

FIRST, GROWTH = 32, 1.6
_STEPS = 60
_SPARE = 1 + 1e-9
"""For the rounding of the tail sums."""


class Over(StrEnum):
    """What a curve is about."""

    SET = "set"
    """These very inputs."""
    POPULATION = "population"
    """What they are a random sample of."""


@lru_cache(maxsize=256)
def looks(size: int) -> tuple[int, ...]:
    """After how many of `size` inputs to look: few at first, each time 1.6 times as many."""
    found, at = [], float(FIRST)
    while at < 0.9 * size:
        found.append(math.ceil(at))
        at *= GROWTH
    return (*found, size)


def bounds_after(values: Floats, size: int, over: Over, error: float, *, counts: bool) -> Interval:
    """Between which bounds the mean lies, but for a probability of `error`.

    `values` are those of the first of `size` inputs in random order. Of the set itself all inputs
    tell the truth, and fewer are a sample without replacement. For values between 0 and 1 that
    are no counts, Hoeffding's 1963 bound in its Kullback-Leibler form holds with and without
    replacement.
    """
    n, total = len(values), float(np.sum(values))
    if over is Over.SET and n == size:
        return Interval(total / size, total / size)
    if not counts:
        return _bounded(total / n, n, error)
    held = round(total)
    if over is Over.POPULATION:
        return clopper_pearson(Counts(n, held), error)
    return _without_replacement(n, held, size, error)


@lru_cache(maxsize=1024)
def targets(
    threshold: float, size: int, over: Over, error: float, slack: int, *, counts: bool
) -> tuple[float, float]:
    """From which mean of all inputs on a level is surely above, and below which surely below.

    With `slack` inputs to spare on either side. Half a step between counts, so that no rounding
    decides.
    """
    if not counts:
        if over is Over.SET:
            return threshold, threshold
        wide = _bounded(threshold, size, error)
        return wide.high, wide.low
    enough = math.ceil(threshold * size - 1e-9)
    first = last = enough
    if over is Over.POPULATION:
        first = _first(lambda k: clopper_pearson(Counts(size, k), error).low >= threshold, size)
        last = _first(lambda k: clopper_pearson(Counts(size, k), error).high >= threshold, size)
    return (first + slack - 0.5) / size, (last - slack - 0.5) / size


def _first(holds: Callable[[int], bool], size: int) -> int:
    """The smallest count for which it holds, size + 1 if there is none."""
    low, high = 0, size + 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


@lru_cache(maxsize=65_536)
def _without_replacement(n: int, held: int, size: int, error: float) -> Interval:
    """Exact bounds by hypergeometric tails: how many of `size` hold, if `held` of n did."""
    fewest = _fewest(n, held, size, error / 2)
    most = size - _fewest(n, n - held, size, error / 2)
    return Interval(fewest / size, most / size)


def _fewest(n: int, held: int, size: int, error: float) -> int:
    """The smallest number among all with which `held` or more of n have a chance above error."""
    if held == 0:
        return 0
    from scipy.stats import hypergeom

    low, high = held, size - (n - held)
    while low < high:
        middle = (low + high) // 2
        if hypergeom.sf(held - 1, size, middle, n) * _SPARE > error:
            high = middle
        else:
            low = middle + 1
    return low


@lru_cache(maxsize=65_536)
def _bounded(mean: float, n: int, error: float) -> Interval:
    """All m for which a mean this far off has, by Chernoff's bound, a chance above error."""
    reach = math.log(2 / error) / n
    ends = []
    for end in (0.0, 1.0):
        outside, inside = end, min(max(mean, 0.0), 1.0)
        for _ in range(_STEPS):
            middle = (outside + inside) / 2
            if divergence(mean, middle) > reach:
                outside = middle
            else:
                inside = middle
        ends.append(outside)
    return Interval(ends[0], ends[1])
