"""Images resampled at coordinates that are folded into them, for every geometric perturbation."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.compiled.gpu import launch
from surefoot.compiled.library import BESIDE, compiled_library
from surefoot.core.results import Interval
from surefoot.perturb._ops.definition import Choices
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


EDGES: Choices = {"edge": tuple(Edge)}
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


Places = NDArray[np.int32]


def resample_separable(x: Images, ys: Images, xs: Images, edge: Edge, out: Images) -> None:
    """Interpolate between columns, then between rows; written to `out`.

    Rows are at ys (n or 1, rows, 1), columns at xs (n or 1, 1, columns).
    """
    if len(ys) == len(xs) == 1:  # every plane can then be an image of its own
        x, out = x.reshape(-1, 1, *x.shape[2:]), out.reshape(-1, 1, *out.shape[2:])
    top, down = split_coordinates(ys[:, None], x.shape[2], edge)
    left, right = split_coordinates(xs[:, None], x.shape[3], edge)
    across, along = not _in_order(left, right), not _in_order(top, down)
    stretch = _longest(left[0, 0, 0]) if len(left) == 1 else slice(0, 0)
    for _, rows in cache_sized_pieces(1, *out.shape[2:]):
        tops, shares = top[:, :, rows], down[:, :, rows]
        first = int(tops.min())
        needed, tops = x[:, :, first : int(tops.max()) + 2], tops - first
        for some, _ in cache_sized_pieces(len(out), tops.shape[2], out.shape[3]):
            here, target = _part(needed, some), out[some, :, rows]
            if across:
                here = _between_columns(here, _part(left, some), _part(right, some), stretch)
            if along:
                _between_rows(here, _part(tops, some), _part(shares, some), target)
            else:
                target[...] = here[:, :, : tops.shape[2]]


def _part(array: Array, some: slice) -> Array:
    """These rows of an array, or its only one."""
    return array if len(array) == 1 else array[some]


def _in_order(whole: Places, beyond: Images) -> bool:
    """Whether the coordinates along an axis are exactly 0, 1, 2, …"""
    flat = whole.reshape(len(whole), -1)
    return not beyond.any() and bool((flat == np.arange(flat.shape[1])).all())


def _longest(at: Places) -> slice:
    """The longest slice in which each index is one more than the index before."""
    ends = np.concatenate(([0], np.flatnonzero(np.diff(at) != 1) + 1, [len(at)]))
    longest = int(np.argmax(np.diff(ends)))
    return slice(int(ends[longest]), int(ends[longest + 1]))


def _between_columns(x: Images, left: Places, right: Images, stretch: slice) -> Images:
    """Interpolation between columns; those in `stretch` are consecutive."""
    here: Images
    if len(left) > 1:
        starts = np.arange(x.size // x.shape[3]).reshape(*x.shape[:3], 1) * x.shape[3]
        at, flat = starts + left, x.reshape(-1)
        here, other = flat.take(at, mode="clip"), flat[1:].take(at, mode="clip")
    elif 2 * (stretch.stop - stretch.start) > left.size:
        here, other = (_columns(x, left[0, 0, 0] + beyond, stretch) for beyond in (0, 1))
    else:
        here, other = (x.take(left[0, 0, 0] + beyond, axis=3, mode="clip") for beyond in (0, 1))
    blend_in_place(here, other, right)
    return here


def _columns(x: Images, at: Places, stretch: slice) -> Images:
    """These columns, those of the stretch in one copy; indices beyond the last mean the last."""
    columns = np.empty((*x.shape[:3], len(at)), dtype=x.dtype)
    begin, end = stretch.start, min(stretch.stop, stretch.start + x.shape[3] - int(at[stretch][0]))
    columns[..., begin:end] = x[..., at[begin] : at[end - 1] + 1]
    for rest in (slice(begin), slice(end, None)):
        columns[..., rest] = x.take(at[rest], axis=3, mode="clip")
    return columns


def _between_rows(x: Images, top: Places, down: Images, out: Images) -> None:
    """Interpolation between rows, written to `out`."""
    planes = np.arange(len(x) * x.shape[1]).reshape(len(x), -1, 1, 1) * x.shape[2]
    index, lines = (planes + top)[..., 0], x.reshape(-1, x.shape[3])
    upper = lines.take(index, axis=0, mode="clip")
    lower = lines.take(index + 1, axis=0, mode="clip")
    lower -= upper
    lower *= down
    np.add(upper, lower, out=out)


Sampler = Callable[[Images, Images, Images | None, Edge, Interval | None], Images]

_Steps = ctypes.c_ssize_t * 3


@lru_cache(maxsize=4)
def compiled_sampler(library: Path = BESIDE) -> Sampler | None:
    """The compiled sampler, or None where there is none of exactly this source."""
    compiled = compiled_library(library)
    if compiled is None:
        return None
    sample = compiled.sample
    long, whole, real, place = ctypes.c_ssize_t, ctypes.c_int, ctypes.c_float, ctypes.c_void_p
    sample.restype = None
    sample.argtypes = [
        place, place, place, place, long, long, whole, whole, whole, whole, long, _Steps, _Steps,
        whole, real, real, real,
    ]  # fmt: skip

    def sampled(
        x: Images, ys: Images, xs: Images | None, edge: Edge, bounds: Interval | None
    ) -> Images:
        """`x` (contiguous) at rows ys and columns xs; the edge is not black.

        Without xs, ys (n or 1, 3, height + width) are the numbers of perspectives: see `sampler.c`.
        """
        n, (channels, height, width) = max(len(x), len(ys)), x.shape[1:]
        if xs is None:
            rows, columns, steps = height, width, (_Steps(_steps(ys)[0], 0, 1), _Steps(0, 0, 1))
        else:
            n, rows, columns = max(n, len(xs)), ys.shape[1], xs.shape[2]
            steps = _steps(ys), _steps(xs)
        out: Images = np.empty((n, channels, rows, columns), dtype=np.float32)
        low, high = (-math.inf, math.inf) if bounds is None else (bounds.low, bounds.high)
        sample(
            out.ctypes.data, x.ctypes.data, ys.ctypes.data, None if xs is None else xs.ctypes.data,
            n, channels, height, width, rows, columns, 0 if len(x) == 1 else x[0].size, *steps,
            edge in (Edge.MIRROR, Edge.SYMMETRIC), 0.5 * (edge is Edge.SYMMETRIC), low, high,
        )  # fmt: skip
        return out

    return sampled


def _steps(at: Images) -> ctypes.Array[ctypes.c_ssize_t]:
    """Numbers from one grid, row and column to the next; 0 where there is one for all."""
    sizes = zip(at.shape, at.strides, strict=True)
    return _Steps(*(0 if count == 1 else step // at.itemsize for count, step in sizes))


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


Indices = NDArray[np.intp]
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
    """NumPy: the four neighbours are taken by index and blended, some images at a time."""
    n, rows, columns = max(len(x), len(ys), len(xs)), ys.shape[1], xs.shape[2]
    out: Images = np.empty((n, x.shape[1], rows, columns), dtype=x.dtype)
    if ys.shape[2] == 1 and xs.shape[1] == 1:
        resample_separable(x, ys, xs, edge, out)
    elif len(ys) == len(xs) == 1:
        _warp_with_one_grid(x, ys, xs, edge, out)
    else:
        # A few images at a time, or a few rows of one where images are large.
        for some, lines in cache_sized_pieces(n, rows, columns):
            here, tall, wide = (a if len(a) == 1 else a[some] for a in (x, ys, xs))
            wide = wide if wide.shape[1] == 1 else wide[:, lines]
            _warp_with_own_grids(here, tall[:, lines], wide, edge, out[some, :, lines])
    if bounds is not None:
        np.clip(out, bounds.low, bounds.high, out=out)
    return out


def _warp_with_one_grid(x: Images, ys: Images, xs: Images, edge: Edge, out: Images) -> None:
    """All planes of all images at the same coordinates, written to `out`."""
    planes, target = x.reshape(-1, x[0, 0].size), out.reshape(-1, *out.shape[2:])
    for _, rows in cache_sized_pieces(1, *out.shape[2:]):
        wide = xs if xs.shape[1] == 1 else xs[:, rows]
        index, down, right = _locate(ys[:, rows], wide, x.shape[2:], edge)
        for cut, _ in cache_sized_pieces(len(planes), *index.shape[1:]):
            some = planes[cut]

            def at(offset: int, some: Images = some, index: Indices = index) -> Images:
                if len(some) == 1:  # for one plane a slice is faster than another index
                    return some[0, offset:].take(index, mode="clip")
                return cast("Images", some.take(index[0] + offset, axis=1, mode="clip"))

            _blend_neighbours(at, x.shape[2:], down, right, target[cut, rows])


def _warp_with_own_grids(x: Images, ys: Images, xs: Images, edge: Edge, out: Images) -> None:
    """Each image, or the only one, at its own coordinates, written to `out`."""
    index, down, right = _locate(ys, xs, x.shape[2:], edge)
    size = x[0, 0].size
    if len(x) > 1:
        index += (np.arange(len(x)) * x[0].size)[:, None, None]
    for channel in range(x.shape[1]):
        flat = x.reshape(-1)[channel * size :]

        def at(offset: int, flat: Images = flat) -> Images:
            return flat[offset:].take(index, mode="clip")

        _blend_neighbours(at, x.shape[2:], down, right, out[:, channel])


def _locate(
    ys: Images, xs: Images, size: tuple[int, ...], edge: Edge
) -> tuple[Indices, Images, Images]:
    """Index in the flat image of the pixel up and left of each point, and the fractions."""
    top, down = split_coordinates(ys, size[0], edge)
    left, right = split_coordinates(xs, size[1], edge)
    top *= np.int32(size[1])
    return (top + left).astype(np.intp), down, right


def _blend_neighbours(
    at: Callable[[int], Images], size: tuple[int, ...], down: Images, right: Images, out: Images
) -> None:
    """Interpolate between four neighbours by the fractions `down` and `right`, into `out`.

    `at(offset)` gives the pixels at this offset of the flat image. A neighbour beyond the last row
    or column has weight 0, whatever value is taken for it.
    """
    below, beside = size[1] * (size[0] > 1), int(size[1] > 1)
    upper, other = at(0), at(beside)
    if not down.any():
        other -= upper
        other *= right
        np.add(upper, other, out=out)
        return
    blend_in_place(upper, other, right)
    lower = at(below)
    blend_in_place(lower, at(below + beside), right)
    lower -= upper
    lower *= down
    np.add(upper, lower, out=out)


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
