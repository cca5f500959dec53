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


def p_value_above(values: NDArray[np.floating], mean: float, error: float) -> float:
    """How surely the mean exceeds `mean`: at most this probability to look so if it does not.

    The inverse of the largest capital of the gambler of `betting`, whose bets are made for
    `error`; valid at every level.
    """
    x = np.asarray(values, dtype=np.float64)
    if mean < 0:
        return 0.0
    if mean >= 1 or len(x) == 0:
        return 1.0
    return math.exp(-max(0.0, _gain(x, mean, _bets(x, error))))


def _gain(x: NDArray[np.float64], m: float, bets: NDArray[np.float64]) -> float:
    """log of the largest capital of the one who bets that the mean exceeds m."""
    most = _TRUNCATE / m if m > 0 else math.inf
    return float(np.cumsum(np.log1p(np.minimum(bets, most) * (x - m))).max())


def _lower_end(x: NDArray[np.float64], error: float) -> float:
    bets = _bets(x, error)
    target = math.log(1 / error)
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _gain(x, middle, bets) >= target else (low, middle)
    return low
