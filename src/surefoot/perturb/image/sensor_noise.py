"""Noise of image sensors: shot noise, impulse noise and speckle noise."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace

from surefoot.core.results import UNIT, Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import clip_in_place
from surefoot.perturb._ops.definition import (
    Draw,
    Each,
    Levels,
    Normal,
    Presets,
    Uniform,
    Units,
    perturbation,
)
from surefoot.perturb._ops.levels import as_float32, level_per_row, restore_level_zero
from surefoot.perturb._ops.quantiles import poisson_quantile
from surefoot.perturb._ops.scaling import from_unit_range, to_unit_range
from surefoot.subject.protocols import Array, Level, View

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
class ShotNoise:
    """Counted photons: x becomes Poisson(x · c) / c, for values x scaled to [0, 1].

    The level is 1/√c, the relative noise at full brightness: c photons are the highest value.
    Hendrycks & Dietterich 2019, `shot_noise`. For each value one uniform number is drawn and the
    count is its quantile, so that all levels share the random numbers. The distribution is within
    2.5e-4 of Poisson's in total variation (`poisson_quantile`). Without bounds, values below 0
    stay as they are. As text a level may also be c itself: 20photons.
    """

    level: float | None = None
    kind: ClassVar[str] = "shot"
    view: ClassVar[View] = View.VALUES
    levels: ClassVar[Levels] = Levels(1.0, "relative noise at full brightness")
    draw: ClassVar[Draw] = Uniform(Each.VALUE)
    phrase: ClassVar[str] = "shot noise of relative size {level} at full brightness"
    presets: ClassVar[Presets] = {
        "small": tuple(1 / math.sqrt(c) for c in (500, 250, 100, 75, 50)),
        "large": tuple(1 / math.sqrt(c) for c in (60, 25, 12, 5, 3)),
    }
    units: ClassVar[Units] = {"photons": _noise_of_photons}

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Count photons at the rate of each value."""
        xp = array_namespace(x)
        photons = level_per_row(_photons(level), x)
        share = to_unit_range(x, bounds)
        rate = xp.clip(share, 0.0, None) * photons
        counted = poisson_quantile(rate, drawn)
        counted /= photons
        if bounds is None:
            counted += xp.clip(share, None, 0.0)
        return restore_level_zero(from_unit_range(counted, bounds), x, level)


def _photons(level: Level) -> Any:  # noqa: ANN401  a number, or one for each row
    """Photons at full brightness, in single precision for one level and for many."""
    if isinstance(level, int | float):
        least = np.float32(max(level, _FAINTEST))
        return float(np.float32(1) / (least * least))
    least = array_namespace(level).clip(level, _FAINTEST, None)
    return 1 / (least * least)


@perturbation
class ImpulseNoise:
    """Salt and pepper: a value becomes the lowest or the highest, each with probability level / 2.

    Every channel of a pixel by itself. Hendrycks & Dietterich 2019, `impulse_noise`. A value that
    changes at one level changes to the same at every higher one. Without bounds the lowest value
    is 0 and the highest 1.
    """

    level: float | None = None
    kind: ClassVar[str] = "impulse"
    view: ClassVar[View] = View.VALUES
    levels: ClassVar[Levels] = Levels(1.0, "share of the values")
    draw: ClassVar[Draw] = Uniform(Each.VALUE)
    phrase: ClassVar[str] = (
        "impulse noise: each value becomes the lowest or the highest with probability {level}"
    )
    presets: ClassVar[Presets] = {
        "small": (0.01, 0.02, 0.03, 0.05, 0.07),
        "large": (0.03, 0.06, 0.09, 0.17, 0.27),
    }

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """The smallest numbers drawn give the lowest value, the largest ones the highest."""
        xp = array_namespace(x)
        half = level_per_row(as_float32(level), drawn) / 2
        ends = bounds or UNIT
        with_lowest = xp.where(drawn < half, ends.low, x)
        return xp.where(drawn >= 1 - half, ends.high, with_lowest)


@perturbation
class SpeckleNoise:
    """Normal noise in proportion to the value: x + level · x · N(0, 1), for x scaled to [0, 1].

    Hendrycks & Dietterich 2019, `speckle_noise`.
    """

    level: float | None = None
    kind: ClassVar[str] = "speckle"
    view: ClassVar[View] = View.VALUES
    levels: ClassVar[Levels] = Levels(1.0, "share of each value")
    draw: ClassVar[Draw] = Normal(Each.VALUE)
    phrase: ClassVar[str] = (
        "speckle noise: Gaussian noise of standard deviation {level} times the value"
    )
    presets: ClassVar[Presets] = {
        "small": (0.06, 0.1, 0.12, 0.16, 0.2),
        "large": (0.15, 0.2, 0.35, 0.45, 0.6),
    }

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Scale by the height above the lowest value and add."""
        low = (bounds or UNIT).low
        y = drawn * ((x - low if low else x) * level_per_row(level, drawn))
        y += x
        return clip_in_place(y, bounds)
