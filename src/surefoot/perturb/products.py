"""Products of pictures with matrices, one a picture: a row never depends on how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.subject import Array

_LINES = 32


def placed(values: NDArray[Any], like: Array) -> Array:
    """A NumPy array in the namespace and on the device of `like`, its rows in one piece."""
    return array_namespace(like).asarray(np.ascontiguousarray(values), device=device(like))


def between(x: Array, across: Array, along: Array) -> Array:
    """`across` · picture · `along` for each picture (n, channels, height, width).

    The matrices are one for all rows, or one each.
    """
    xp = array_namespace(x)
    left, right = _stacked(across, x), _stacked(along, x)
    (tall, high), (wide, broad) = left.shape[-2:], right.shape[-2:]
    if high * broad * (wide + tall) < tall * wide * (high + broad):
        return xp.matmul(left, xp.matmul(x, right))
    return xp.matmul(xp.matmul(left, x), right)


def _stacked(matrix: Array, x: Array) -> Array:
    """The matrix once a picture, without copies: a lone matrix would make one big product."""
    xp = array_namespace(x)
    return xp.broadcast_to(matrix, (*x.shape[:2], *matrix.shape[-2:]))


@dataclass(frozen=True, eq=False)
class Strip:
    """Some lines of a matrix, less the columns that are empty before and after."""

    inputs: slice
    weights: NDArray[np.float32]


def strips(matrix: NDArray[np.floating]) -> tuple[Strip, ...]:
    """A matrix (out, in) as strips of 32 lines: far from its diagonal a filter is empty."""
    lines = len(matrix) if len(matrix) <= 2 * _LINES else _LINES
    found = []
    for begin in range(0, len(matrix), lines):
        part = matrix[begin : begin + lines]
        used = np.flatnonzero(part.any(axis=0))
        inputs = slice(int(used[0]), int(used[-1]) + 1)
        found.append(Strip(inputs, np.ascontiguousarray(part[:, inputs], dtype=np.float32)))
    return tuple(found)


def filtered(x: Array, across: tuple[Strip, ...], along: tuple[Strip, ...]) -> Array:
    """Pictures (n, channels, height, width) under one filter for columns and one for rows."""
    xp = array_namespace(x)
    columns = [
        xp.matmul(_stacked(placed(strip.weights, x), x), x[:, :, strip.inputs, :])
        for strip in across
    ]
    tall = columns[0] if len(columns) == 1 else xp.concat(columns, axis=2)
    rows = [
        xp.matmul(tall[..., strip.inputs], _stacked(placed(strip.weights.T, x), x))
        for strip in along
    ]
    return rows[0] if len(rows) == 1 else xp.concat(rows, axis=3)


def framed(x: Array, above: int, beside: int, below: int) -> Array:
    """The picture with its edges repeated outwards by so many pixels: aa|abc|cc."""
    xp = array_namespace(x)
    height, width = x.shape[-2:]
    size = (*x.shape[:2], above + height + below, beside + width + beside)
    whole = xp.empty(size, dtype=x.dtype, device=device(x))
    across = slice(beside, beside + width)
    whole[..., above : above + height, across] = x
    whole[..., :above, across] = x[..., :1, :]
    whole[..., above + height :, across] = x[..., -1:, :]
    whole[..., :beside] = whole[..., beside : beside + 1]
    whole[..., beside + width :] = whole[..., beside + width - 1 : beside + width]
    return whole
