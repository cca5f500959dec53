"""Images resampled where rows do not depend on the column, nor columns on the row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.perturb._ops.edges import (
    Edge,
    Images,
    blend_in_place,
    cache_sized_pieces,
    split_coordinates,
)
from surefoot.subject.protocols import Array

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
