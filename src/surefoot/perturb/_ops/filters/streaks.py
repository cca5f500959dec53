"""Motion blur as in ImageMagick: one-sided, along one line for each row."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.perturb._ops.arrays import place_like
from surefoot.perturb._ops.filters.convolution import fast_size
from surefoot.perturb._ops.filters.matrices import multiply_axes
from surefoot.subject.protocols import Array


def nearest_pixel_line_kernels(
    radius: Any,  # noqa: ANN401  a number, or one for each row
    sigma: Any,  # noqa: ANN401  a number, or one for each row
    angle: Array,
    rows: range,
    columns: range,
) -> Array:
    """Weights (n, rows, columns) of the pixels at these offsets from the one that is blurred.

    Taps i = 0 … 2 · radius lie i pixels from it in the direction of `angle` (n,), in radians from
    the right towards below, each at its nearest pixel (halves go down, as in ImageMagick). The
    weights are exp(-i² / 2 sigma²), scaled to sum to 1. Between two whole radii the last tap
    fades. Radius and sigma are numbers, or arrays with one for each row.
    """
    xp = array_namespace(angle)
    taps = max(abs(rows.start), abs(rows.stop - 1), abs(columns.start), abs(columns.stop - 1))
    i = place_like(np.arange(taps + 1, dtype=np.float32), angle)[None]
    weights = xp.exp(-0.5 * (i / _as_column(sigma, xp)) ** 2) * xp.clip(
        2 * _as_column(radius, xp) + 1 - i, 0, 1
    )
    weights = weights / xp.sum(weights, axis=-1, keepdims=True)
    down = xp.ceil(i * xp.sin(angle)[:, None] - 0.5)
    right = xp.ceil(i * xp.cos(angle)[:, None] - 0.5)
    lines = place_like(np.asarray(rows, dtype=np.float32), angle)[None, :, None]
    posts = place_like(np.asarray(columns, dtype=np.float32), angle)[None, None, :]
    there = xp.astype(lines == down[:, None, :], xp.float32) * weights[:, None, :]
    return xp.matmul(there, xp.astype(right[:, :, None] == posts, xp.float32))


def _as_column(value: Any, xp: Any) -> Any:  # noqa: ANN401  a number, or one for each row
    """One number, or a column with one for each row."""
    return value if isinstance(value, int | float) else xp.reshape(value, (-1, 1))


def blur_downwards(x: Array, radius: Any, sigma: Any, angle: Array, longest: float) -> Array:  # noqa: ANN401  a number, or one for each row
    """Layers (n, 1, height, width) blurred along lines that come from above, edges repeated.

    Angles are in radians, between -135 and -45 degrees; no radius exceeds `longest`. By the Fourier
    transform: what wraps around lies outside of the result.
    """
    high = math.ceil(2 * longest)
    wide = math.ceil(high * math.sqrt(0.5) + 0.5)
    kernels = nearest_pixel_line_kernels(
        radius, sigma, angle, range(-high, 1), range(-wide, wide + 1)
    )
    height, width = x.shape[-2:]
    whole = pad_with_edges(x, high, wide, 0)
    return correlate(whole, kernels[:, None], (height, width))


def correlate(x: Array, kernels: Array, size: tuple[int, int]) -> Array:
    """The correlation of images with kernels, the first `size` positions, all inside the image.

    Kernels are small: two matrix products are faster than their Fourier transform.
    """
    xp = array_namespace(x)
    tall, wide = (fast_size(edge) for edge in x.shape[-2:])
    down = place_like(_fourier_matrix(tall, kernels.shape[-2], tall), x)
    beside = place_like(_fourier_matrix(wide, kernels.shape[-1], wide // 2 + 1), x)
    spectrum = xp.fft.rfftn(x, s=(tall, wide), axes=(-2, -1))
    spectrum *= multiply_axes(xp.astype(kernels, xp.complex64), down[None], beside[None])
    whole = xp.fft.irfftn(spectrum, s=(tall, wide), axes=(-2, -1))
    return whole[..., : size[0], : size[1]]


@functools.lru_cache(maxsize=16)
def _fourier_matrix(period: int, places: int, frequencies: int) -> NDArray[np.complex64]:
    """The conjugate Fourier matrix (frequencies, places) of this period."""
    turns = np.outer(np.arange(frequencies), np.arange(places)) % period
    waves: NDArray[np.complex128] = np.exp(2j * np.pi / period * turns)
    return waves.astype(np.complex64)


def pad_with_edges(x: Array, above: int, beside: int, below: int) -> Array:
    """The image padded with its edge pixels: aa|abc|cc."""
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
