"""Images under kernels of few taps, such as lines: summed tap by tap, by compiled code or NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.compiled.library import BESIDE, compiled_library
from surefoot.perturb._ops.filters.convolution import convolve, mirror_indices
from surefoot.subject.protocols import Array

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
    blur = compiled.blur
    long, whole, place = ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p
    blur.restype = None
    blur.argtypes = [place] * 8 + [long, long, whole, whole, whole, whole, long]

    def summed(x: Images, kernels: Images, centre: tuple[int, int]) -> Images:
        x = np.ascontiguousarray(x)
        (channels, height, width), n = x.shape[1:], max(len(x), len(kernels))
        down, across = _frame(x.shape, kernels.shape, centre)
        weights, offsets, first = _taps(np.broadcast_to(kernels, (n, *kernels.shape[1:])), across)
        frame = np.empty((len(down), len(across)), dtype=np.float32)
        out: Images = np.empty((n, channels, height, width), dtype=np.float32)
        arrays = (out, x, frame, down, across, weights, offsets, first)
        blur(
            *(array.ctypes.data for array in arrays), n, channels, height, width, *frame.shape,
            0 if len(x) == 1 else x[0].size,
        )  # fmt: skip
        return out

    return summed


def _taps(
    kernels: Images, across: NDArray[np.int32]
) -> tuple[Images, NDArray[np.int32], NDArray[np.int32]]:
    """Weights and offsets in the frame of all taps but zeros, and where each kernel's begin."""
    n, high, wide = kernels.shape
    flat = np.ascontiguousarray(kernels).reshape(n, -1)
    rows, places = np.divmod(np.flatnonzero(flat), flat.shape[1])
    offsets = np.arange(high - 1, -1, -1)[:, None] * len(across) + np.arange(wide - 1, -1, -1)
    first = np.searchsorted(rows, np.arange(n + 1))
    return flat[rows, places], offsets.reshape(-1).astype(np.int32)[places], first.astype(np.int32)


def _frame(
    shape: tuple[int, ...], kernel: tuple[int, ...], centre: tuple[int, int]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rows and the columns of an image that a frame around it shows, edges mirrored."""
    down, across = (
        mirror_indices(size, length - 1 - middle, middle).astype(np.int32)
        for size, length, middle in zip(shape[2:], kernel[1:], centre, strict=True)
    )
    return down, across
