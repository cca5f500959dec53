"""Quantiles of the normal and Poisson distributions at multiples of 2^-24."""

from __future__ import annotations

import math

from array_api_compat import array_namespace

from surefoot.subject.protocols import Array

_FEW = 8.0
"""The rate below which probabilities are added up: above, the expansion is close enough."""
_HALF_STEP = 2.0**-25
"""Half the distance between two uniform numbers."""
_ROUNDING = 3e-7
"""More than the rounding of the sum of all probabilities in float32."""


def poisson_quantile(rate: Array, u: Array) -> Array:
    """The u-quantile of the Poisson distribution of each rate.

    `rate` has as many rows as `u`, or one for all. Below a rate of 8 the probabilities are added
    up, exact to single precision. From 8 on it is the whole part of the Cornish-Fisher expansion
    to the order 1/rate (as in Giles 2016, algorithm 955, equation for Q_N3): the distribution is
    within 2.5e-4 of Poisson's in total variation at 8, 4e-5 at 20, and closer above.
    """
    xp = array_namespace(u)
    n = len(u) if len(rate) == 1 else 1
    rates = xp.reshape(rate, (1, -1))
    draws = xp.reshape(u, (n, -1))
    few = xp.nonzero(rates[0, :] < _FEW)[0]
    if len(few) == rates.shape[1]:
        counts = _poisson_by_summation(rates, draws)
    else:
        counts = _poisson_by_expansion(rates, draws)
        if len(few) > 0:
            counts[:, few] = _poisson_by_summation(rates[:, few], draws[:, few])
    return xp.reshape(counts, u.shape)


def _poisson_by_summation(rate: Array, u: Array) -> Array:
    """How many of the cumulated probabilities of 0, 1, 2, … do not exceed u.

    The sum starts slightly higher, so that rounding never leaves it below the largest u.
    """
    xp = array_namespace(u)
    term = xp.exp(-rate)
    total = term + _ROUNDING
    counts = xp.astype(u >= total, xp.uint8)
    for k in range(1, _largest_count(float(xp.max(rate)))):
        term *= rate
        term *= 1 / k
        total += term
        counts += u >= total
    return xp.astype(counts, xp.float32)


def _largest_count(rate: float) -> int:
    """A count that is exceeded with a probability below 2^-25."""
    term = total = math.exp(-rate)
    k = 0
    while 1 - total > _HALF_STEP:
        k += 1
        term *= rate / k
        total += term
    return k + 1


def _poisson_by_expansion(rate: Array, u: Array) -> Array:
    """Cornish-Fisher: a polynomial in the normal quantile; its coefficients are the rate's own."""
    xp = array_namespace(u)
    z = normal_quantile(u)
    rate = xp.clip(rate, _FEW, None)
    root = xp.sqrt(rate)
    count = z * (1 / (270 * rate))
    count += -1 / (72 * root)
    count *= z
    count += 1 / 6 + 7 / (810 * rate)
    count *= z
    count += root - 1 / (36 * root)
    count *= z
    count += rate + 1 / 3 - 8 / (405 * rate)
    return xp.clip(xp.floor(count), 0.0, None)


def normal_quantile(u: Array) -> Array:
    """The (u + 2^-25)-quantile of the standard normal distribution.

    Wichura 1988, AS 241, PPND7: about seven digits. Half a step is added so that 0 has a quantile;
    in single precision this is exact.
    """
    xp = array_namespace(u)
    q = u - 0.5
    q += _HALF_STEP
    r = 0.180625 - q * q
    above = _polynomial(r, (59.109374720, 159.29113202, 50.434271938, 3.3871327179))
    below = _polynomial(r, (67.187563600, 78.757757664, 17.895169469, 1.0))
    q *= above
    q /= below
    flat = xp.reshape(q, (-1,))
    far = xp.nonzero(xp.reshape(r, (-1,)) < 0)[0]
    if len(far) > 0:
        flat[far] = _tail_quantile(xp.reshape(u, (-1,))[far])
    return xp.reshape(flat, u.shape)


def _tail_quantile(u: Array) -> Array:
    """The normal quantile where u is nearer than 0.075 to 0 or 1."""
    xp = array_namespace(u)
    q = (u - 0.5) + _HALF_STEP
    r = xp.sqrt(-xp.log(0.5 - xp.abs(q))) - 1.6
    size = _polynomial(r, (0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777))
    size /= _polynomial(r, (0.12021132975, 0.73700164250, 1.0))
    return xp.where(q < 0, -size, size)


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    """Horner's rule, the highest power first."""
    total = x * coefficients[0]
    for c in coefficients[1:-1]:
        total += c
        total *= x
    total += coefficients[-1]
    return total
