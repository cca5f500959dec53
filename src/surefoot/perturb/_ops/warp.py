"""Images resampled at given coordinates: what every geometric perturbation uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.perturb._ops.edges import (
    Edge,
    Images,
    blend_in_place,
    cache_sized_pieces,
    fold_coordinates,
    split_coordinates,
)
from surefoot.perturb._ops.separable_resample import resample_separable
from surefoot.perturb._ops.warp_cpu import compiled_sampler
from surefoot.perturb._ops.warp_gpu import runs_on, warp_on_gpu
from surefoot.subject.protocols import Array

Places = NDArray[np.intp]
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
        _warp_in_pieces(_warp_with_own_grids, x, ys, xs, edge, out)
    if bounds is not None:
        np.clip(out, bounds.low, bounds.high, out=out)
    return out


def _warp_in_pieces(
    write: Callable[[Images, Images, Images, Edge, Images], None],
    x: Images,
    ys: Images,
    xs: Images,
    edge: Edge,
    out: Images,
) -> None:
    """Write `out` a few images at a time, or a few rows of one where images are large."""
    for some, rows in cache_sized_pieces(len(out), *out.shape[2:]):
        here, tall, wide = (a if len(a) == 1 else a[some] for a in (x, ys, xs))
        wide = wide if wide.shape[1] == 1 else wide[:, rows]
        write(here, tall[:, rows], wide, edge, out[some, :, rows])


def _warp_with_one_grid(x: Images, ys: Images, xs: Images, edge: Edge, out: Images) -> None:
    """All planes of all images at the same coordinates, written to `out`."""
    planes, target = x.reshape(-1, x[0, 0].size), out.reshape(-1, *out.shape[2:])
    for _, rows in cache_sized_pieces(1, *out.shape[2:]):
        wide = xs if xs.shape[1] == 1 else xs[:, rows]
        index, down, right = _locate(ys[:, rows], wide, x.shape[2:], edge)
        for cut, _ in cache_sized_pieces(len(planes), *index.shape[1:]):
            some = planes[cut]

            def at(offset: int, some: Images = some, index: Places = index) -> Images:
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
) -> tuple[Places, Images, Images]:
    """Index in the flat image of the pixel up and left of each point, and the fractions."""
    top, down = split_coordinates(ys, size[0], edge)
    left, right = split_coordinates(xs, size[1], edge)
    top *= np.int32(size[1])
    return (top + left).astype(np.intp), down, right


def _blend_neighbours(
    at: Callable[[int], Images],
    size: tuple[int, ...],
    down: Images,
    right: Images,
    out: Images,
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
