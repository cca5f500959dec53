"""Images shrunk to fewer pixels and grown again, as Pillow's BOX filter does both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.subject import Array

_FADE_IN = 0.1
_SLACK = 1e-4


@dataclass(frozen=True)
class CellCount:
    """A number of cells along an axis, and how much the image with so many counts."""

    cells: int
    weight: float


def cell_counts(length: int, share: float) -> tuple[CellCount, ...]:
    """The whole part of share · length; within a tenth of the whole length a mix with the whole."""
    exact = min(max(share * length + _SLACK, 1.0), float(length))
    whole = (exact - length) / _FADE_IN + 1
    if whole <= 0:
        return (CellCount(int(exact), 1.0),)
    if whole >= 1:
        return (CellCount(length, 1.0),)
    return (CellCount(length - 1, 1 - whole), CellCount(length, whole))


@dataclass(frozen=True, eq=False)
class Cells:
    """Where each cell begins, how many pixels it has, and which cell each pixel shows."""

    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    shown: NDArray[np.int64]


@lru_cache(maxsize=256)
def cells_along(length: int, cells: int) -> Cells:
    """The cells of an axis."""
    first, stop = _pixels_of_cell(np.arange(cells), length / cells)
    return Cells(first, stop - first, _cell_of_pixel(np.arange(length), cells / length))


def _pixels_of_cell(cell: NDArray[Any], scale: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # noqa: ANN401
    """First pixel of a cell and the one after its last. A pixel is taken whole, by its middle.

    In Pillow's order of computing, which decides where a middle lies on an edge.
    """
    centre = (cell + 0.5) * scale
    support = 0.5 * scale
    first = np.floor(centre - support + 0.5)
    stop = np.floor(centre + support + 0.5)
    first += (first - centre + 0.5) * (1 / scale) <= -0.5
    stop -= (stop - 1 - centre + 0.5) * (1 / scale) > 0.5
    return first.astype(np.int64), stop.astype(np.int64)


def _cell_of_pixel(pixel: NDArray[Any], scale: Any) -> NDArray[np.int64]:  # noqa: ANN401
    """The cell that a pixel shows: where its middle lies."""
    cell: NDArray[np.int64] = np.floor((pixel + 0.5) * scale).astype(np.int64)
    return cell


def pixelate(x: Array, share: float) -> Array:
    """Both edges shrunk to this share of their length and grown again."""
    whole: Any = None
    for rows in cell_counts(x.shape[2], share):
        tall = cells_along(x.shape[2], rows.cells)
        low = _pixelate_width(_cell_means(x, tall, axis=2), share)
        part = _take(low, tall.shown, axis=2)
        if rows.weight != 1:
            part *= rows.weight
        whole = part if whole is None else whole + part
    return whole


def _pixelate_width(x: Array, share: float) -> Array:
    whole: Any = None
    for columns in cell_counts(x.shape[3], share):
        wide = cells_along(x.shape[3], columns.cells)
        part = _take(_cell_means(x, wide, axis=3), wide.shown, axis=3)
        if columns.weight != 1:
            part *= columns.weight
        whole = part if whole is None else whole + part
    return whole


def _cell_means(x: Array, cells: Cells, axis: int) -> Array:
    """The mean of each cell; what only some cells have is weighed with 0 for the others."""
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
    """As `_cell_means`, where all cells have the same number of pixels and no index is needed."""
    parts = [x[:, :, k::count] if axis == 2 else x[:, :, :, k::count] for k in range(count)]
    total = parts[0] + parts[1]
    for part in parts[2:]:
        total += part
    total *= float(np.float32(1 / count))
    return total


def _take(x: Array, indices: NDArray[np.int64], axis: int) -> Array:
    """These indices of an axis. Along the last one Torch gathers faster than it takes."""
    xp = array_namespace(x)
    chosen = xp.asarray(indices, device=x.device)
    if axis == 3 and not isinstance(x, np.ndarray):
        return x.gather(3, chosen.expand(*x.shape[:3], len(indices)))
    return xp.take(x, chosen, axis=axis)


def _broadcast_along(values: NDArray[np.float32], x: Array, axis: int) -> Array:
    """One number an index of this axis, as it multiplies images."""
    xp = array_namespace(x)
    shape = [1, 1, 1, 1]
    shape[axis] = -1
    return xp.reshape(xp.asarray(values, device=x.device), tuple(shape))


def cell_matrices(length: int, shares: NDArray[np.float64]) -> NDArray[np.float32]:
    """One matrix a share that does along an axis what `pixelate` does: (n, length, length)."""
    exact = np.clip(shares * length + _SLACK, 1, length)
    whole = np.clip((exact - length) / _FADE_IN + 1, 0, 1)[:, None, None]
    fewer = np.minimum(np.floor(exact).astype(np.int64), max(length - 1, 1))
    mixed = (1 - whole) * _whole_cell_matrices(length, fewer) + whole * np.eye(length)
    return mixed.astype(np.float32)


def _whole_cell_matrices(length: int, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    shown = _cell_of_pixel(np.arange(length), (cells / length)[:, None])
    first, stop = _pixels_of_cell(shown, (length / cells)[:, None])
    pixels = np.arange(length)
    inside = (pixels >= first[:, :, None]) & (pixels < stop[:, :, None])
    return np.where(inside, 1 / (stop - first)[:, :, None], 0.0)
