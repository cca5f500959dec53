"""Pictures sampled between their pixels: the primitive of every geometric change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import cast

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.perturb.neighbours import Pictures, turned, weighed, weighing
from surefoot.perturb.warp_gpu import sampled, usable
from surefoot.results import Interval
from surefoot.subject import Array

_PIECE = 25_600
"""Pixels worked on together, so that the intermediate arrays stay in the processor's cache."""

Places = NDArray[np.intp]


class Edge(StrEnum):
    """What lies beyond the edge of a picture."""

    MIRROR = "mirror"
    """The picture in a mirror, the edge itself once: dcb|abcd|cba."""
    SYMMETRIC = "symmetric"
    """The picture in a mirror, the edge itself twice: cba|abcd|dcb."""
    NEAREST = "nearest"
    """The pixel at the edge, for ever: aaa|abcd|ddd."""
    BLACK = "black"
    """The lowest value."""


def check_edge(kind: str, edge: str) -> None:
    """Refuse a word that is no edge."""
    if edge not in tuple(Edge):
        raise InvalidArgument(f"{kind}: edge is one of {', '.join(Edge)}, got {edge!r}")


def warped(
    x: Array, ys: Array, xs: Array, edge: str, bounds: Interval | None, *, matrix: bool = False
) -> Array:
    """Pictures whose pixel (j, i) shows what was at row ys[j, i] and column xs[j, i] before.

    Bilinear, with the centre of the first pixel at 0; a whole coordinate gives back the very value
    of its pixel. `x` is (n, channels, height, width), the coordinates are (n, rows, columns), and
    each may have one row that meets n of the others. (n, rows, 1) and (n, 1, columns) will do where
    the rows do not depend on the column and the columns not on the row. Values are clipped to the
    bounds, and black is their lower end (0 without bounds). The result is fresh; it has one row
    when all three have. With `matrix` NumPy weighs all neighbours at once: the same picture but for
    rounding, sooner where one grid serves all pictures, later where each has its own.
    """
    how = Edge(edge)
    fill = 0.0 if bounds is None else bounds.low
    if isinstance(x, np.ndarray):
        return _by_takes(x, ys, xs, how, fill, bounds, matrix)
    if x.is_cuda and x.itemsize == 4 and usable(str(x.device)):
        return sampled(x, ys, xs, how, fill, bounds)
    return _by_grid_sample(x, ys, xs, how, fill, bounds)


def _by_takes(
    x: Pictures, ys: Pictures, xs: Pictures, edge: Edge, fill: float,
    bounds: Interval | None, matrix: bool,
) -> Pictures:  # fmt: skip
    """NumPy: the four neighbours are taken by index and blended, some pictures at a time."""
    if edge is Edge.BLACK:
        x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=fill)
        ys, xs = ys + 1, xs + 1
    x = np.ascontiguousarray(x)
    n, rows, columns = max(len(x), len(ys), len(xs)), ys.shape[1], xs.shape[2]
    out: Pictures = np.empty((n, x.shape[1], rows, columns), dtype=x.dtype)
    if ys.shape[2] == 1 and xs.shape[1] == 1:
        _in_pieces(_apart, x, ys, xs, edge, out)
    elif matrix and len(ys) == len(xs) == 1:
        _weighed_together(x, ys, xs, edge, out)
    elif matrix:
        _in_pieces(_weighed, x, ys, xs, edge, out)
    elif len(ys) == len(xs) == 1:
        _with_one_grid(x, ys, xs, edge, out)
    else:
        _in_pieces(_with_own_grids, x, ys, xs, edge, out)
    if bounds is not None:
        np.clip(out, bounds.low, bounds.high, out=out)
    return out


def _in_pieces(
    write: Callable[[Pictures, Pictures, Pictures, Edge, Pictures], None],
    x: Pictures,
    ys: Pictures,
    xs: Pictures,
    edge: Edge,
    out: Pictures,
) -> None:
    """Write `out` some pictures at a time, or some rows of one where pictures are large."""
    for some, rows in _pieces(len(out), *out.shape[2:]):
        here, tall, wide = (a if len(a) == 1 else a[some] for a in (x, ys, xs))
        wide = wide if wide.shape[1] == 1 else wide[:, rows]
        write(here, tall[:, rows], wide, edge, out[some, :, rows])


def _pieces(n: int, rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Cuts through n planes and through their rows."""
    step = max(1, _PIECE // (rows * columns))
    high = -(-rows // -(-rows * columns // _PIECE))
    for start in range(0, n, step):
        for top in range(0, rows, high):
            yield slice(start, start + step), slice(top, top + high)


def _weighed_together(x: Pictures, ys: Pictures, xs: Pictures, edge: Edge, out: Pictures) -> None:
    """All planes of all pictures at the same places, by one matrix; written to `out`."""
    target, planes = out.reshape(-1, *out.shape[2:]), turned(x.reshape(-1, x[0, 0].size))
    for _, rows in _pieces(1, *out.shape[2:]):
        wide = xs if xs.shape[1] == 1 else xs[:, rows]
        places = _located(ys[:, rows], wide, x.shape[2:], edge)
        here, matrix = target[:, rows], weighing(*places, x.shape[2:], x[0, 0].size)
        here[...] = weighed(matrix, planes, len(target)).reshape(here.shape)


def _weighed(x: Pictures, ys: Pictures, xs: Pictures, edge: Edge, out: Pictures) -> None:
    """Each picture, or the one of all, at its own places, by a matrix; written to `out`."""
    index, down, right = _located(ys, xs, x.shape[2:], edge)
    if len(x) > 1:
        index += (np.arange(len(x)) * x[0].size)[:, None, None]
    size, given = x[0, 0].size, x.size - (x.shape[1] - 1) * x[0, 0].size
    matrix = weighing(index, down, right, x.shape[2:], given)
    for channel in range(x.shape[1]):
        seen = x.reshape(-1)[channel * size :][:given]
        out[:, channel] = (matrix @ seen).reshape(out[:, channel].shape)


def _with_one_grid(x: Pictures, ys: Pictures, xs: Pictures, edge: Edge, out: Pictures) -> None:
    """All planes of all pictures at the same places, written to `out`."""
    planes, target = x.reshape(-1, x[0, 0].size), out.reshape(-1, *out.shape[2:])
    high = max(1, min(out.shape[2], _PIECE // out.shape[3]))
    for rows in (slice(top, top + high) for top in range(0, out.shape[2], high)):
        wide = xs if xs.shape[1] == 1 else xs[:, rows]
        index, down, right = _located(ys[:, rows], wide, x.shape[2:], edge)
        step = max(1, _PIECE // index.size)
        for start in range(0, len(planes), step):
            some = planes[start : start + step]

            def at(offset: int, some: Pictures = some, index: Places = index) -> Pictures:
                if len(some) == 1:  # a cut through one plane is quicker than another index
                    return some[0, offset:].take(index, mode="clip")
                return cast("Pictures", some.take(index[0] + offset, axis=1, mode="clip"))

            _blend(at, x.shape[2:], down, right, target[start : start + step, rows])


def _with_own_grids(x: Pictures, ys: Pictures, xs: Pictures, edge: Edge, out: Pictures) -> None:
    """Each picture, or the one of all, at its own places, written to `out`."""
    index, down, right = _located(ys, xs, x.shape[2:], edge)
    size = x[0, 0].size
    if len(x) > 1:
        index += (np.arange(len(x)) * x[0].size)[:, None, None]
    for channel in range(x.shape[1]):
        flat = x.reshape(-1)[channel * size :]

        def at(offset: int, flat: Pictures = flat) -> Pictures:
            return flat[offset:].take(index, mode="clip")

        _blend(at, x.shape[2:], down, right, out[:, channel])


def _apart(x: Pictures, ys: Pictures, xs: Pictures, edge: Edge, out: Pictures) -> None:
    """Rows first, then columns, where neither depends on the other; written to `out`."""
    channels, height, width = x.shape[1:]
    top, down = _parted(ys[:, None], height, edge)
    left, right = _parted(xs[:, None], width, edge)
    planes = np.arange(len(x) * channels).reshape(len(x), channels, 1, 1) * height
    index = (planes + top)[..., 0]
    lines = x.reshape(-1, width)
    tall = lines.take(index, axis=0, mode="clip")
    if down.any():
        _towards(tall, lines.take(index + 1, axis=0, mode="clip"), down)
    if len(xs) == 1:
        here = tall.take(left[0, 0, 0], axis=3, mode="clip")
        other = tall.take(left[0, 0, 0] + 1, axis=3, mode="clip") if right.any() else here
    else:
        starts = np.arange(tall.size // width).reshape(*tall.shape[:3], 1) * width
        at, flat = starts + left, tall.reshape(-1)
        here = flat.take(at, mode="clip")
        other = flat[1:].take(at, mode="clip") if right.any() else here
    if other is here:
        out[...] = here
        return
    other -= here
    other *= right
    np.add(here, other, out=out)


def _parted(at: Pictures, size: int, edge: Edge) -> tuple[NDArray[np.int32], Pictures]:
    """The last pixel before each place, and how far beyond it the place is."""
    beyond = _folded(at, size, edge)
    whole = np.floor(beyond)
    beyond -= whole
    return whole.astype(np.int32), beyond


def _located(
    ys: Pictures, xs: Pictures, size: tuple[int, ...], edge: Edge
) -> tuple[Places, Pictures, Pictures]:
    """The pixel up and left of each place, counted through the picture; and how far it is."""
    top, down = _parted(ys, size[0], edge)
    left, right = _parted(xs, size[1], edge)
    return (top * np.int32(size[1]) + left).astype(np.intp), down, right


def _blend(
    at: Callable[[int], Pictures],
    size: tuple[int, ...],
    down: Pictures,
    right: Pictures,
    out: Pictures,
) -> None:
    """Between four neighbours by the shares `down` and `right`; `at` takes those an offset away.

    A neighbour beyond the last row or column has the share 0, whatever is taken for it.
    """
    below, beside = size[1] * (size[0] > 1), int(size[1] > 1)
    upper = at(0)
    _towards(upper, at(beside), right)
    if not down.any():
        out[...] = upper
        return
    lower = at(below)
    _towards(lower, at(below + beside), right)
    lower -= upper
    lower *= down
    np.add(upper, lower, out=out)


def _towards(a: Pictures, b: Pictures, share: Pictures) -> None:
    """Move `a` towards `b` by a share of the way; b is used up. A share of 0 leaves `a` alone."""
    b -= a
    b *= share
    a += b


def _by_grid_sample(
    x: Array, ys: Array, xs: Array, edge: Edge, fill: float, bounds: Interval | None
) -> Array:
    """Torch: its own sampler, on pictures filled up to a power of two.

    The sampler wants coordinates as shares of the size. For a power of two whole coordinates
    survive that exactly.
    """
    import torch

    height, width, frame = x.shape[2], x.shape[3], int(edge is Edge.BLACK)
    tall, wide = _power_of_two(height + 2 * frame), _power_of_two(width + 2 * frame)
    margins = (frame, wide - width - frame, frame, tall - height - frame)
    source = torch.nn.functional.pad(x, margins, value=fill) if any(margins) else x
    down = _folded(ys + frame, height + 2 * frame, edge) * (2 / tall) + (1 / tall - 1)
    right = _folded(xs + frame, width + 2 * frame, edge) * (2 / wide) + (1 / wide - 1)
    grid = torch.stack(torch.broadcast_tensors(right, down), dim=-1)
    n, channels = max(len(x), len(grid)), x.shape[1]
    # small pictures that meet one grid are as good as the channels of one picture, and on a
    # processor quicker
    together = len(grid) == 1 and tall * wide <= 4096 and x.device.type == "cpu"
    source = source.reshape(1 if together else len(x), -1, tall, wide)
    rows = 1 if together else n
    source, grid = source.expand(rows, -1, -1, -1), grid.expand(rows, -1, -1, -1)
    out = torch.nn.functional.grid_sample(source, grid, align_corners=False)
    out = out.reshape(n, channels, *grid.shape[1:3])
    return out if bounds is None else out.clamp_(bounds.low, bounds.high)


def _folded(at: Array, size: int, edge: Edge) -> Array:
    """Coordinates brought back into 0 … size - 1; a fresh array, those inside untouched."""
    xp = array_namespace(at)
    if size == 1:
        return xp.zeros_like(at)
    if edge in (Edge.NEAREST, Edge.BLACK):
        return _between(at, size - 1)
    beyond = 0.5 if edge is Edge.SYMMETRIC else 0.0
    low, high = -beyond, size - 1 + beyond
    folded = xp.maximum(at, 2 * low - at)
    period = 2 * (high - low)
    far = not isinstance(at, np.ndarray) or folded.max() > high + period / 2
    if far:  # a point within one reflection is not changed by this
        folded -= xp.floor((folded - low) * (1 / period)) * period
    folded = xp.minimum(folded, 2 * high - folded)
    return _between(folded, size - 1) if far or beyond else folded


def _between(at: Array, most: float) -> Array:
    """The array clipped to [0, most]."""
    return np.clip(at, 0.0, most) if isinstance(at, np.ndarray) else at.clamp(0.0, most)


def _power_of_two(size: int) -> int:
    """The next power of two that is no smaller."""
    return 1 << (size - 1).bit_length()
