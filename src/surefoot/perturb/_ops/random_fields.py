"""Random fields for fog and frost: plasma fractals and smooth noise, many rows at once."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from surefoot.perturb._ops.filters.matrices import BandMatrix, band_matrix, multiply_axes
from surefoot.subject.protocols import Array, Stream


def plasma_numbers(stream: Stream, n: int, edge: int) -> Array:
    """The random numbers of n plasma maps of this edge (a power of two), for any decay."""
    return stream.uniform((n, max(edge * edge - 1, 1)))


def plasma(numbers: Array, edge: int, decay: Any) -> Array:  # noqa: ANN401  a number, or one for each row
    """Plasma fractals (n, 1, edge, edge) in [0, 1] by the diamond-square algorithm.

    As in the fog of Hendrycks & Dietterich: each new point is the mean of its four neighbours
    (with periodic edges) plus a uniform number in [-a, a]. There the amplitude a is wibble², and
    wibble is divided by `decay` whenever the grid is halved; so a is divided by its square. The
    map is then shifted and scaled to [0, 1]. `decay` is a number or an array (n, 1, 1, 1).
    """
    xp = array_namespace(numbers)
    n = numbers.shape[0]
    field = xp.zeros((n, 1, 1, 1), dtype=xp.float32, device=numbers.device)
    amplitude, begin, points = 1.0, 0, 1
    while points < edge:
        count = points * points
        noise = [
            xp.reshape(
                numbers[:, begin + i * count : begin + (i + 1) * count], (n, 1, points, points)
            )
            for i in range(3)
        ]
        field = _refine_grid(field, noise, amplitude)
        begin, points, amplitude = begin + 3 * count, 2 * points, amplitude / (decay * decay)
    field -= xp.min(field, axis=(2, 3), keepdims=True)
    top = xp.max(field, axis=(2, 3), keepdims=True)
    field /= xp.where(top > 0, top, xp.ones_like(top))
    return field


def _refine_grid(corners: Array, noise: list[Array], amplitude: Any) -> Array:  # noqa: ANN401  a number, or one for each row
    """The grid with one more point between any two: first squares, then diamonds."""
    xp = array_namespace(corners)
    n, _, points, _ = corners.shape
    centres = corners + xp.roll(corners, -1, axis=2)
    centres = _mean_plus_noise(centres + xp.roll(centres, -1, axis=3), noise[0], amplitude)
    fine = xp.empty((n, 1, 2 * points, 2 * points), dtype=xp.float32, device=corners.device)
    fine[:, :, 0::2, 0::2] = corners
    fine[:, :, 1::2, 1::2] = centres
    above = corners + xp.roll(corners, -1, axis=3) + centres + xp.roll(centres, 1, axis=2)
    fine[:, :, 0::2, 1::2] = _mean_plus_noise(above, noise[1], amplitude)
    aside = corners + xp.roll(corners, -1, axis=2) + centres + xp.roll(centres, 1, axis=3)
    fine[:, :, 1::2, 0::2] = _mean_plus_noise(aside, noise[2], amplitude)
    return fine


def _mean_plus_noise(total: Array, noise: Array, amplitude: Any) -> Array:  # noqa: ANN401  a number, or one for each row
    """A quarter of the sum, plus noise between -amplitude and amplitude; overwrites `total`."""
    total *= 0.25
    total -= amplitude
    total += noise * (2 * amplitude)
    return total


def smooth_noise(stream: Stream, n: int, shape: tuple[int, int], cell: float) -> Array:
    """Smooth normal noise (n, 1, height, width) of deviation about 1, varying over `cell` pixels.

    Random heights on a grid, interpolated by cubic B-splines.
    """
    rows, columns = _spline_matrix(shape[0], cell), _spline_matrix(shape[1], cell)
    grid = stream.normal((n, 1, rows.matrix.shape[2], columns.matrix.shape[2]))
    return multiply_axes(grid, rows, columns)


@functools.lru_cache(maxsize=64)
def _spline_matrix(n: int, cell: float) -> BandMatrix:
    """Weights (n, grid) of the cubic B-spline, scaled so that the deviation stays about 1."""
    place = np.arange(n) / cell
    grid = np.arange(math.floor((n - 1) / cell) + 4) - 1
    far = np.abs(place[:, None] - grid)
    near = np.clip(2 - far, 0, None) ** 3 / 6 - 4 * np.clip(1 - far, 0, None) ** 3 / 6
    return band_matrix((near / 0.692)[None].astype(np.float32))
