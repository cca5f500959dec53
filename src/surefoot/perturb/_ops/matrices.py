"""Filters along rows and columns as products with band matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array
from numpy.typing import NDArray

from surefoot.perturb._ops.arrays import place_like
from surefoot.perturb._ops.convolution import mirror_indices
from surefoot.perturb._ops.definition import LONGEST_SMALL
from surefoot.subject.protocols import Array

_TRUNCATE = 4.0
"""Deviations after which a Gaussian is cut off, as in `skimage.filters.gaussian`."""


@dataclass(frozen=True, eq=False)
class BandMatrix:
    """A matrix (1, outputs, inputs) that is zero outside its strips.

    A strip is a slice of the outputs, and that of the only inputs that they need.
    """

    matrix: NDArray[np.float32]
    strips: tuple[tuple[slice, slice], ...]


def multiply_axes(x: Array, rows: Array | BandMatrix, columns: Array | BandMatrix) -> Array:
    """Images (n or 1, channels, h, w) under `rows` (n or 1, h', h) and `columns` (n or 1, w', w).

    One product an image, so a row is the same in any batch. A `BandMatrix` saves the products
    with its zeros.
    """
    return _multiply_rows(_multiply_columns(x, rows), columns)


@lru_cache(maxsize=1)
def _warm_up_openblas() -> None:
    """Make OpenBLAS touch its working memory once.

    It reads ahead of small matrices. As long as nothing larger was ever multiplied, that memory is
    not mapped, and 32 x 32 products take three times as long.
    """
    one = np.ones((128, 128), dtype=np.float32)
    np.matmul(one, one)


def _multiply_columns(x: Array, rows: Array | BandMatrix) -> Array:
    xp = array_namespace(x)
    matrix, strips = _matrix_and_strips(rows, x)
    if len(strips) > 1 and _is_torch_on_cpu(x):
        return xp.from_numpy(_multiply_columns(x.numpy(), rows))
    if isinstance(x, np.ndarray):
        x = np.ascontiguousarray(x)  # a permuted one is multiplied without BLAS
    if len(strips) == 1:
        return xp.matmul(matrix[:, None, :, :], x)
    n, channels, _, width = x.shape
    out = xp.empty((n, channels, matrix.shape[1], width), dtype=x.dtype, device=device(x))
    for outputs, inputs in strips:
        block = matrix[:, None, outputs, inputs]
        _multiply_into(block, x[:, :, inputs, :], out[:, :, outputs, :])
    return out


def _multiply_rows(x: Array, columns: Array | BandMatrix) -> Array:
    xp = array_namespace(x)
    matrix, strips = _matrix_and_strips(columns, x)
    if len(strips) > 1 and _is_torch_on_cpu(x):
        return xp.from_numpy(_multiply_rows(x.numpy(), columns))
    n, channels, height, width = x.shape
    lines = xp.reshape(x, (n, channels * height, width))
    transposed = xp.permute_dims(matrix, (0, 2, 1))
    if len(strips) == 1:
        one_matrix = len(transposed) == 1 and not isinstance(x, np.ndarray)
        out = xp.matmul(lines, transposed[0] if one_matrix else transposed)
    else:
        shape = (n, channels * height, matrix.shape[1])
        out = xp.empty(shape, dtype=x.dtype, device=device(x))
        for outputs, inputs in strips:
            _multiply_into(lines[:, :, inputs], transposed[:, inputs, outputs], out[:, :, outputs])
    return xp.reshape(out, (out.shape[0], channels, height, matrix.shape[1]))


def _is_torch_on_cpu(x: Array) -> bool:
    """Whether it is a Torch array in main memory: NumPy is faster with many small products."""
    return bool(is_torch_array(x) and device(x).type == "cpu")


def _multiply_into(a: Array, b: Array, out: Array) -> None:
    """Write a · b into `out`."""
    if isinstance(out, np.ndarray):
        np.matmul(a, b, out=out)
    else:
        out[...] = array_namespace(a).matmul(a, b)


def _matrix_and_strips(matrix: Array | BandMatrix, like: Array) -> tuple[Array, tuple[Any, ...]]:
    """The matrix on the device of the image, and its strips; one for all where it has none."""
    if isinstance(like, np.ndarray):
        _warm_up_openblas()
    if isinstance(matrix, BandMatrix):
        return place_like(matrix.matrix, like), matrix.strips
    return matrix, (None,)


def band_matrix(matrix: NDArray[np.float32], longest: int = 32) -> BandMatrix:
    """The matrix (1, outputs, inputs) cut into strips of about the same length."""
    size, inputs = matrix.shape[1:]
    count = math.ceil(size / longest)
    edges = [size * i // count for i in range(count + 1)]
    strips = []
    for top, bottom in pairwise(edges):
        used = np.flatnonzero(matrix[0, top:bottom].any(axis=0))
        left, right = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, inputs)
        strips.append((slice(top, bottom), slice(left, right)))
    return BandMatrix(matrix, tuple(strips))


def filter_symmetric(x: Array, bands: Sequence[BandMatrix]) -> Array:
    """Images under a kernel that is the same upside down, edges mirrored.

    Band a is the row of the kernel a rows from its middle: the rows of the image a above and a
    below are added first.
    """
    xp = array_namespace(x)
    height = x.shape[-2]
    total = _multiply_rows(x, bands[0])
    for a, band in enumerate(bands[1:], start=1):
        above = place_like(mirror_indices(height, a, 0)[:height], x)
        below = place_like(mirror_indices(height, 0, a)[a:], x)
        pair = xp.take(x, above, axis=2)
        pair += xp.take(x, below, axis=2)
        total += _multiply_rows(pair, band)
    return total


def mirrored_filter_matrix(taps: NDArray[np.float32], size: int) -> BandMatrix:
    """Convolution along an axis with an odd number of taps, edges mirrored."""
    half = len(taps) // 2
    source = mirror_indices(size, half, half)
    matrix = np.zeros((1, size, size), dtype=np.float32)
    for step, tap in enumerate(taps[::-1]):
        matrix[0, np.arange(size), source[step : step + size]] += tap
    return band_matrix(matrix)


def gaussian_matrices(deviations: Array, size: int) -> Array:
    """(n, size, size): a Gaussian of each deviation along an axis, the edge pixel repeated.

    As `skimage.filters.gaussian` with mode "nearest" and truncate 4: taps up to
    int(4 · deviation + 0.5), weights normalised. Weights beyond an edge count for the edge pixel.
    """
    xp, there = array_namespace(deviations), device(deviations)
    if size == 1:
        return xp.ones((len(deviations), 1, 1), dtype=xp.float32, device=there)
    wide = xp.clip(xp.astype(deviations, xp.float64), 1e-3, None)[:, None]
    reach = xp.floor(_TRUNCATE * wide + 0.5)
    steps = xp.arange(max(size, int(xp.max(reach)) + 1), dtype=xp.float64, device=there)
    taps = xp.where(steps <= reach, xp.exp(-0.5 * (steps / wide) ** 2), 0.0)
    tails = _tail_sums(taps)
    whole = tails[:, :1] + tails[:, 1:2]
    taps, tails = xp.astype(taps / whole, xp.float32), xp.astype(tails / whole, xp.float32)
    i = np.arange(size)
    apart = xp.asarray(np.abs(i[:, None] - i).reshape(-1), device=there)
    matrix = xp.reshape(xp.take(taps, apart, axis=1), (-1, size, size))
    matrix[:, :, 0] = tails[:, :size]
    matrix[:, :, -1] = xp.flip(tails[:, :size], axis=1)
    return matrix


def _tail_sums(taps: Array) -> Array:
    """Sums from each tap to the last, added in order: independent of length and batch."""
    if isinstance(taps, np.ndarray):
        return np.cumsum(taps[:, ::-1], axis=1)[:, ::-1]
    tails, last = array_namespace(taps).empty_like(taps), taps[:, -1] * 0
    for k in range(taps.shape[1] - 1, -1, -1):
        last = last + taps[:, k]
        tails[:, k] = last
    return tails


def zoom_matrices(factors: NDArray[np.floating], size: int) -> NDArray[np.float32]:
    """(n, size, size): the centre enlarged by each factor ≥ 1, by linear interpolation."""
    i = np.arange(size)
    middle = (size - 1) / 2
    read = middle + (i - middle) / np.asarray(factors, dtype=np.float64)[:, None]
    return np.asarray(np.clip(1 - np.abs(read[:, :, None] - i), 0, 1), dtype=np.float32)


@lru_cache(maxsize=64)
def gaussian_band_matrix(deviation: float, size: int) -> BandMatrix:
    """`gaussian_matrices` of one deviation, cached."""
    return band_matrix(gaussian_matrices(np.asarray([deviation]), size))


def gaussian_filter(x: Array, deviations: Array | float) -> Array:
    """Images under a Gaussian of this deviation, or of one for each row."""
    height, width = x.shape[-2:]
    if isinstance(deviations, float):
        return multiply_axes(x, *(gaussian_band_matrix(deviations, n) for n in (height, width)))
    rows = gaussian_matrices(deviations, height)
    return multiply_axes(x, rows, rows if height == width else gaussian_matrices(deviations, width))


_ELASTIC_TRUNCATE = 3.0
"""Deviations after which the Gaussian is cut off, as in the published elastic distortion."""


def filter_reach(deviation: float) -> int:
    """How many pixels the Gaussian of this deviation goes to either side."""
    return int(_ELASTIC_TRUNCATE * deviation + 0.5)


def mirrored_gaussian_filter(fields: Array, deviation: Array, reach: int) -> Array:
    """Fields (n, 2, height, width) under a Gaussian of one deviation for each row.

    A product of matrices along each axis, block by block: most of a matrix is zero when the
    Gaussian has a short reach.
    """
    xp, (height, width) = array_namespace(fields), fields.shape[2:]
    if len(deviation) == 1 and (isinstance(fields, np.ndarray) or fields.device.type == "cpu"):
        bands = (_band_matrix(float(deviation[0, 0, 0]), n, reach) for n in (height, width))
        return multiply_axes(fields, *bands)
    down = _mirrored_gaussian_matrices(deviation, height, reach)
    across = down if width == height else _mirrored_gaussian_matrices(deviation, width, reach)
    parts = [
        xp.matmul(down[:, :, block, near], fields[:, :, near, :])
        for block, near in _blocks_within_reach(height, reach)
    ]
    tall = parts[0] if len(parts) == 1 else xp.concat(parts, axis=2)
    parts = [
        xp.matmul(tall[:, :, :, near], across[:, :, near, block])
        for block, near in _blocks_within_reach(width, reach)
    ]
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=3)


@lru_cache(maxsize=64)
def _band_matrix(deviation: float, size: int, reach: int) -> BandMatrix:
    """The matrix of one deviation, cached."""
    one = np.full((1, 1, 1), deviation, dtype=np.float32)
    return band_matrix(_mirrored_gaussian_matrices(one, size, reach)[:, 0])


def _blocks_within_reach(size: int, reach: int) -> list[tuple[slice, slice]]:
    """Slices of an axis, each with the slice that lies within its reach."""
    step = 16 if size <= LONGEST_SMALL else 32
    step = size if 2 * reach + step >= size else step
    return [
        (slice(at, at + step), slice(max(at - reach, 0), at + step + reach))
        for at in range(0, size, step)
    ]


def _mirrored_gaussian_matrices(deviation: Array, size: int, reach: int) -> Array:
    """Symmetric matrices (n, 1, size, size) that smooth one axis; no Gaussian exceeds the reach.

    A mirrored row of pixels repeats after twice its length, so the kernel is first summed over
    all its repetitions.
    """
    xp, period = array_namespace(deviation), 2 * size
    turns = math.ceil(reach / period)
    at = xp.arange(-turns * period, (turns + 1) * period, device=device(deviation))
    at = xp.astype(at, deviation.dtype)
    inside = xp.abs(at) <= xp.floor(_ELASTIC_TRUNCATE * deviation + 0.5)
    weights = xp.exp(at * at / (-2 * deviation * deviation)) * xp.astype(inside, deviation.dtype)
    kernel = xp.sum(xp.reshape(weights, (len(deviation), -1, period)), axis=1)
    kernel = kernel / xp.sum(kernel, axis=1, keepdims=True)
    here = xp.arange(size, device=device(deviation))
    straight, mirrored = here[None, :] - here[:, None], -1 - here[None, :] - here[:, None]
    matrix = xp.take(kernel, xp.reshape(straight % period, (-1,)), axis=1)
    matrix = matrix + xp.take(kernel, xp.reshape(mirrored % period, (-1,)), axis=1)
    return xp.reshape(matrix, (len(deviation), 1, size, size))
