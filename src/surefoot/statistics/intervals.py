"""Intervals for the mean of bounded values. Pure functions of numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from surefoot.results import Interval

_STEPS = 60
_TRUNCATE = 0.9


def betting(values: NDArray[np.floating], error: float) -> Interval:
    """Interval for the mean of independent values in [0, 1]; wrong with probability at most error.

    Waudby-Smith & Ramdas 2024, hedged capital with the predictable plug-in bet for a fixed number
    of values. A gambler bets that the mean exceeds m; if m is the mean, the capital is a
    martingale and reaches 2/error with probability at most error/2 (Ville). The capital falls as m
    rises, so the end of the interval is found by bisection, not on a grid. The order of `values`
    must not depend on them.
    """
    x = np.asarray(values, dtype=np.float64)
    if len(x) == 0:
        return Interval(0.0, 1.0)
    low = _lower_end(x, error / 2)
    return Interval(low, max(low, 1.0 - _lower_end(1.0 - x, error / 2)))


def _bets(x: NDArray[np.float64], error: float) -> NDArray[np.float64]:
    """How much to stake on value t, from the values before it."""
    n = len(x)
    t = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(x)) / (t + 1)
    spread = (0.25 + np.cumsum((x - means) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], spread[:-1]])
    stakes: NDArray[np.float64] = np.sqrt(2 * math.log(1 / error) / (n * before))
    return stakes


def _lower_end(x: NDArray[np.float64], error: float) -> float:
    bets = _bets(x, error)
    target = math.log(1 / error)

    def refuted(m: float) -> bool:
        gains = np.log1p(np.minimum(bets, _TRUNCATE / m) * (x - m))
        return bool(np.cumsum(gains).max() >= target)

    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
