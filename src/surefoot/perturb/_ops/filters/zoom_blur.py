"""The mean of an image and its enlargements."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from numpy.typing import NDArray

from surefoot.perturb._ops.arrays import place_like
from surefoot.perturb._ops.filters.matrices import (
    BandMatrix,
    band_matrix,
    multiply_axes,
    zoom_matrices,
)
from surefoot.perturb._ops.levels import Floats
from surefoot.subject.protocols import Array

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
    total = None
    for rows, columns in _zoom_matrix_pairs(level, step, height, width):
        part = multiply_axes(x, rows, columns)
        if total is None:
            total = part
        else:
            total += part
    return total


def zoom_blur_per_row(x: Array, levels: Floats, step: float, count: int) -> Array:
    """The mean for one level for each row, none of more than count - 1 steps."""
    height, width = x.shape[-2:]
    beyond, weights = zoom_weights(levels, step, count)
    total: Any = 0.0
    for k in range(count):
        rows = zoom_matrices(1 + beyond[:, k], height) * weights[:, k, None, None].astype(
            np.float32
        )
        columns = zoom_matrices(1 + beyond[:, k], width)
        total = total + multiply_axes(x, place_like(rows, x), place_like(columns, x))
    return total


def zoom_count(level: float, step: float) -> int:
    """The number of enlargements up to this level, 1 included."""
    return int(np.ceil(level / step - 1e-6)) + 1


@lru_cache(maxsize=8)
def _zoom_matrix_pairs(
    level: float, step: float, height: int, width: int
) -> list[tuple[BandMatrix, BandMatrix]]:
    """The matrices of each enlargement along both axes; the first contains its weight."""
    beyond, weights = zoom_weights(np.asarray([level]), step, zoom_count(level, step))
    return [
        (
            band_matrix(zoom_matrices(np.asarray([1 + b]), height) * np.float32(w)),
            band_matrix(zoom_matrices(np.asarray([1 + b]), width)),
        )
        for b, w in zip(beyond[0], weights[0], strict=True)
    ]


@lru_cache(maxsize=8)
def _zoom_blur_matrix(level: float, step: float, height: int, width: int) -> Any:  # noqa: ANN401  a sparse matrix
    """The sparse matrix of the whole blur on flat images."""
    from scipy import sparse

    total = sparse.csr_array((height * width, height * width), dtype=np.float64)
    for rows, columns in _zoom_matrix_pairs(level, step, height, width):
        total = total + sparse.kron(
            sparse.csr_array(rows.matrix[0]), sparse.csr_array(columns.matrix[0]), format="csr"
        )
    return total.astype(np.float32)


def _multiply_flat(x: Array, matrix: Any) -> Array:  # noqa: ANN401  a sparse matrix
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
