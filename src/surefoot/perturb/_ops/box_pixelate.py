"""Images scaled down to fewer pixels and up again, both as with Pillow's BOX filter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.perturb._ops.arrays import clip
from surefoot.subject.protocols import Array

_FADE_IN = 0.1
"""Pixels over which the loss of the first pixel is faded in."""
_SLACK = 1e-4
"""Pixels added before rounding down: 1 - 0.9 is computed slightly below 0.1."""


@dataclass(frozen=True)
class CellCount:
    """A number of cells along an axis, and the weight of the image with so many cells."""

    cells: int
    weight: float


def cell_counts(length: int, share: float) -> tuple[CellCount, ...]:
    """The whole part of share · length; within the last tenth of a pixel a mix with the length."""
    exact = min(max(share * length + _SLACK, 1.0), float(length))
    whole = (exact - length) / _FADE_IN + 1
    if whole <= 0:
        return (CellCount(int(exact), 1.0),)
    if whole >= 1:
        return (CellCount(length, 1.0),)
    return (CellCount(length - 1, 1 - whole), CellCount(length, whole))


@dataclass(frozen=True, eq=False)
class Cells:
    """The first pixel of each cell, how many pixels it has, and the cell that each pixel shows."""

    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    of_pixel: NDArray[np.int64]


@lru_cache(maxsize=256)
def cells_along(length: int, cells: int) -> Cells:
    """The cells of an axis."""
    first, stop = _pixels_of_cell(np.arange(cells), length / cells)
    return Cells(first, stop - first, _cell_of_pixel(np.arange(length), cells / length))


def _pixels_of_cell(cell: NDArray[Any], scale: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # noqa: ANN401  a number, or one for each row
    """The first pixel of a cell and the one after its last; a pixel belongs where its middle is.

    In the order of Pillow's computation, which decides where a middle lies on an edge.
    """
    centre = (cell + 0.5) * scale
    support = 0.5 * scale
    first = np.floor(centre - support + 0.5)
    stop = np.floor(centre + support + 0.5)
    first += (first - centre + 0.5) * (1 / scale) <= -0.5
    stop -= (stop - 1 - centre + 0.5) * (1 / scale) > 0.5
    return first.astype(np.int64), stop.astype(np.int64)


def _cell_of_pixel(pixel: NDArray[Any], scale: Any) -> NDArray[np.int64]:  # noqa: ANN401  a number, or one for each row
    """The cell that a pixel shows: where its middle lies."""
    cell: NDArray[np.int64] = np.floor((pixel + 0.5) * scale).astype(np.int64)
    return cell


def pixelate(x: Array, share: float, bounds: Interval | None) -> Array:
    """Images scaled down to this share of their pixels along each edge, and up again."""
    (rows, *mixed_rows), (columns, *mixed_columns) = (cell_counts(n, share) for n in x.shape[2:])
    if mixed_rows or mixed_columns:
        return clip(_mixed(x, share), bounds)
    tall, wide = cells_along(x.shape[2], rows.cells), cells_along(x.shape[3], columns.cells)
    low = clip(_cell_means(_cell_means(x, tall, axis=2), wide, axis=3), bounds)
    return _take(_widened(low, wide), tall.of_pixel, axis=2)


def _widened(x: Array, cells: Cells) -> Array:
    """Each cell along the last axis as often as it has pixels."""
    count = int(cells.counts.max())
    equal = count == cells.counts.min() and count * len(cells.counts) == len(cells.of_pixel)
    if not (equal and isinstance(x, np.ndarray)):
        return _take(x, cells.of_pixel, axis=3)
    whole = np.empty((*x.shape[:3], len(cells.of_pixel)), x.dtype)
    for k in range(count):
        whole[..., k::count] = x
    return whole


def _mixed(x: Array, share: float) -> Array:
    """Where the loss of the first pixel is faded in."""
    whole: Any = None
    for rows in cell_counts(x.shape[2], share):
        tall = cells_along(x.shape[2], rows.cells)
        low = _pixelate_width(_cell_means(x, tall, axis=2), share)
        part = _take(low, tall.of_pixel, axis=2)
        if rows.weight != 1:
            part *= rows.weight
        whole = part if whole is None else whole + part
    return whole


def _pixelate_width(x: Array, share: float) -> Array:
    whole: Any = None
    for columns in cell_counts(x.shape[3], share):
        wide = cells_along(x.shape[3], columns.cells)
        part = _take(_cell_means(x, wide, axis=3), wide.of_pixel, axis=3)
        if columns.weight != 1:
            part *= columns.weight
        whole = part if whole is None else whole + part
    return whole


def _cell_means(x: Array, cells: Cells, axis: int) -> Array:
    """The mean of each cell; pixels that only some cells have get weight 0 in the others."""
    fewest, most = int(cells.counts.min()), int(cells.counts.max())
    if 1 < fewest == most and most * len(cells.starts) == x.shape[axis]:
        return _equal_cell_means(x, most, axis)
    total = _take(x, cells.starts, axis)
    for step in range(1, fewest):
        total += _take(x, cells.starts + step, axis)
    for step in range(fewest, most):
        more = _take(x, np.minimum(cells.starts + step, x.shape[axis] - 1), axis)
        more *= _broadcast_along((cells.counts > step).astype(np.float32), x, axis)
        total += more
    if most > 1:
        total *= _broadcast_along((1 / cells.counts).astype(np.float32), x, axis)
    return total


def _equal_cell_means(x: Array, count: int, axis: int) -> Array:
    """`_cell_means` where all cells have the same number of pixels, by slices."""
    parts = [x[:, :, k::count] if axis == 2 else x[:, :, :, k::count] for k in range(count)]
    total = parts[0] + parts[1]
    for part in parts[2:]:
        total += part
    total *= float(np.float32(1 / count))
    return total


def _take(x: Array, indices: NDArray[np.int64], axis: int) -> Array:
    """These indices of an axis. Along the last one Torch is faster with `gather` than `take`."""
    xp = array_namespace(x)
    chosen = xp.asarray(indices, device=x.device)
    if axis == 3 and not isinstance(x, np.ndarray):
        return x.gather(3, chosen.expand(*x.shape[:3], len(indices)))
    return xp.take(x, chosen, axis=axis)


def _broadcast_along(values: NDArray[np.float32], x: Array, axis: int) -> Array:
    """One number for each index of this axis, shaped to multiply images."""
    xp = array_namespace(x)
    shape = [1, 1, 1, 1]
    shape[axis] = -1
    return xp.reshape(xp.asarray(values, device=x.device), tuple(shape))


def cell_matrices(length: int, shares: NDArray[np.float64]) -> NDArray[np.float32]:
    """(n, length, length): for each share the matrix that pixelates along one axis."""
    exact = np.clip(shares * length + _SLACK, 1, length)
    whole = np.clip((exact - length) / _FADE_IN + 1, 0, 1)[:, None, None]
    fewer = np.minimum(np.floor(exact).astype(np.int64), max(length - 1, 1))
    mixed = (1 - whole) * _whole_cell_matrices(length, fewer) + whole * np.eye(length)
    return mixed.astype(np.float32)


def _whole_cell_matrices(length: int, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    cell = _cell_of_pixel(np.arange(length), (cells / length)[:, None])
    first, stop = _pixels_of_cell(cell, (length / cells)[:, None])
    pixels = np.arange(length)
    inside = (pixels >= first[:, :, None]) & (pixels < stop[:, :, None])
    return np.where(inside, 1 / (stop - first)[:, :, None], 0.0)
