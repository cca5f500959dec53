"""The sensor of a camera: its noise, and parts of it that fail."""

from __future__ import annotations

import math
from dataclasses import field
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, device

from surefoot.core.limits import one_of
from surefoot.core.results import UNIT, Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import (
    as_float32,
    clip_in_place,
    from_unit_range,
    level_per_row,
    restore_level_zero,
    to_unit_range,
)
from surefoot.perturb._ops.definition import (
    Each,
    Levels,
    Normal,
    OfImages,
    OfValues,
    Uniform,
    Units,
    perturbation,
    published,
    within,
)
from surefoot.perturb._ops.pixels import fill_value, mix, ranks
from surefoot.subject.protocols import Array, Level, Stream

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


_FAINTEST = 1e-9
"""The lowest level that is computed with, so that 1 / level² is finite in float32."""


def _noise_of_photons(count: float) -> float:
    """The level at which this many photons are the highest value."""
    if count < 1:
        raise InvalidArgument(
            f"shot: photons must be at least 1, got {count:g}: write shot:20photons, or a level "
            "such as shot:0.2"
        )
    return 1 / math.sqrt(count)


@perturbation
class ShotNoise(OfValues):
    """Counted photons: x becomes Poisson(x · c) / c, for values x scaled to [0, 1].

    The level is 1/√c, the relative noise at full brightness: c photons are the highest value.
    Hendrycks & Dietterich 2019, `shot_noise`. For each value one uniform number is drawn and the
    count is its quantile, so that all levels share the random numbers. The distribution is within
    2.5e-4 of Poisson's in total variation (`poisson_quantile`). Without bounds, values below 0
    stay as they are. As text a level may also be c itself: 20photons.
    """

    kind = "shot"
    levels = Levels(1.0, "relative noise at full brightness")
    draw = Uniform(Each.VALUE)
    phrase = "shot noise of relative size {level} at full brightness"
    presets = published((500, 250, 100, 75, 50), (60, 25, 12, 5, 3), lambda c: 1 / math.sqrt(c))
    units: ClassVar[Units] = {"photons": _noise_of_photons}

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Count photons at the rate of each value."""
        xp = array_namespace(x)
        if isinstance(level, int | float):  # in single precision, as many levels are
            least = np.float32(max(level, _FAINTEST))
            photons = float(np.float32(1) / (least * least))
        else:
            faintest = xp.clip(level, _FAINTEST, None)
            photons = level_per_row(1 / (faintest * faintest), x)
        share = to_unit_range(x, bounds)
        rate = xp.clip(share, 0.0, None) * photons
        counted = poisson_quantile(rate, drawn)
        counted /= photons
        if bounds is None:
            counted += xp.clip(share, None, 0.0)
        return restore_level_zero(from_unit_range(counted, bounds), x, level)


@perturbation
class ImpulseNoise(OfValues):
    """Salt and pepper: a value becomes the lowest or the highest, each with probability level / 2.

    Every channel of a pixel by itself. Hendrycks & Dietterich 2019, `impulse_noise`. A value that
    changes at one level changes to the same at every higher one. Without bounds the lowest value
    is 0 and the highest 1.
    """

    kind = "impulse"
    levels = Levels(1.0, "share of the values")
    draw = Uniform(Each.VALUE)
    phrase = "impulse noise: each value becomes the lowest or the highest with probability {level}"
    presets = published((0.01, 0.02, 0.03, 0.05, 0.07), (0.03, 0.06, 0.09, 0.17, 0.27))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """The smallest numbers drawn give the lowest value, the largest ones the highest."""
        xp = array_namespace(x)
        half = level_per_row(as_float32(level), drawn) / 2
        ends = bounds or UNIT
        with_lowest = xp.where(drawn < half, ends.low, x)
        return xp.where(drawn >= 1 - half, ends.high, with_lowest)


@perturbation
class SpeckleNoise(OfValues):
    """Normal noise in proportion to the value: x + level · x · N(0, 1), for x scaled to [0, 1].

    Hendrycks & Dietterich 2019, `speckle_noise`.
    """

    kind = "speckle"
    levels = Levels(1.0, "share of each value")
    draw = Normal(Each.VALUE)
    phrase = "speckle noise: Gaussian noise of standard deviation {level} times the value"
    presets = published((0.06, 0.1, 0.12, 0.16, 0.2), (0.15, 0.2, 0.35, 0.45, 0.6))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Scale by the height above the lowest value and add."""
        low = (bounds or UNIT).low
        y = drawn * ((x - low if low else x) * level_per_row(level, drawn))
        y += x
        return clip_in_place(y, bounds)


_LINES = one_of("rows", "columns")
"""Which lines of the sensor fail."""


class _Dead(OfImages):
    """What dead pixels and lines share: the order is drawn in which places die."""

    fill: float

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """The share `level` of all places is replaced; the fraction of one fades it in."""
        count = drawn.shape[2] * drawn.shape[3]
        dead = array_namespace(x).clip(level_per_row(level, drawn) * count - drawn, 0.0, 1.0)
        return mix(x, dead, fill_value(self.fill, bounds), bounds)


@perturbation
class DeadPixels(_Dead):
    """The share `level` of the pixels, at random places, is dead: all channels have one value.

    The number is exact, level · pixels: 1/784 is one pixel of 28 x 28. What is left of a whole
    pixel fades one more in. A pixel that is dead at one level is dead at every higher one. `fill`
    is the value, from 0 (black, by default) to 1 (hot pixels). `Dropout` decides for each pixel by
    itself instead.
    """

    fill: float = field(default=0.0, metadata=within(0, 1))
    kind = "dead-pixels"
    levels = Levels(1.0, "share of the pixels")
    phrase = "a share of {level} of the pixels dead, with the value {self.fill:g}"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """The order in which pixels die."""
        return ranks(stream.uniform((n, 1, *shape[1:])))


@perturbation
class DeadLines(_Dead):
    """The share `level` of the rows, or of the columns, at random places, is dead.

    The number is exact, level · rows, and what is left of a whole line fades one more in. A line
    that is dead at one level is dead at every higher one. `lines` is "rows" or "columns"; `fill`
    the value of a dead line, from 0 (black, by default) to 1. At level 1 nothing is left of the
    image.
    """

    lines: str = field(default="rows", metadata=_LINES)
    fill: float = field(default=0.0, metadata=within(0, 1))
    kind = "dead-lines"
    levels = Levels(1.0, "share of the lines")
    phrase = "a share of {level} of the {self.lines} dead, with the value {self.fill:g}"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """The order in which lines die."""
        return ranks(stream.uniform((n, *_line_shape(self.lines, shape))))


@perturbation
class Banding(OfImages):
    """Every row, or every column, is brighter or darker by its own uniform amount in ±level.

    The amount is a share of the range, the same for all channels of the line. `lines` is "rows" or
    "columns".
    """

    lines: str = field(default="rows", metadata=_LINES)
    kind = "banding"
    levels = Levels(1.0, "share of the range")
    phrase = "all {self.lines} brighter or darker, each by a uniform amount of ±{level}"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """A uniform number for each line."""
        return stream.uniform((n, *_line_shape(self.lines, shape)))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Stretch to ±level and add."""
        amount = level_per_row(level, drawn) * (bounds or UNIT).width
        return clip_in_place(x + (drawn * 2 - 1) * amount, bounds)


@perturbation
class Bayer(OfImages):
    """A sensor's colour mosaic that is not interpolated: each pixel keeps one of its colours.

    The pattern is RGGB: red at even rows and columns (counted from 0), blue at odd ones, green at
    the others. The level is the share of its value that every other channel loses: at 1 it is
    black. Needs three channels. Not random.
    """

    kind = "bayer"
    levels = Levels(1.0, "share of the other colours that is lost")
    needs_channels = 3
    phrase = (
        "a colour mosaic (Bayer pattern RGGB): a share of {level} of the other two colours lost"
    )

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Move what the pattern does not measure towards the lowest value."""
        xp = array_namespace(x)
        unmeasured = xp.ones((1, *x.shape[1:]), dtype=x.dtype, device=device(x))
        for channel, top, left in ((0, 0, 0), (1, 0, 1), (1, 1, 0), (2, 1, 1)):
            unmeasured[:, channel, top::2, left::2] = 0.0
        return mix(x, unmeasured * level_per_row(level, x), (bounds or UNIT).low, bounds)


def _line_shape(lines: str, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """One number for each row or each column of images of this shape."""
    return (1, shape[1], 1) if lines == "rows" else (1, 1, shape[2])
