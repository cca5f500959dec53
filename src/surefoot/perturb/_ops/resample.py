"""What lies outside of an image, coordinates folded into it, and resampling along its axes."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

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
