"""Convolution of images with a kernel for each row."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.subject.protocols import Array

_FEW_TAPS = 9
"""Taps of a kernel up to which it is summed tap by tap."""
_LANES = 8
"""Lines that NumPy transforms at once."""


def convolve(x: Array, kernels: Array, centre: tuple[int, int] | None = None) -> Array:
    """Images (n or 1, channels, height, width) under kernels (n or 1, odd, odd), edges mirrored.

    One image may be combined with many kernels, and many images with one kernel. `centre` is the
    row and column of a kernel that lies on the pixel itself, by default its middle; with it a
    kernel may have any size. Kernels of few taps are summed tap by tap; others go by the Fourier
    transform, where the size of a kernel hardly matters.
    """
    high, wide = kernels.shape[1:]
    top, left = (high // 2, wide // 2) if centre is None else centre
    below, right = high - 1 - top, wide - 1 - left
    if high * wide <= _FEW_TAPS:
        return _convolve_by_taps(_pad_mirrored(x, (below, top), (right, left)), kernels, x)
    if isinstance(x, np.ndarray):
        spare = _next_multiple(x.shape[2], _LANES) - x.shape[2]
        return _convolve_by_numpy_fft(
            _pad_mirrored(x, (below, top + spare), (right, left)), kernels, x
        )
    return _convolve_by_fft(_pad_mirrored(x, (below, top), (right, left)), kernels)


def pad_mirrored(x: Array, high: int, wide: int) -> Array:
    """The image padded by its mirror image (the edge pixel once)."""
    return _pad_mirrored(x, (high, high), (wide, wide))


def _convolve_by_taps(padded: Array, kernels: Array, x: Array) -> Array:
    """The sum of shifted images, each times its tap."""
    _, high, wide = kernels.shape
    height, width = x.shape[-2:]
    total: Any = None
    for a in range(high):
        for b in range(wide):
            top, left = high - 1 - a, wide - 1 - b
            shifted = padded[:, :, top : top + height, left : left + width]
            part = shifted * kernels[:, a, b, None, None, None]
            if total is None:
                total = part
            else:
                total += part
    return total


def _convolve_by_fft(padded: Array, kernels: Array) -> Array:
    """By the Fourier transform, along one axis after the other, so that zeros cost nothing.

    The transform is as long as the padded image: what wraps around lies in the padding.
    """
    xp = array_namespace(padded)
    _, high, wide = kernels.shape
    tall, broad = padded.shape[-2:]
    rows, columns = fast_size(tall), fast_size(broad)
    of_x = xp.fft.fft(xp.fft.rfft(padded, n=columns, axis=-1), n=rows, axis=-2)
    of_kernel = xp.fft.fft(xp.fft.rfft(kernels, n=columns, axis=-1), n=rows, axis=-2)
    half = xp.fft.ifft(of_x * of_kernel[:, None, :, :], axis=-2)[..., high - 1 : tall, :]
    return xp.fft.irfft(half, n=columns, axis=-1)[..., wide - 1 : broad]


def _convolve_by_numpy_fft(
    padded: NDArray[np.float32], kernels: NDArray[np.float32], x: NDArray[np.float32]
) -> NDArray[np.float32]:
    """`_convolve_by_fft` for NumPy, with every row the same in any batch, bit for bit.

    NumPy transforms several lines at once and rounds the remaining ones differently, and likewise
    at the end of a complex product. So every row gets a whole number of lanes of lines, spare
    ones included, and a product ends after each line.
    """
    _, high, wide = kernels.shape
    height, width = x.shape[-2:]
    columns, rows = fast_size(padded.shape[-1]), fast_size(padded.shape[-2])
    of_x = _spectrum(padded, rows, columns)
    of_kernel = _spectrum(kernels, rows, columns)[:, None, :, :]
    used = columns // 2 + 1
    shape = np.broadcast_shapes(of_x.shape, of_kernel.shape)
    product = np.zeros(shape, dtype=of_x.dtype)
    np.multiply(of_x[..., :used], of_kernel[..., :used], out=product[..., :used])
    half = np.fft.ifft(product, axis=-2)[..., high - 1 :, :used]
    half = half[..., : _next_multiple(height, _LANES), :]
    whole: NDArray[Any] = np.fft.irfft(half, n=columns, axis=-1)
    return whole[..., :height, wide - 1 : wide - 1 + width]


def _spectrum(lines: NDArray[np.float32], rows: int, columns: int) -> NDArray[np.complexfloating]:
    """The transform (…, rows, lanes), with at least one spare column at the end."""
    *outer, tall, broad = lines.shape
    if tall % _LANES:
        full = np.zeros((*outer, _next_multiple(tall, _LANES), broad), dtype=lines.dtype)
        full[..., :tall, :] = lines
        lines = full
    used = columns // 2 + 1
    half = np.zeros((*outer, lines.shape[-2], _next_multiple(used + 1, _LANES)), dtype=np.complex64)
    np.fft.rfft(lines, n=columns, axis=-1, out=half[..., :used])
    return np.fft.fft(half[..., :tall, :], n=rows, axis=-2)


def _next_multiple(n: int, multiple: int) -> int:
    """The next multiple."""
    return -(-n // multiple) * multiple


def _pad_mirrored(x: Array, high: tuple[int, int], wide: tuple[int, int]) -> Array:
    """`pad_mirrored` with these numbers of rows above and below and columns left and right."""
    xp = array_namespace(x)
    for axis, reach in ((2, high), (3, wide)):
        if reach != (0, 0):
            indices = xp.asarray(mirror_indices(x.shape[axis], *reach), device=device(x))
            x = xp.take(x, indices, axis=axis)
    return x


@lru_cache(maxsize=64)
def mirror_indices(n: int, before: int, after: int) -> NDArray[np.int64]:
    """Indices -before … n - 1 + after, folded back into 0 … n - 1: dcb|abcd|cba."""
    period = max(2 * (n - 1), 1)
    folded = np.arange(-before, n + after) % period
    return np.minimum(folded, period - folded) if n > 1 else np.zeros_like(folded)


@lru_cache(maxsize=64)
def fast_size(n: int) -> int:
    """The next size with factors 2, 3 and 5 only, which is fast to transform."""
    while True:
        rest = n
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return n
        n += 1
