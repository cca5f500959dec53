"""Images out of focus or in motion."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import clip, place_like
from surefoot.perturb._ops.definition import (
    NOTHING,
    Choices,
    Draw,
    Levels,
    Presets,
    Uniform,
    perturbation,
)
from surefoot.perturb._ops.filters.convolution import convolve
from surefoot.perturb._ops.filters.kernels import disk_kernels, line_kernels, line_reach, line_taps
from surefoot.perturb._ops.filters.matrices import (
    BandMatrix,
    filter_symmetric,
    gaussian_filter,
    mirrored_filter_matrix,
)
from surefoot.perturb._ops.filters.tap_sum import sum_taps
from surefoot.perturb._ops.filters.zoom_blur import zoom_blur, zoom_blur_per_row, zoom_count
from surefoot.perturb._ops.levels import levels_on_host, restore_level_zero
from surefoot.perturb._ops.severity import (
    PRESETS,
    SEVERITIES,
    SIZES,
    Table,
    at_severity_on_host,
    is_small,
)
from surefoot.subject.protocols import Array, Level, View

_NARROW = 13
"""Pixels across a disk up to which it is applied row by row, not by the Fourier transform."""
# Radius and deviation at severities 0 to 5.
_DISKS_SMALL = ((0, 0), (0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))
_DISKS_LARGE = ((0, 0), (3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5))
_LINES_SMALL = ((6, 0), (6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))
_LINES_LARGE = ((10, 0), (10, 3), (15, 5), (15, 8), (15, 12), (20, 15))


@perturbation
class GaussianBlur:
    """A Gaussian filter; the level is its standard deviation in pixels.

    Hendrycks & Dietterich 2019, `gaussian_blur`: cut off at 4 deviations, the edge pixel repeated
    outwards. Not random.
    """

    level: float | None = None
    kind: ClassVar[str] = "blur"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1000.0, "pixels")  # flat; memory grows with the level
    draw: ClassVar[Draw] = NOTHING
    phrase: ClassVar[str] = "Gaussian blur of standard deviation {level} pixels"
    presets: ClassVar[Presets] = {
        "small": (0.4, 0.6, 0.7, 0.8, 1.0),
        "large": (1.0, 2.0, 3.0, 4.0, 6.0),
    }

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Along the rows, then along the columns."""
        wide = float(level) if isinstance(level, int | float) else level
        return restore_level_zero(clip(gaussian_filter(x, wide), bounds), x, level)


@perturbation
class DefocusBlur:
    """A lens out of focus: every pixel becomes a disk; the level is the severity.

    Hendrycks & Dietterich 2019, `defocus_blur`, with edges mirrored. The radius grows from 0 to
    1.5 pixels (small images) or 10 (large). The rim of the disk is soft, so that the blur grows
    evenly between the published radii; at these it is the published disk. Weights sum to 1: the
    published kernel brightens by about 1 % at radius 8 and 10. Not random.
    """

    level: float | None = None
    size: str = ""
    kind: ClassVar[str] = "defocus"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = SEVERITIES
    draw: ClassVar[Draw] = NOTHING
    choices: ClassVar[Choices] = SIZES
    phrase: ClassVar[str] = "defocus blur of severity {level} of 5"
    presets: ClassVar[Presets] = PRESETS

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Convolve with the disk: row by row if it is small, else by the Fourier transform."""
        small = is_small(self.size, tuple(x.shape))
        if not isinstance(level, int | float):
            kernels = _disk_kernels(level, small, 3 if small else 12)
            return restore_level_zero(clip(convolve(x, place_like(kernels, x)), bounds), x, level)
        kernel = _disk_kernel(float(level), small)
        if kernel.shape[1] <= _NARROW:
            y = filter_symmetric(x, _disk_bands(float(level), small, x.shape[-1]))
        else:
            y = convolve(x, place_like(kernel, x))
        return restore_level_zero(clip(y, bounds), x, level)


@lru_cache(maxsize=64)
def _disk_bands(level: float, small: bool, width: int) -> tuple[BandMatrix, ...]:
    """The rows of the disk from the middle downwards, each as a matrix along a line."""
    kernel = _disk_kernel(level, small)[0]
    return tuple(mirrored_filter_matrix(row, width) for row in kernel[len(kernel) // 2 :])


@lru_cache(maxsize=64)
def _disk_kernel(level: float, small: bool) -> NDArray[np.float32]:
    """(1, k, k): the disk of one severity, without empty rows and columns."""
    radius = at_severity_on_host(level, _disk_table(small))[0][0]
    kernel = _disk_kernels(level, small, math.ceil(radius) + 3)
    used = np.flatnonzero(kernel[0].max(axis=0) > 1e-9)
    return np.ascontiguousarray(kernel[:, used[0] : used[-1] + 1, used[0] : used[-1] + 1])


def _disk_table(small: bool) -> Table:
    return _DISKS_SMALL if small else _DISKS_LARGE


def _disk_kernels(level: Level, small: bool, half: int) -> NDArray[np.float32]:
    radii, deviations = at_severity_on_host(level, _disk_table(small))
    return disk_kernels(radii, deviations, half)


@perturbation
class MotionBlur:
    """A camera in motion: every pixel becomes a fading line; the level is the severity.

    Hendrycks & Dietterich 2019, `motion_blur`, which uses ImageMagick: one-sided Gaussian weights
    at 2 · radius + 1 points along an angle drawn uniformly from ±45°, or fixed by `angle` in
    degrees. Two departures: points between pixels are shared among their four neighbours
    (published: the nearest pixel), so that the blur is continuous in the angle; and edges are
    mirrored (published: the edge pixel repeated).
    """

    level: float | None = None
    angle: float | None = None
    size: str = ""
    kind: ClassVar[str] = "motion"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = SEVERITIES
    draw: ClassVar[Draw] = Uniform(())
    choices: ClassVar[Choices] = SIZES
    presets: ClassVar[Presets] = PRESETS

    def __post_init__(self) -> None:
        if self.angle is not None and not -45 <= self.angle <= 45:
            raise InvalidArgument(f"motion: angle must be in [-45, 45] degrees, got {self.angle}")

    @property
    def phrase(self) -> str:
        """What it does."""
        angle = "a random angle within ±45°" if self.angle is None else f"{self.angle:g}°"
        return f"motion blur at {angle}, of severity {{level}} of 5"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Convolve with each line."""
        one = isinstance(level, int | float)
        table = _LINES_SMALL if is_small(self.size, tuple(x.shape)) else _LINES_LARGE
        radii, deviations = at_severity_on_host(level, table)
        most = (radii[0], deviations[0]) if one else table[-1]
        count = min(math.ceil(2 * most[0]), math.ceil(5.5 * most[1])) + 1
        taps = line_taps(radii, deviations, count)
        if self.angle is None:
            angles = (drawn - 0.5) * (math.pi / 2)
        else:
            angles = (drawn[:1] if one else drawn) * 0 + math.radians(self.angle)
        kernels = line_kernels(angles, taps)
        return restore_level_zero(
            clip(sum_taps(x, kernels, (line_reach(count), count - 1)), bounds), x, level
        )


@perturbation
class ZoomBlur:
    """A camera moving forward: the mean of an image and its enlargements up to 1 + level.

    Hendrycks & Dietterich 2019, `zoom_blur`: enlargements by 1, 1 + step, … up to 1 + level, and
    the image once more, with equal weights. Each is centred exactly and interpolated linearly
    (published: from a crop of whole pixels). Between two steps the last enlargement has a smaller
    weight, so that the blur grows evenly. For large images the published step is 0.02 from
    severity 3 and 0.03 at 5: pass `step`. Not random.
    """

    level: float | None = None
    step: float = 0.01
    kind: ClassVar[str] = "zoom-blur"
    view: ClassVar[View] = View.IMAGE
    levels: ClassVar[Levels] = Levels(1.0, "share of the size")
    draw: ClassVar[Draw] = NOTHING
    phrase: ClassVar[str] = "zoom blur: the mean of enlargements from 1 to 1 + {level}"
    presets: ClassVar[Presets] = {
        "small": (0.06, 0.11, 0.15, 0.2, 0.25),
        "large": (0.11, 0.15, 0.2, 0.24, 0.3),
    }

    def __post_init__(self) -> None:
        if not 0.001 <= self.step <= 1:
            raise InvalidArgument(f"zoom-blur: step must be in [0.001, 1], got {self.step}")

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """The weighted mean of the enlargements."""
        if isinstance(level, int | float):
            mean = zoom_blur(x, float(level), self.step)
        else:
            rows = levels_on_host(level)
            mean = zoom_blur_per_row(x, rows, self.step, zoom_count(float(rows.max()), self.step))
        return restore_level_zero(clip(mean, bounds), x, level)
