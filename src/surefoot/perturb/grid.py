"""Noise that smooths a model, in whole steps: exact in the arithmetic that runs.

In floating point x + noise is not Gaussian around x, and certificates that take it for that can be
false (Voráček & Hein 2022). Here input and noise are whole numbers of steps: the model gets a
function of their exact sum, and the law of the noise does not depend on the input.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import clip_in_place, place_like
from surefoot.perturb._ops.definition import (
    Each,
    Levels,
    LevelsWithinBounds,
    OfImages,
    OfValues,
    Uniform,
)
from surefoot.perturb._ops.definition import perturbation as perturbation_class
from surefoot.perturb.image.blur import gather_pixels
from surefoot.statistics.smoothing import Norm, Smoothing
from surefoot.subject.protocols import Array, HostArray, Level, to_host
from surefoot.system.text import level_words

BYTES = 1 / 255
"""The grid of images of 8 bits, scaled to [0, 1]."""
_BITS = 24
"""Of one uniform number of a stream; two of them make one of 48 bits."""
_REACH = 8.0
"""Standard deviations beyond which Gaussian noise is not drawn: less than 2^-49 lies there."""
_MOST_STEPS = 2**20
"""Of the noise in one direction, and of a value: float32 holds each of them exactly."""
_LONGEST_SHIFT = 1000.0
"""Pixels: a longer one goes around most images."""
_BUCKET_BITS = 16
"""A number is looked up by its first bits; only in buckets with a boundary are the others read."""
_OPEN = np.iinfo(np.int32).min
"""In place of the step of a bucket that has several."""

Boundaries = NDArray[np.int64]


@dataclass(frozen=True)
class _OnGrid(OfValues):
    """Noise of whole steps: step k for a 48-bit number between the boundaries of k.

    `grid` is the length of a step. Without `rounds` a study refuses inputs between the steps; with
    it they are brought to the nearest one. `clip`: the sum is brought into the bounds, as a part of
    the model.
    """

    grid: float = BYTES
    rounds: bool = False
    clip: bool = False
    levels = LevelsWithinBounds()
    draw = Uniform(Each.VALUE_TWICE)

    def __post_init__(self) -> None:
        if not 0 < self.grid < math.inf:
            raise InvalidArgument(
                f"the grid is the length of a step, a number above 0, got {self.grid:g}: try 1/255",
                option="grid",
                value=self.grid,
            )
        if self.level is not None and self._steps(self.level) > _MOST_STEPS:
            raise InvalidArgument(
                f"a grid of {self.grid:g} is too fine for noise of {self.level:g}: take at least "
                f"{_REACH * self.level / _MOST_STEPS:.2g}",
                option="grid",
                value=self.grid,
            )

    def _steps(self, level: float) -> int:
        """The largest step in either direction."""
        raise NotImplementedError

    def _boundaries(self, level: float) -> Boundaries:
        """The first 48-bit number of each step but the lowest, in order."""
        raise NotImplementedError

    @property
    def grid_words(self) -> str:
        """The length of a step, in words."""
        return f"1/{1 / self.grid:.0f}" if self._per_unit else level_words(self.grid)

    @property
    def _per_unit(self) -> int:
        """How many steps make 1, where that is a whole number above 1; else 0."""
        number = round(1 / self.grid)
        return number if number > 1 and math.isclose(number * self.grid, 1, rel_tol=1e-9) else 0

    def slack(self, values: int) -> float:
        """How far the noise of so many values is from its law, in total variation."""
        return values * 2 * self._steps(self.level or 0.0) * 2.0 ** (-2 * _BITS)

    def steps_of(self, x: Array) -> Array:
        """The step nearest to each value."""
        xp = array_namespace(x)
        return xp.round(x * float(self._per_unit) if self._per_unit else x / self.grid)

    def values_of(self, steps: Array) -> Array:
        """float32 of so many steps; of an image of 8 bits the values that reading it gave."""
        xp = array_namespace(steps)
        whole = xp.astype(steps, xp.float32)
        if not self._per_unit:
            whole *= self.grid
            return whole
        # by an array: some devices multiply by the rounded inverse of a number
        whole /= place_like(np.array([self._per_unit], dtype=np.float32), whole)
        return whole

    def off_grid(self, x: HostArray) -> NDArray[np.bool_]:
        """Which rows have a value between two steps, or beyond the steps there are."""
        steps = self.steps_of(np.asarray(x, dtype=np.float64))
        near = np.abs(steps * self.grid - x) <= 1e-6 * np.maximum(np.abs(x), self.grid)
        within = np.abs(steps) <= _MOST_STEPS
        off: NDArray[np.bool_] = ~(near & within).reshape(len(x), -1).all(axis=1)
        return off

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """The exact sum of steps, as float32."""
        if not isinstance(level, int | float):
            return _at_levels(self, x, drawn, level, bounds)
        xp = array_namespace(x)
        steps = _noise_steps(self, drawn, float(level))
        y = self.values_of(xp.astype(self.steps_of(x), xp.int32) + steps)
        return clip_in_place(y, bounds) if self.clip else y


def _at_levels(
    noise: Any,  # noqa: ANN401  one of this file
    x: Array,
    drawn: Array,
    levels: Array,
    bounds: Interval | None,
) -> Array:
    """Each row at its own level; those of level 0 as they are."""
    xp, rows = array_namespace(drawn), []
    for i, level in enumerate(to_host(levels).tolist()):
        own = x[:1] if len(x) == 1 else x[i : i + 1]
        rows.append(noise.apply(own, drawn[i : i + 1], float(level), bounds))
    return xp.concat(rows)


def _noise_steps(noise: _OnGrid, drawn: Array, level: float) -> Array:
    """The step of each value, from its two uniform numbers, which are multiples of 2^-24."""
    most = noise._steps(level)
    if getattr(getattr(drawn, "device", None), "type", "cpu") == "cpu":
        return place_like(_looked_up(noise, to_host(drawn), level), drawn)
    import torch

    high, low = ((drawn[:, i] * 2.0**_BITS).to(torch.int64) for i in (0, 1))
    boundaries = torch.as_tensor(noise._boundaries(level), device=drawn.device)
    found = torch.searchsorted(boundaries, (high << _BITS) + low, right=True, out_int32=True)
    return found - most


def _looked_up(noise: _OnGrid, drawn: HostArray, level: float) -> NDArray[np.int32]:
    """The same by a table of the first bits; few buckets have a boundary inside."""
    pairs = drawn.reshape(len(drawn), 2, -1)
    bucket = (pairs[:, 0] * np.float32(2**_BUCKET_BITS)).astype(np.intp)
    steps: NDArray[np.int32] = _table(noise, level).take(bucket)
    open_ = np.flatnonzero(steps == _OPEN)
    if len(open_):
        rows, columns = np.divmod(open_, steps.shape[1])
        high, low = ((pairs[rows, i, columns] * 2.0**_BITS).astype(np.int64) for i in (0, 1))
        found = np.searchsorted(noise._boundaries(level), (high << _BITS) + low, side="right")
        steps[rows, columns] = found - noise._steps(level)
    return steps.reshape(len(drawn), *drawn.shape[2:])


@lru_cache(maxsize=32)
def _table(noise: _OnGrid, level: float) -> NDArray[np.int32]:
    """For each bucket the step of all its numbers, or that a boundary lies among them."""
    starts = np.arange(2**_BUCKET_BITS + 1, dtype=np.int64) << (2 * _BITS - _BUCKET_BITS)
    boundaries = noise._boundaries(level)
    first = np.searchsorted(boundaries, starts[:-1], side="right")
    last = np.searchsorted(boundaries, starts[1:] - 1, side="right")
    return np.where(first == last, first - noise._steps(level), _OPEN).astype(np.int32)


@perturbation_class
class GaussianGrid(_OnGrid):
    """Normal noise on every value, rounded to a grid; the level is its standard deviation."""

    kind = "gaussian-grid"

    phrase = "Gaussian noise of standard deviation {level} on a grid of {self.grid_words}"

    def smoothing(self, values: int) -> Smoothing:
        """What follows for the smoothed model of inputs with so many values."""
        return Smoothing(Norm.L2, float(self.level or 0.0), self.slack(values))

    def _steps(self, level: float) -> int:
        return math.ceil(_REACH * level / self.grid)

    def _boundaries(self, level: float) -> Boundaries:
        return _gaussian(level / self.grid, self._steps(level))


@perturbation_class
class UniformGrid(_OnGrid):
    """Uniform noise on every value, in steps of a grid; the level is half of its width."""

    kind = "uniform-grid"

    phrase = "noise drawn uniformly between -{level} and {level} on a grid of {self.grid_words}"

    def smoothing(self, values: int) -> Smoothing:
        """What follows for the smoothed model of inputs with so many values.

        2m + 1 equally likely steps are uniform noise of half-width (m + ½) steps, rounded.
        """
        wide = (self._steps(self.level or 0.0) + 0.5) * self.grid
        return Smoothing(Norm.L1, wide, self.slack(values))

    def _steps(self, level: float) -> int:
        return max(0, math.floor(level / self.grid - 0.5 + 1e-9))

    def _boundaries(self, level: float) -> Boundaries:
        return _uniform(2 * self._steps(level) + 1)


@perturbation_class
class GaussianShift(OfImages):
    """Shifts by whole pixels, normal numbers rounded, around the edges; the level is in pixels.

    What leaves the image on one side enters it on the other. So two shifts are one, by their sum,
    and no value is computed anew: nothing needs a grid.
    """

    kind = "gaussian-shift"
    levels = Levels(_LONGEST_SHIFT, "pixels")
    draw = Uniform((2, 2))
    grid: ClassVar[float] = 1.0
    grid_words: ClassVar[str] = ""
    rounds: ClassVar[bool] = False
    clip: ClassVar[bool] = False

    phrase = "shifts by whole pixels, Gaussian of standard deviation {level}, around the edges"

    def smoothing(self, values: int) -> Smoothing:
        """What follows for the smoothed model: how far down and to the right are two values."""
        noise = self._numbers(float(self.level or 0.0))
        return Smoothing(Norm.SHIFT, float(self.level or 0.0), noise.slack(2))

    def _numbers(self, level: float) -> GaussianGrid:
        return GaussianGrid(level, grid=1.0)

    def steps_of(self, x: HostArray) -> NDArray[np.int32]:
        """A whole number for each value: its bits, since nothing is rounded."""
        return np.asarray(x, dtype=np.float32).view(np.int32)

    def off_grid(self, x: HostArray) -> NDArray[np.bool_]:
        """No row is: any value can be moved."""
        return np.zeros(len(x), dtype=np.bool_)

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Every pixel from where the shift finds it."""
        if not isinstance(level, int | float):
            return _at_levels(self, x, drawn, level, bounds)
        height, width = x.shape[2:]
        steps = to_host(_noise_steps(self._numbers(float(level)), drawn, float(level)))
        down, right = steps[:, 0, None, None], steps[:, 1, None, None]
        rows = (np.arange(height)[:, None] - down) % height
        origins = rows * width + (np.arange(width) - right) % width
        return gather_pixels(x, place_like(origins.astype(np.int64), x))


_EXAMPLES = {"sigma": 0.25, "uniform": 0.5, "shift": 2}
"""Levels to try, by the option that has them."""


def smoothing_noise(
    levels: Mapping[str, float | None], grid: float | None, *, rounds: bool, clip: bool
) -> GaussianGrid | UniformGrid | GaussianShift:
    """The noise of the one level that is given; without a grid that of 8-bit images."""
    given = {name: level for name, level in levels.items() if level is not None}
    if len(given) != 1:
        raise InvalidArgument(
            "give the noise: sigma (--sigma 0.25) for L2 distances, uniform (--uniform 0.5) for L1 "
            "distances, or shift (--shift 2) for shifts of images"
        )
    [(name, level)] = given.items()
    if not 0 < level < math.inf:
        raise InvalidArgument(
            f"{name} must be a number above 0, got {level:g}: try {_EXAMPLES[name]}",
            option=name,
            value=level,
        )
    if name == "shift":
        if grid is not None or clip:
            raise InvalidArgument(
                "a shift changes no value, so that nothing is rounded or clipped: leave out grid "
                "(--grid) and clip (--clip)"
            )
        return GaussianShift(level)
    kind: type[GaussianGrid | UniformGrid] = GaussianGrid if name == "sigma" else UniformGrid
    return kind(level, grid=BYTES if grid is None else grid, rounds=rounds, clip=clip)


@lru_cache(maxsize=32)
def _gaussian(deviation: float, most: int) -> Boundaries:
    """Those of normal noise of this deviation in steps; symmetric, so the lower half decides."""
    from scipy.special import ndtr

    halves = np.arange(-most, 0) + 0.5
    lower = np.rint(ndtr(halves / deviation) * 2.0 ** (2 * _BITS)).astype(np.int64)
    return np.concatenate([lower, 2 ** (2 * _BITS) - lower[::-1]])


@lru_cache(maxsize=32)
def _uniform(number: int) -> Boundaries:
    """Those of so many steps that are equally likely."""
    return np.array([(j << 2 * _BITS) // number for j in range(1, number)], dtype=np.int64)
