"""A Gaussian filter whose edges are mirrored, edge pixel twice, with a deviation for each row."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from array_api_compat import array_namespace, device

from surefoot.perturb._ops.filters.matrices import BandMatrix, band_matrix, multiply_axes
from surefoot.perturb._ops.severity import LONGEST_SMALL
from surefoot.subject.protocols import Array

_TRUNCATE = 3.0
"""Deviations after which the Gaussian is cut off, as in the published elastic distortion."""


def filter_reach(deviation: float) -> int:
    """How many pixels the Gaussian of this deviation goes to either side."""
    return int(_TRUNCATE * deviation + 0.5)


def mirrored_gaussian_filter(fields: Array, deviation: Array, reach: int) -> Array:
    """Fields (n, 2, height, width) under a Gaussian of one deviation for each row.

    A product of matrices along each axis, block by block: most of a matrix is zero when the
    Gaussian has a short reach.
    """
    xp, (height, width) = array_namespace(fields), fields.shape[2:]
    if len(deviation) == 1 and (isinstance(fields, np.ndarray) or fields.device.type == "cpu"):
        one = float(deviation[0, 0, 0])
        return multiply_axes(
            fields, _band_matrix(one, height, reach), _band_matrix(one, width, reach)
        )
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
    return band_matrix(
        _mirrored_gaussian_matrices(np.full((1, 1, 1), deviation, dtype=np.float32), size, reach)[
            :, 0
        ]
    )


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
    inside = xp.abs(at) <= xp.floor(_TRUNCATE * deviation + 0.5)
    weights = xp.exp(at * at / (-2 * deviation * deviation)) * xp.astype(inside, deviation.dtype)
    kernel = xp.sum(xp.reshape(weights, (len(deviation), -1, period)), axis=1)
    kernel = kernel / xp.sum(kernel, axis=1, keepdims=True)
    here = xp.arange(size, device=device(deviation))
    straight, mirrored = here[None, :] - here[:, None], -1 - here[None, :] - here[:, None]
    matrix = xp.take(kernel, xp.reshape(straight % period, (-1,)), axis=1)
    matrix = matrix + xp.take(kernel, xp.reshape(mirrored % period, (-1,)), axis=1)
    return xp.reshape(matrix, (len(deviation), 1, size, size))
