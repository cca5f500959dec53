"""Images resampled at coordinates that are folded into them, for every geometric perturbation."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.compiled.gpu import launch
from surefoot.compiled.library import BESIDE, STEPS, compiled_library
from surefoot.core.limits import one_of
from surefoot.core.results import Interval
from surefoot.subject.protocols import Array

_PIECE = 51_200
"""Pixels worked on together, so that the intermediate arrays stay in the processor's cache."""


class Edge(StrEnum):
    """What lies outside of an image."""

    MIRROR = "mirror"
    """The mirrored image, the edge pixel once: dcb|abcd|cba."""
    SYMMETRIC = "symmetric"
    """The mirrored image, the edge pixel twice: cba|abcd|dcb."""
    NEAREST = "nearest"
    """The edge pixel repeated: aaa|abcd|ddd."""
    BLACK = "black"
    """The lowest value."""


EDGES = one_of(*Edge)
Images = NDArray[np.float32]


def blend_in_place(a: Images, b: Images, share: Images) -> None:
    """Move `a` towards `b` by a share of the way; b is overwritten. Share 0 leaves `a` exact."""
    b -= a
    b *= share
    a += b


def cache_sized_pieces(n: int, rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Slices of n planes and of their rows that together hold about `_PIECE` pixels."""
    step = max(1, _PIECE // (rows * columns))
    high = -(-rows // -(-rows * columns // _PIECE))
    for start in range(0, n, step):
        for top in range(0, rows, high):
            yield slice(start, start + step), slice(top, top + high)


def split_coordinates(at: Images, size: int, edge: Edge) -> tuple[NDArray[np.int32], Images]:
    """The whole and the fractional part of coordinates that were folded into the image."""
    beyond = fold_coordinates(at, size, edge)
    whole = np.floor(beyond)
    beyond -= whole
    return whole.astype(np.int32), beyond


def fold_coordinates(at: Array, size: int, edge: Edge) -> Array:
    """Coordinates brought back into 0 … size - 1; a fresh array, those inside unchanged."""
    xp = array_namespace(at)
    if size == 1:
        return xp.zeros_like(at)
    if edge in (Edge.NEAREST, Edge.BLACK):
        return _clip_coordinates(at, size - 1)
    beyond = 0.5 if edge is Edge.SYMMETRIC else 0.0
    low, high = -beyond, size - 1 + beyond
    folded = xp.maximum(at, 2 * low - at) if low else xp.abs(at)
    period = 2 * (high - low)
    far = not isinstance(at, np.ndarray) or folded.max() > high + period / 2
    if far:  # a point within one reflection is not changed by this
        folded -= xp.floor((folded - low) * (1 / period)) * period
    folded = xp.minimum(folded, 2 * high - folded)
    return _clip_coordinates(folded, size - 1) if far or beyond else folded


def _clip_coordinates(at: Array, most: float) -> Array:
    """The array clipped to [0, most]."""
    return np.clip(at, 0.0, most) if isinstance(at, np.ndarray) else at.clamp(0.0, most)


Sampler = Callable[[Images, Images, Images | None, Edge, Interval | None], Images]


@lru_cache(maxsize=4)
def compiled_sampler(library: Path = BESIDE) -> Sampler | None:
    """The compiled sampler, or None where there is none of exactly this source."""
    compiled = compiled_library(library)
    if compiled is None:
        return None

    def sampled(
        x: Images, ys: Images, xs: Images | None, edge: Edge, bounds: Interval | None
    ) -> Images:
        """`x` (contiguous) at rows ys and columns xs; the edge is not black.

        Without xs, ys (n or 1, 3, height + width) are the numbers of perspectives: see `sampler.c`.
        """
        n, (channels, height, width) = max(len(x), len(ys)), x.shape[1:]
        if xs is None:
            rows, columns, steps = height, width, (STEPS(_steps(ys)[0], 0, 1), STEPS(0, 0, 1))
        else:
            n, rows, columns = max(n, len(xs)), ys.shape[1], xs.shape[2]
            steps = _steps(ys), _steps(xs)
        out: Images = np.empty((n, channels, rows, columns), dtype=np.float32)
        low, high = (-math.inf, math.inf) if bounds is None else (bounds.low, bounds.high)
        compiled.sample(
            out.ctypes.data, x.ctypes.data, ys.ctypes.data, None if xs is None else xs.ctypes.data,
            n, channels, height, width, rows, columns, 0 if len(x) == 1 else x[0].size, *steps,
            edge in (Edge.MIRROR, Edge.SYMMETRIC), 0.5 * (edge is Edge.SYMMETRIC), low, high,
        )  # fmt: skip
        return out

    return sampled


def _steps(at: Images) -> ctypes.Array[ctypes.c_ssize_t]:
    """Numbers from one grid, row and column to the next; 0 where there is one for all."""
    sizes = zip(at.shape, at.strides, strict=True)
    return STEPS(*(0 if count == 1 else step // at.itemsize for count, step in sizes))


_THREADS, _MOST_THREADS = 256, 1024
"""Threads of a block of the kernel, each with one pixel of all channels; more of a large image, as
there are at most 65,535 blocks of one."""


def warp_on_gpu(
    x: Array, ys: Array, xs: Array, edge: str, fill: float, bounds: Interval | None
) -> Array:
    """`warp.warp` for float32 on a GPU; `fill` is the value of black."""
    import torch

    x = x.contiguous()
    n = max(len(x), len(ys), len(xs))
    channels, height, width = x.shape[1:]
    rows, columns = ys.shape[1], xs.shape[2]
    ys, xs = ys.expand(n, rows, columns), xs.expand(n, rows, columns)
    out = torch.empty((n, channels, rows, columns), dtype=x.dtype, device=x.device)
    low, high = (0.0, 0.0) if bounds is None else (bounds.low, bounds.high)
    threads = _THREADS if rows * columns < 2**22 else _MOST_THREADS
    of_images = [0 if len(x) == 1 else x.stride(0), ys.stride(0), xs.stride(0)]
    launch(
        "sample", x.device, (n, math.ceil(rows * columns / threads)), threads,
        out, x, ys, xs, *map(ctypes.c_int64, of_images), *ys.stride()[1:], *xs.stride()[1:],
        channels, height, width, rows, columns, fill, 0.5 * (edge == "symmetric"), low, high,
        int(edge in ("mirror", "symmetric")), int(edge == "black"), int(bounds is not None),
    )  # fmt: skip
    return out


@lru_cache(maxsize=8)
def runs_on(device: str) -> bool:
    """Whether the kernel works on this device: tried once, on a small image."""
    try:
        import torch

        x = torch.tensor([[[[0.0, 1.0], [2.0, 3.0]]]], device=device)
        half = torch.full((1, 1, 1), 0.5, device=device)
        out = warp_on_gpu(x, half, half, "mirror", 0.0, None)
        return bool(out.item() == 1.5)
    except Exception:  # noqa: BLE001  another kind of GPU, an old driver
        return False


_HORIZON = 1e-6
"""The least divisor of a place of a perspective: at the horizon it is 0."""


def warp(x: Array, ys: Array, xs: Array, edge: str, bounds: Interval | None) -> Array:
    """Images whose pixel (j, i) shows what was at row ys[j, i] and column xs[j, i] before.

    Bilinear, with the centre of the first pixel at 0; a whole coordinate gives back the very value
    of its pixel. `x` is (n, channels, height, width), the coordinates are (n, rows, columns), and
    each may have one row that meets n of the others. (n, rows, 1) and (n, 1, columns) will do where
    the rows do not depend on the column and the columns not on the row. Values are clipped to the
    bounds, and black is their lower end (0 without bounds). The result is fresh; it has one row
    when all three have.
    """
    how = Edge(edge)
    fill = 0.0 if bounds is None else bounds.low
    if isinstance(x, np.ndarray):
        return _warp_on_host(x, ys, xs, how, fill, bounds)
    if compiled_sampler() is not None and _is_plain_torch(x, ys, xs):
        out = _warp_on_host(x.numpy(), ys.numpy(), xs.numpy(), how, fill, bounds)
        return array_namespace(x).from_numpy(out)
    if x.is_cuda and x.itemsize == 4 and runs_on(str(x.device)):
        return warp_on_gpu(x, ys, xs, how, fill, bounds)
    return _warp_by_grid_sample(x, ys, xs, how, fill, bounds)


def _is_plain_torch(x: Array, *others: Array) -> bool:
    """Whether it is a Torch array of float32 in main memory that no gradient goes through."""
    return (
        not isinstance(x, np.ndarray)
        and x.device.type == "cpu"
        and x.itemsize == 4
        and not any(part.requires_grad for part in (x, *others))
    )


def warp_projected(
    x: Array, rows: Array, columns: Array, edge: str, bounds: Interval | None
) -> Array:
    """`warp` at the places of a perspective.

    For the row of a place, its column and what divides both there is a sum of a number of the row
    of the pixel, in `rows` (n, 3, height), and one of its column, in `columns` (n, 3, width).
    """
    compiled = compiled_sampler()
    if compiled is not None and _is_plain_torch(x, rows, columns):
        on_host = warp_projected(x.numpy(), rows.numpy(), columns.numpy(), edge, bounds)
        return array_namespace(x).from_numpy(on_host)
    plain = isinstance(x, np.ndarray) and x.dtype == rows.dtype == np.float32
    if plain and compiled is not None and edge != Edge.BLACK and x[0, 0].size < 2**31:
        sums = np.concatenate([rows, columns], axis=2)
        return compiled(np.ascontiguousarray(x), sums, None, Edge(edge), bounds)
    return warp(x, *places_of_projection(rows, columns), edge, bounds)


def places_of_projection(rows: Array, columns: Array) -> tuple[Array, Array]:
    """The rows and the columns where each pixel comes from."""
    xp = array_namespace(rows)
    ys, xs, under = (columns[:, i, None, :] + rows[:, i, :, None] for i in range(3))
    down, across = max(under.shape[1] - 1, 1), max(under.shape[2] - 1, 1)
    if not bool(xp.all(under[:, ::down, ::across] > _HORIZON)):  # least at a corner, being linear
        under[xp.abs(under) < _HORIZON] = _HORIZON
    ys /= under
    xs /= under
    return ys, xs


def _warp_on_host(
    x: Images, ys: Images, xs: Images, edge: Edge, fill: float, bounds: Interval | None
) -> Images:
    """In main memory: by compiled code where there is some."""
    if edge is Edge.BLACK:
        x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=fill)
        ys, xs = ys + 1, xs + 1
    x, compiled = np.ascontiguousarray(x), compiled_sampler()
    fits = x.dtype == ys.dtype == xs.dtype == np.float32 and x[0, 0].size < 2**31
    if compiled is not None and fits:
        return compiled(x, ys, xs, edge, bounds)
    return _warp_by_takes(x, ys, xs, edge, bounds)


def _warp_by_takes(
    x: Images, ys: Images, xs: Images, edge: Edge, bounds: Interval | None
) -> Images:
    """NumPy: the four neighbours are taken by index and blended.

    A few images at a time, or a few rows of one where images are large.
    """
    n, rows, columns = max(len(x), len(ys), len(xs)), ys.shape[1], xs.shape[2]
    out: Images = np.empty((n, x.shape[1], rows, columns), dtype=x.dtype)
    for some, lines in cache_sized_pieces(n, rows, columns):
        here, tall, wide = (a if len(a) == 1 else a[some] for a in (x, ys, xs))
        wide = wide if wide.shape[1] == 1 else wide[:, lines]
        _warp_piece(here, tall[:, lines], wide, edge, out[some, :, lines])
    if bounds is not None:
        np.clip(out, bounds.low, bounds.high, out=out)
    return out


def _warp_piece(x: Images, ys: Images, xs: Images, edge: Edge, out: Images) -> None:
    """Each image, or the only one, at its own coordinates or the only ones, written to `out`.

    A neighbour beyond the last row or column has weight 0, whatever value is taken for it.
    """
    height, width = x.shape[2:]
    top, down = split_coordinates(ys, height, edge)
    left, right = split_coordinates(xs, width, edge)
    index = (top * np.int32(width) + left).astype(np.intp)
    if len(x) > 1:
        index = index + (np.arange(len(x)) * x[0].size)[:, None, None]
    below, beside = width * (height > 1), int(width > 1)
    for channel in range(x.shape[1]):
        flat = x.reshape(-1)[channel * height * width :]
        upper, lower = (flat[line:].take(index, mode="clip") for line in (0, below))
        for line, values in ((0, upper), (below, lower)):
            blend_in_place(values, flat[line + beside :].take(index, mode="clip"), right)
        lower -= upper
        lower *= down
        np.add(upper, lower, out=out[:, channel])


def _warp_by_grid_sample(
    x: Array, ys: Array, xs: Array, edge: Edge, fill: float, bounds: Interval | None
) -> Array:
    """Torch: its own sampler, on images padded to a power of two.

    The sampler takes coordinates as shares of the size. With a power of two, whole coordinates
    stay exact.
    """
    import torch

    height, width, frame = x.shape[2], x.shape[3], int(edge is Edge.BLACK)
    tall, wide = _power_of_two(height + 2 * frame), _power_of_two(width + 2 * frame)
    margins = (frame, wide - width - frame, frame, tall - height - frame)
    source = torch.nn.functional.pad(x, margins, value=fill) if any(margins) else x
    down = fold_coordinates(ys + frame, height + 2 * frame, edge) * (2 / tall) + (1 / tall - 1)
    right = fold_coordinates(xs + frame, width + 2 * frame, edge) * (2 / wide) + (1 / wide - 1)
    grid = torch.stack(torch.broadcast_tensors(right, down), dim=-1)
    n, channels = max(len(x), len(grid)), x.shape[1]
    # on a CPU small images with one grid are faster as the channels of one image
    together = len(grid) == 1 and tall * wide <= 4096 and x.device.type == "cpu"
    source = source.reshape(1 if together else len(x), -1, tall, wide)
    rows = 1 if together else n
    source, grid = source.expand(rows, -1, -1, -1), grid.expand(rows, -1, -1, -1)
    out = torch.nn.functional.grid_sample(source, grid, align_corners=False)
    out = out.reshape(n, channels, *grid.shape[1:3])
    return out if bounds is None else out.clamp_(bounds.low, bounds.high)


def _power_of_two(size: int) -> int:
    """The smallest power of two that is not below `size`."""
    return 1 << (size - 1).bit_length()
