"""Intervals for the mean of bounded values that stay true when values are added.

A gambler bets that the mean exceeds m. If it does not, the capital is a supermartingale that starts
at 1 and ever reaches 1/error with probability at most error (Ville); every m at which it does is
refuted. The capital here is a mixture of constant bets: it uses neither the number of values nor
their order. `docs/decisions/anytime-mean.md` has the reasons and the price.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Interval

_FARTHEST = 30.0
"""Values beyond ± 30 count as that: a capital of e^30 says no more of where the zero lies."""


def last_cell(lacking: Callable[[float], float], halvings: int) -> float:
    """The largest multiple of 2^-halvings in [0, 1) at which `lacking` is not above 0.

    It rises with its argument; it is not evaluated at the ends 0 and 1. The result is that of so
    many halvings; Chandrupatla 1997 gets there by inverse quadratic interpolation in a third of
    the evaluations or fewer, and halves where that would not be safe.
    """
    cells = 1 << halvings
    new, other, share = 0, cells, 0.5  # the newest place, one with the other sign, the next between
    of_new, of_other = -_FARTHEST, _FARTHEST
    while abs(other - new) > 1:
        place = new + round(share * (other - new))
        place = min(max(place, min(new, other) + 1), max(new, other) - 1)
        value = min(max(lacking(place / cells), -_FARTHEST), _FARTHEST)
        if (value <= 0) == (of_new <= 0):
            third, of_third = new, of_new
        else:
            third, of_third, other, of_other = other, of_other, new, of_new
        new, of_new = place, value
        share = _next_share((new, other, third), (of_new, of_other, of_third))
    return (new if of_new <= 0 else other) / cells


def _next_share(places: tuple[int, int, int], values: tuple[float, float, float]) -> float:
    """How far from the first place to the second the zero lies, by the parabola through all three.

    One half where the three values are not as those of a monotone function near its zero.
    """
    (a, b, c), (u, v, w) = places, values
    xi, phi = (a - b) / (c - b), (u - v) / (w - v)
    if not (phi**2 < xi and (1 - phi) ** 2 < 1 - xi):
        return 0.5
    return u / (v - u) * w / (v - w) + (c - a) / (b - a) * u / (w - u) * v / (w - v)


Floats = NDArray[np.float64]

_FULL = 0.25
"""Share of the capital that bets all it can: exact where every value is 1."""
_SIZES = 2.0 ** np.arange(2, 17)
"""The other bets are each the best for so many values of the largest variance: 4 to 65,536."""
SHARES = np.concatenate([[_FULL], (1 - _FULL) * 0.8 ** np.arange(15) * 0.2 / (1 - 0.8**15)])
"""A fifth less for each doubling: small numbers are commoner, and lose more by a wrong bet."""
_COMMON, _COMMON_SIZES = 0.8, (_SIZES >= 128) & (_SIZES <= 1024)
COMMON_SHARES = (1 - _COMMON) * SHARES
COMMON_SHARES[1:][_COMMON_SIZES] += _COMMON / _COMMON_SIZES.sum()
"""Most of the capital for 100 to 1,000 values of yes and no. Of the inputs of the binomial test,
computed: 1.7 to 2.3 times at 80 to 600 of them where `SHARES` takes 2.4 to 3.1, 2.9 for 3.1 at
1,300, 3.9 for 3.2 at 5,500."""
_HALVINGS = 36
"""Of [0, 1]: ends are known to within 2e-11, on the safe side."""


def betting(values: NDArray[np.floating], error: float) -> Interval:
    """Interval for the mean of independent values in [0, 1]; wrong with probability at most error.

    Values may be added at any time and the interval be read again. They need not have the same
    distribution: the interval is for the average of their means (at sizes fixed beforehand, or
    where each addition has that same average). After Waudby-Smith & Ramdas 2024 (hedged capital)
    and Cover 1991 (the mixture).
    """
    x = np.asarray(values, dtype=np.float64)
    low = lower_end(x, error / 2)
    return Interval(low, max(low, 1.0 - lower_end(1.0 - x, error / 2)))


def lower_end(values: NDArray[np.floating], error: float, shares: Floats = SHARES) -> float:
    """The lower end alone: above the mean with probability at most error."""
    x = np.asarray(values, dtype=np.float64)
    return _lower_end(_Sample.of(x), error, shares) if len(x) else 0.0


def betting_trials(
    kept: NDArray[np.integer], trials: NDArray[np.integer], error: float
) -> Interval:
    """Interval for the mean of several probabilities, each seen in trials of its own number.

    One probability alone: whatever made the trials stop. Several: numbers settled before these
    trials. Each trial of an input with r times as many as the smallest has 1/r of the stake, so
    that all inputs weigh the same; as 1 + x <= e^x the capital stays a supermartingale.
    """
    k, n = np.asarray(kept, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    weights = np.tile(n.min() / n, 2)
    ones = np.repeat([1.0, 0.0], len(n))
    counts = np.concatenate([k, n - k])
    some = counts > 0
    pairs, which = np.unique((ones + 1j * weights)[some], return_inverse=True)
    kept_sample = _Sample(pairs.real, counts[some], pairs.imag, which)
    failed = _Sample(1.0 - pairs.real, counts[some], pairs.imag, which)
    low = _lower_end(kept_sample, error / 2)
    return Interval(low, max(low, 1.0 - _lower_end(failed, error / 2)))


def p_value_above(
    values: NDArray[np.floating], mean: float, error: float, shares: Floats = SHARES
) -> float:
    """How surely the mean exceeds `mean`: at most this probability to look so if it does not.

    One over the capital of `betting`, whose bets are made for `error` and divided by `shares`;
    valid at every level and whenever one stops adding values.
    """
    x = np.asarray(values, dtype=np.float64)
    if mean < 0:
        return 0.0
    if mean >= 1 or len(x) == 0:
        return 1.0
    if mean == 0:
        return 0.0 if x.max() > 0 else 1.0
    return math.exp(-max(0.0, _log_capital(_Sample.of(x), mean, error, shares)))


@dataclass(frozen=True)
class _Sample:
    """Different values, how often each came, and what part of the stake is laid on it.

    Where many counts have the same value and weight, `which` is the place of each count's own:
    what is computed of them is computed once.
    """

    values: Floats
    counts: Floats
    weights: Floats
    which: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, x: Floats) -> _Sample:
        values, counts = np.unique(x, return_counts=True)
        return cls(values, counts.astype(np.float64), np.ones(len(values)))


def _log_capital(sample: _Sample, m: float, error: float, shares: Floats) -> float:
    """log of the capital of the one who bets that the mean exceeds m; it falls as m rises.

    The stake on x - m is sqrt(2 ln(1/error) / (N m (1 - m))), best for N values of variance
    m (1 - m), and at most 1/m, the full bet. In units of that: c in (0, 1].
    """
    best = np.sqrt(2 * math.log(1 / error) / _SIZES * m / (1 - m))
    stakes = np.concatenate([[1.0], np.minimum(1.0, best)])
    gains = sample.weights * (sample.values / m - 1)
    with np.errstate(divide="ignore"):
        each = np.log1p(np.multiply.outer(stakes, gains))
    if sample.which is not None:
        each = np.take(each, sample.which, axis=1)
    logs = each @ sample.counts + np.log(shares)
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum())) if top > -math.inf else top


def _lower_end(sample: _Sample, error: float, shares: Floats = SHARES) -> float:
    target = math.log(1 / error)
    return last_cell(lambda m: target - _log_capital(sample, m, error, shares), _HALVINGS)
