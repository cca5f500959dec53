"""Images under a kernel for each row, edges mirrored: by Fourier transform, or tap by tap."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, reduce
from itertools import product
from operator import iadd
from pathlib import Path

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.compiled.library import BESIDE, compiled_library
from surefoot.perturb._ops.arrays import Floats, place_like
from surefoot.subject.protocols import Array, HostArray

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
    few, spare = high * wide <= _FEW_TAPS, 0
    if isinstance(x, np.ndarray) and not few:
        spare = _next_multiple(x.shape[2], _LANES) - x.shape[2]
    padded = pad_mirrored(x, (high - 1 - top, top + spare), (wide - 1 - left, left))
    if few:
        return _convolve_by_taps(padded, kernels, x)
    if isinstance(x, np.ndarray):
        return _convolve_by_numpy_fft(padded, kernels, x)
    return _convolve_by_fft(padded, kernels)


def _convolve_by_taps(padded: Array, kernels: Array, x: Array) -> Array:
    """The sum of shifted images, each times its tap."""
    _, high, wide = kernels.shape
    height, width = x.shape[-2:]
    parts = (
        padded[:, :, high - 1 - a : high - 1 - a + height, wide - 1 - b : wide - 1 - b + width]
        * kernels[:, a, b, None, None, None]
        for a, b in product(range(high), range(wide))
    )
    return reduce(iadd, parts)


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
    whole: HostArray = np.fft.irfft(half, n=columns, axis=-1)
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


def pad_mirrored(x: Array, high: tuple[int, int], wide: tuple[int, int]) -> Array:
    """Images with so many mirrored rows above and below and columns left and right, edges once."""
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
    from scipy.fft import next_fast_len

    return int(next_fast_len(n, real=True))


def disk_kernels(radii: Floats, deviations: Floats, half: int) -> NDArray[np.float32]:
    """(n, 2 · half + 1, 2 · half + 1): disks whose rim is softened by a small Gaussian.

    A pixel at distance d of the centre counts 1 up to the radius r and falls to 0 as d² grows
    from r² to r² + 3/4: continuous in r, and exactly the pixels with d ≤ r at every published
    radius. The Gaussian has 3 taps up to radius 8 and 5 at radius 10.
    """
    i = np.arange(-half, half + 1)
    squares = (i[:, None] ** 2 + i**2)[None]
    r = radii[:, None, None]
    disk = np.clip(1 - (squares - r**2) * (4 / 3), 0, 1)
    steps = np.abs(i[:, None] - i)[None]
    soft = np.exp(-0.5 * (steps / np.maximum(deviations, 1e-3)[:, None, None]) ** 2)
    soft *= np.where(steps < 2, 1.0, np.where(steps == 2, np.clip((r - 8) / 2, 0, 1), 0.0))
    kernel = np.matmul(np.matmul(soft, disk), soft)
    return np.asarray(kernel / kernel.sum(axis=(1, 2), keepdims=True), dtype=np.float32)


def line_taps(radii: Floats, deviations: Floats, count: int) -> NDArray[np.float32]:
    """(n, count): one-sided Gaussian weights at 0, 1, 2, … pixels, 2 · radius + 1 of them."""
    steps = np.arange(count)
    taps = np.exp(-0.5 * (steps / np.maximum(deviations, 1e-3)[:, None]) ** 2)
    taps *= np.clip(2 * radii[:, None] + 1 - steps, 0, 1)
    return np.asarray(taps / np.cumsum(taps, axis=1)[:, -1:], dtype=np.float32)


def line_kernels(angles: Array, taps: NDArray[np.float32]) -> Array:
    """(n, 2 · half + 1, count): taps laid from the right edge of the middle row, to the left.

    Angles (n,) in radians within ±45°, so half = ceil((count - 1) · sin 45°). A tap between pixels
    is shared among its four neighbours.
    """
    xp = array_namespace(angles)
    count = taps.shape[1]
    half = line_reach(count)
    steps = place_like(np.arange(count, dtype=np.float32), angles)
    heights = place_like(np.arange(-half, half + 1, dtype=np.float32), angles)
    away = steps * xp.cos(angles)[:, None]
    up = steps * xp.sin(angles)[:, None]  # an image read from below moves up
    across = _linear_weights(xp.flip(steps)[None, :, None] - away[:, None, :])
    down = _linear_weights(heights[None, :, None] + up[:, None, :])
    down *= place_like(taps, angles)[:, None, :]
    return xp.matmul(down, xp.permute_dims(across, (0, 2, 1)))


def line_reach(count: int) -> int:
    """Pixels above and below the middle that a line of so many taps can reach."""
    return math.ceil((count - 1) * math.sqrt(0.5))


def _linear_weights(apart: Array) -> Array:
    xp = array_namespace(apart)
    return xp.clip(1 - xp.abs(apart), 0, 1)


Images = NDArray[np.float32]
Summer = Callable[[Images, Images, tuple[int, int]], Images]


def sum_taps(x: Array, kernels: Array, centre: tuple[int, int]) -> Array:
    """`convolve` with kernels most of whose taps are 0; in main memory these cost nothing.

    A row is the same in any batch. On a GPU, and where a gradient is needed, it goes by the Fourier
    transform.
    """
    if isinstance(x, np.ndarray):
        return _sum_on_host(x, kernels, centre)
    if device(x).type == "cpu" and not (x.requires_grad or kernels.requires_grad):
        return array_namespace(x).from_numpy(_sum_on_host(x.numpy(), kernels.numpy(), centre))
    return convolve(x, kernels, centre)


def _sum_on_host(x: Images, kernels: Images, centre: tuple[int, int]) -> Images:
    compiled = compiled_tap_sum()
    if compiled is None or x.dtype != np.float32 or kernels.dtype != np.float32:
        return tap_sum_by_numpy(x, kernels, centre)
    return compiled(x, kernels, centre)


def tap_sum_by_numpy(x: Images, kernels: Images, centre: tuple[int, int]) -> Images:
    """The sum of shifted images, each times its tap, image by image."""
    (channels, height, width), n = x.shape[1:], max(len(x), len(kernels))
    down, across = _frame(x.shape, kernels.shape, centre)
    frames = x.take(down, axis=2).take(across, axis=3)
    out: Images = np.zeros((n, channels, height, width), dtype=x.dtype)
    for k in range(n):
        frame, kernel = frames[k % len(x)], kernels[k % len(kernels)]
        for a, b in np.argwhere(kernel).tolist():
            top, left = kernel.shape[0] - 1 - a, kernel.shape[1] - 1 - b
            out[k] += frame[:, top : top + height, left : left + width] * kernel[a, b]
    return out


@lru_cache(maxsize=4)
def compiled_tap_sum(library: Path = BESIDE) -> Summer | None:
    """The same in compiled code, bit for bit; None where there is none."""
    compiled = compiled_library(library)
    if compiled is None:
        return None

    def summed(x: Images, kernels: Images, centre: tuple[int, int]) -> Images:
        x = np.ascontiguousarray(x)
        (channels, height, width), n = x.shape[1:], max(len(x), len(kernels))
        down, across = _frame(x.shape, kernels.shape, centre)
        # All taps but zeros, their offsets in the frame, and where those of each kernel begin.
        high, wide = kernels.shape[1:]
        flat = np.ascontiguousarray(np.broadcast_to(kernels, (n, high, wide))).reshape(n, -1)
        rows, places = np.divmod(np.flatnonzero(flat), flat.shape[1])
        offsets = np.arange(high - 1, -1, -1)[:, None] * len(across) + np.arange(wide - 1, -1, -1)
        offsets = offsets.reshape(-1).astype(np.int32)[places]
        first = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
        frame = np.empty((len(down), len(across)), dtype=np.float32)
        out: Images = np.empty((n, channels, height, width), dtype=np.float32)
        arrays = (out, x, frame, down, across, flat[rows, places], offsets, first)
        compiled.blur(
            *(array.ctypes.data for array in arrays), n, channels, height, width, *frame.shape,
            0 if len(x) == 1 else x[0].size,
        )  # fmt: skip
        return out

    return summed


def _frame(
    shape: tuple[int, ...], kernel: tuple[int, ...], centre: tuple[int, int]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rows and the columns of an image that a frame around it shows, edges mirrored."""
    down, across = (
        mirror_indices(size, length - 1 - middle, middle).astype(np.int32)
        for size, length, middle in zip(shape[2:], kernel[1:], centre, strict=True)
    )
    return down, across
