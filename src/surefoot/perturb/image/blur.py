"""Images out of focus, in motion, or behind frosted glass."""

from __future__ import annotations

import math
from dataclasses import field
from functools import lru_cache, reduce
from itertools import pairwise
from operator import iadd
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.perturb._ops import convolution, matrices
from surefoot.perturb._ops.arrays import (
    Floats,
    PerRow,
    clip,
    levels_on_host,
    place_like,
    restore_level_zero,
)
from surefoot.perturb._ops.definition import (
    PRESETS,
    SEVERITIES,
    SIZES,
    Levels,
    OfImages,
    OfSeverities,
    Table,
    Uniform,
    at_severity_on_host,
    is_small,
    perturbation,
    published,
    within,
)
from surefoot.subject.protocols import Array, Level, Stream

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_FEW_PIXELS = 64 * 64
_FEW_ENTRIES = 1_000_000
"""Pixels times enlargements up to which main memory holds one sparse matrix for all of them."""
_FEW_PLANES = 4


def zoom_weights(levels: Floats, step: float, count: int) -> tuple[Floats, Floats]:
    """(n, count) enlargements beyond 1, and their weights, which sum to 1.

    0, step, 2 · step, … up to each level have weight 1, and the image itself one more. A level
    between two steps has the weight of its share of the step.
    """
    steps = np.arange(count)
    along_it = np.maximum(levels[:, None] / step, 0)
    nearest = np.rint(along_it)
    along_it = np.where(np.abs(along_it - nearest) < 1e-6, nearest, along_it)
    shares = np.clip(along_it - steps + 1, 0, 1)
    shares[:, 0] = 2
    beyond = np.minimum(steps, along_it) * step
    return beyond, shares / np.cumsum(shares, axis=1)[:, -1:]


def zoom_blur(x: Array, level: float, step: float) -> Array:
    """The mean for one level: by one sparse matrix, or zoom by zoom where that is too large."""
    height, width = x.shape[-2:]
    entries = height * width * zoom_count(level, step)
    on_host = isinstance(x, np.ndarray) or x.device.type == "cpu"
    if height * width <= _FEW_PIXELS or (on_host and entries <= _FEW_ENTRIES):
        return _multiply_flat(x, _zoom_blur_matrix(level, step, height, width))
    pairs = _zoom_matrix_pairs(level, step, height, width)
    return reduce(iadd, (matrices.multiply_axes(x, rows, columns) for rows, columns in pairs))


def zoom_blur_per_row(x: Array, levels: Floats, step: float, count: int) -> Array:
    """The mean for one level for each row, none of more than count - 1 steps."""
    height, width = x.shape[-2:]
    beyond, weights = zoom_weights(levels, step, count)
    total: PerRow = 0.0
    for k in range(count):
        weight = weights[:, k, None, None].astype(np.float32)
        rows = matrices.zoom_matrices(1 + beyond[:, k], height) * weight
        columns = matrices.zoom_matrices(1 + beyond[:, k], width)
        total = total + matrices.multiply_axes(x, place_like(rows, x), place_like(columns, x))
    return total


def zoom_count(level: float, step: float) -> int:
    """The number of enlargements up to this level, 1 included."""
    return int(np.ceil(level / step - 1e-6)) + 1


@lru_cache(maxsize=8)
def _zoom_matrix_pairs(
    level: float, step: float, height: int, width: int
) -> list[tuple[matrices.BandMatrix, matrices.BandMatrix]]:
    """The matrices of each enlargement along both axes; the first contains its weight."""
    beyond, weights = zoom_weights(np.asarray([level]), step, zoom_count(level, step))
    zooms = zip((1 + beyond[0])[:, None], weights[0].astype(np.float32), strict=True)
    return [
        (
            matrices.band_matrix(matrices.zoom_matrices(zoom, height) * weight),
            matrices.band_matrix(matrices.zoom_matrices(zoom, width)),
        )
        for zoom, weight in zooms
    ]


@lru_cache(maxsize=8)
def _zoom_blur_matrix(level: float, step: float, height: int, width: int) -> csr_array:
    """The sparse matrix of the whole blur on flat images."""
    from scipy import sparse

    total = sparse.csr_array((height * width, height * width), dtype=np.float64)
    for rows, columns in _zoom_matrix_pairs(level, step, height, width):
        total = total + sparse.kron(
            sparse.csr_array(rows.matrix[0]), sparse.csr_array(columns.matrix[0]), format="csr"
        )
    return total.astype(np.float32)


def _multiply_flat(x: Array, matrix: csr_array) -> Array:
    """Flat images times a sparse matrix; every value is its own sum, independent of the batch.

    Torch arrays in main memory go through SciPy, which is faster there.
    """
    xp = array_namespace(x)
    if is_torch_array(x) and x.device.type == "cpu":
        return xp.from_numpy(_multiply_flat(x.numpy(), matrix))
    planes = xp.reshape(x, (-1, matrix.shape[1]))
    flat = xp.permute_dims(planes, (1, 0))
    if isinstance(x, np.ndarray):
        if len(planes) <= _FEW_PLANES:
            return np.stack([matrix @ plane for plane in planes]).reshape(x.shape)
        mapped: NDArray[np.float32] = matrix @ flat
        return np.ascontiguousarray(mapped.T).reshape(x.shape)
    entries = matrix.tocoo()
    where = xp.asarray(np.stack(entries.coords), device=x.device)
    values = xp.asarray(entries.data, device=x.device)
    sparse = xp.sparse_coo_tensor(
        where, values, matrix.shape, is_coalesced=True, check_invariants=False
    )
    return xp.reshape(xp.permute_dims(xp.sparse.mm(sparse, flat), (1, 0)), x.shape)


_NARROW = 13
"""Pixels across a disk up to which it is applied row by row, not by the Fourier transform."""
# Radius and deviation at severities 0 to 5.
_DISKS_SMALL = ((0, 0), (0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))
_DISKS_LARGE = ((0, 0), (3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5))
_LINES_SMALL = ((6, 0), (6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))
_LINES_LARGE = ((10, 0), (10, 3), (15, 5), (15, 8), (15, 12), (20, 15))


@perturbation
class GaussianBlur(OfImages):
    """A Gaussian filter; the level is its standard deviation in pixels.

    Hendrycks & Dietterich 2019, `gaussian_blur`: cut off at 4 deviations, the edge pixel repeated
    outwards. Not random.
    """

    kind = "blur"
    levels = Levels(1000.0, "pixels")  # flat; memory grows with the level
    phrase = "Gaussian blur of standard deviation {level} pixels"
    presets = published((0.4, 0.6, 0.7, 0.8, 1.0), (1.0, 2.0, 3.0, 4.0, 6.0))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Along the rows, then along the columns."""
        wide = float(level) if isinstance(level, int | float) else level
        return restore_level_zero(clip(matrices.gaussian_filter(x, wide), bounds), x, level)


@perturbation
class DefocusBlur(OfSeverities):
    """A lens out of focus: every pixel becomes a disk; the level is the severity.

    Hendrycks & Dietterich 2019, `defocus_blur`, with edges mirrored. The radius grows from 0 to
    1.5 pixels (small images) or 10 (large). The rim of the disk is soft, so that the blur grows
    evenly between the published radii; at these it is the published disk. Weights sum to 1: the
    published kernel brightens by about 1 % at radius 8 and 10. Not random.
    """

    kind = "defocus"
    phrase = "defocus blur of severity {level} of 5"

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Convolve with the disk: row by row if it is small, else by the Fourier transform."""
        table = self.table(x.shape, _DISKS_SMALL, _DISKS_LARGE)
        if not isinstance(level, int | float):
            half = 3 if table is _DISKS_SMALL else 12  # the same for all, so that rows are alike
            radii, deviations = at_severity_on_host(level, table)
            kernel = convolution.disk_kernels(radii, deviations, half)
        else:
            kernel = _disk_kernel(float(level), table)
            if kernel.shape[1] <= _NARROW:
                y = matrices.filter_symmetric(x, _disk_bands(float(level), table, x.shape[-1]))
                return clip(y, bounds)
        y = convolution.convolve(x, place_like(kernel, x))
        return restore_level_zero(clip(y, bounds), x, level)


@lru_cache(maxsize=64)
def _disk_bands(level: float, table: Table, width: int) -> tuple[matrices.BandMatrix, ...]:
    """The rows of the disk from the middle downwards, each as a matrix along a line."""
    kernel = _disk_kernel(level, table)[0]
    return tuple(matrices.mirrored_filter_matrix(row, width) for row in kernel[len(kernel) // 2 :])


@lru_cache(maxsize=64)
def _disk_kernel(level: float, table: Table) -> NDArray[np.float32]:
    """(1, k, k): the disk of one severity, without empty rows and columns."""
    radii, deviations = at_severity_on_host(level, table)
    kernel = convolution.disk_kernels(radii, deviations, math.ceil(radii[0]) + 3)
    used = np.flatnonzero(kernel[0].max(axis=0) > 1e-9)
    return np.ascontiguousarray(kernel[:, used[0] : used[-1] + 1, used[0] : used[-1] + 1])


@perturbation
class MotionBlur(OfImages):
    """A camera in motion: every pixel becomes a fading line; the level is the severity.

    Hendrycks & Dietterich 2019, `motion_blur`, which uses ImageMagick: one-sided Gaussian weights
    at 2 · radius + 1 points along an angle drawn uniformly from ±45°, or fixed by `angle` in
    degrees. Two departures: points between pixels are shared among their four neighbours
    (published: the nearest pixel), so that the blur is continuous in the angle; and edges are
    mirrored (published: the edge pixel repeated).
    """

    angle: float | None = field(default=None, metadata=within(-45, 45))
    size: str = field(default="", metadata=SIZES)
    kind = "motion"
    levels = SEVERITIES
    draw = Uniform(())
    presets = PRESETS

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
        taps = convolution.line_taps(radii, deviations, count)
        if self.angle is None:
            angles = (drawn - 0.5) * (math.pi / 2)
        else:
            angles = (drawn[:1] if one else drawn) * 0 + math.radians(self.angle)
        kernels = convolution.line_kernels(angles, taps)
        blurred = convolution.sum_taps(x, kernels, (convolution.line_reach(count), count - 1))
        return restore_level_zero(clip(blurred, bounds), x, level)


@perturbation
class ZoomBlur(OfImages):
    """A camera moving forward: the mean of an image and its enlargements up to 1 + level.

    Hendrycks & Dietterich 2019, `zoom_blur`: enlargements by 1, 1 + step, … up to 1 + level, and
    the image once more, with equal weights. Each is centred exactly and interpolated linearly
    (published: from a crop of whole pixels). Between two steps the last enlargement has a smaller
    weight, so that the blur grows evenly. For large images the published step is 0.02 from
    severity 3 and 0.03 at 5: pass `step`. Not random.
    """

    step: float = field(default=0.01, metadata=within(0.001, 1))
    kind = "zoom-blur"
    levels = Levels(1.0, "share of the size")
    phrase = "zoom blur: the mean of enlargements from 1 to 1 + {level}"
    presets = published((0.06, 0.11, 0.15, 0.2, 0.25), (0.11, 0.15, 0.2, 0.24, 0.3))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """The weighted mean of the enlargements."""
        if isinstance(level, int | float):
            mean = zoom_blur(x, float(level), self.step)
        else:
            rows = levels_on_host(level)
            mean = zoom_blur_per_row(x, rows, self.step, zoom_count(float(rows.max()), self.step))
        return restore_level_zero(clip(mean, bounds), x, level)


Ints = NDArray[np.int64]


def swap_partners(chance: Array, gate: Array, share: PerRow, reach: PerRow) -> Array:
    """(n, rounds, height, width): the pixel that each one swaps with, as a flat index.

    A pixel swaps where its `gate` (n, 1, height, width) is below `share`; its own reach is `reach`
    rounded down, or up where its gate is below the fraction. Its partner is drawn uniformly from
    the offsets -reach … reach - 1 along both axes by its `chance`, as published. Pixels too near
    to an edge do not swap. Share and reach are numbers or arrays (n, rounds or 1, 1, 1).
    """
    xp = array_namespace(chance)
    height, width = chance.shape[-2:]
    place = device(chance)
    whole = reach // 1
    one_reach = isinstance(reach, int | float) and reach == whole
    far = whole if one_reach else whole + (gate < reach - whole)
    side = 2 * far
    cell = xp.floor(chance * (side * side))
    down = xp.floor(cell * (1 / side))
    cell += down * (width - side) - far * (width + 1)
    row = xp.arange(height, dtype=chance.dtype, device=place)[:, None]
    column = xp.arange(width, dtype=chance.dtype, device=place)
    going = (row > far) & (row <= height - far) & (column > far) & (column <= width - far)
    if not (isinstance(share, int | float) and share >= 1):
        going = going & (gate < share)
    cell *= going
    own = xp.reshape(xp.arange(height * width, device=place), (height, width))
    return own + xp.astype(cell, xp.int64)


def origins_after_swaps(goals: Array, reach: int) -> Array:
    """(n, height, width): where each pixel comes from after every pixel swapped in turn.

    In every round, from the last pixel to the first, row by row, a pixel swaps with the one that
    `goals` (n, rounds, height, width) names, at most `reach` rows or columns up and left and less
    than that down and right. The result is exactly that of the sequence: pixels 2 · `reach`
    columns apart in neighbouring rows cannot meet, so a whole slanted line of pixels swaps at
    once, in all images.
    """
    xp = array_namespace(goals)
    if is_torch_array(goals) and device(goals).type == "cpu":
        return xp.from_numpy(origins_after_swaps(goals.numpy(), reach))
    n, rounds, height, width = goals.shape
    size, place = height * width, device(goals)
    order, ranks, cuts = _lines(height, width, 2 * reach)
    in_order, rank = xp.asarray(order, device=place), xp.asarray(ranks, device=place)
    # Pixels in the order of their lines, the images innermost: a line is a plain slice.
    turned = xp.permute_dims(xp.reshape(goals, (n, rounds, size)), (1, 2, 0))
    towards = xp.take(rank * n, xp.reshape(xp.take(turned, in_order, axis=1), (-1,)), axis=0)
    towards = xp.reshape(towards, (rounds, size, n))
    towards += xp.arange(n, device=place)
    flat = xp.reshape(xp.broadcast_to(in_order[:, None], (size, n)) + 0, (-1,))
    for all_goals in xp.reshape(towards, (rounds, -1)):
        for begin, end in pairwise(cuts):
            line = slice(begin * n, end * n)
            goal = all_goals[line]
            leaving = flat[line] + 0
            flat[line] = flat[goal]
            flat[goal] = leaving
    origins = xp.take(xp.reshape(flat, (size, n)), rank, axis=0)
    return xp.reshape(xp.permute_dims(origins, (1, 0)), (n, height, width))


@lru_cache(maxsize=16)
def _lines(height: int, width: int, slant: int) -> tuple[Ints, Ints, tuple[int, ...]]:
    """Pixels in the order of their lines, the rank of each pixel there, and where lines begin.

    From the last pixel to the first, each row `slant` columns behind the row below it.
    """
    row, column = np.divmod(np.arange(height * width), width)
    time = slant * (height - 1 - row) + width - 1 - column
    order = np.argsort(time, kind="stable")
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    cuts = np.flatnonzero(np.diff(time[order], prepend=-1, append=-1))
    return order, ranks, tuple(cuts.tolist())


def gather_pixels(x: Array, origins: Array) -> Array:
    """Images (n or 1, channels, height, width) with the pixels of every channel from `origins`."""
    xp = array_namespace(x)
    n, height, width = origins.shape
    rows, channels = x.shape[:2]
    size = height * width
    starts = xp.reshape(xp.arange(rows * channels, device=device(x)), (rows, channels, 1)) * size
    index = starts + xp.reshape(origins, (n, 1, size))
    values = xp.take(xp.reshape(x, (-1,)), xp.reshape(index, (-1,)), axis=0)
    return xp.reshape(values, (n, channels, height, width))


# Deviation of the blur, reach of the swaps, rounds of swaps at severities 0 to 5.
_SMALL = ((0, 1, 0), (0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2))
_LARGE = ((0, 1, 0), (0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2))


@perturbation
class GlassBlur(OfSeverities):
    """Frosted glass: blur, swaps of neighbouring pixels, blur; the level is the severity.

    Hendrycks & Dietterich 2019, `glass_blur`, in their order: from the last pixel to the first,
    each one swaps with another at most `reach` away, in one or several rounds. These are true
    swaps (the published code copies one pixel over the other). Between two severities a share of
    the pixels swaps, or reaches further; a pixel that does at one level does at every higher one.
    Values are not rounded to 256 levels between the steps.
    """

    kind = "glass"
    phrase = "glass blur of severity {level} of 5"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """For each pixel: a number for whether it swaps, then one for its partner in each round."""
        rounds = max(row[2] for row in self.table(shape, _SMALL, _LARGE))
        return stream.uniform((n, 1 + int(rounds), *shape[-2:]))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Blur, swap, blur."""
        one = isinstance(level, int | float)
        table = self.table(x.shape, _SMALL, _LARGE)
        deviations, reaches, rounds = at_severity_on_host(level, table)
        wide = float(deviations[0]) if one else place_like(deviations, x)
        count, reach = math.ceil(rounds.max()), math.ceil(reaches.max())
        shares = np.clip(rounds[:, None] - np.arange(count), 0, 1)
        share, far = (_number_or_rows(values, x, one) for values in (shares, reaches))
        goals = swap_partners(drawn[:, 1 : count + 1], drawn[:, :1], share, far)
        y = gather_pixels(matrices.gaussian_filter(x, wide), origins_after_swaps(goals, reach))
        return restore_level_zero(clip(matrices.gaussian_filter(y, wide), bounds), x, level)


def _number_or_rows(values: Floats, like: Array, one: bool) -> PerRow:
    """One number where all are equal, else an array (rows, rounds or 1, 1, 1)."""
    if one and (values == values.flat[0]).all():
        return float(values.flat[0])
    shaped = np.reshape(values, (len(values), -1, 1, 1)).astype(np.float32)
    return place_like(shaped, like)
