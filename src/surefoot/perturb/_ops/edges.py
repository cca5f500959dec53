"""What lies beyond the edge of an image, and where a place is among its pixels."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.perturb._ops.definition import Choices
from surefoot.subject import Array

_PIECE = 51_200
"""Pixels worked on together, so that the intermediate arrays stay in the processor's cache."""


class Edge(StrEnum):
    """What lies beyond the edge of an image."""

    MIRROR = "mirror"
    """The image in a mirror, the edge itself once: dcb|abcd|cba."""
    SYMMETRIC = "symmetric"
    """The image in a mirror, the edge itself twice: cba|abcd|dcb."""
    NEAREST = "nearest"
    """The pixel at the edge, for ever: aaa|abcd|ddd."""
    BLACK = "black"
    """The lowest value."""


EDGES: Choices = {"edge": tuple(Edge)}
Images = NDArray[np.float32]


def blend_in_place(a: Images, b: Images, share: Images) -> None:
    """Move `a` towards `b` by a share of the way; b is used up. A share of 0 leaves `a` alone."""
    b -= a
    b *= share
    a += b


def cache_sized_pieces(n: int, rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Cuts through n planes and through their rows."""
    step = max(1, _PIECE // (rows * columns))
    high = -(-rows // -(-rows * columns // _PIECE))
    for start in range(0, n, step):
        for top in range(0, rows, high):
            yield slice(start, start + step), slice(top, top + high)


def split_coordinates(at: Images, size: int, edge: Edge) -> tuple[NDArray[np.int32], Images]:
    """The last pixel before each place, and how far beyond it the place is."""
    beyond = fold_coordinates(at, size, edge)
    whole = np.floor(beyond)
    beyond -= whole
    return whole.astype(np.int32), beyond


def fold_coordinates(at: Array, size: int, edge: Edge) -> Array:
    """Coordinates brought back into 0 … size - 1; a fresh array, those inside untouched."""
    xp = array_namespace(at)
    if size == 1:
        return xp.zeros_like(at)
    if edge in (Edge.NEAREST, Edge.BLACK):
        return _clip_coordinates(at, size - 1)
    beyond = 0.5 if edge is Edge.SYMMETRIC else 0.0
    low, high = -beyond, size - 1 + beyond
    fold_coordinates = xp.maximum(at, 2 * low - at) if low else xp.abs(at)
    period = 2 * (high - low)
    far = not isinstance(at, np.ndarray) or fold_coordinates.max() > high + period / 2
    if far:  # a point within one reflection is not changed by this
        fold_coordinates -= xp.floor((fold_coordinates - low) * (1 / period)) * period
    fold_coordinates = xp.minimum(fold_coordinates, 2 * high - fold_coordinates)
    return _clip_coordinates(fold_coordinates, size - 1) if far or beyond else fold_coordinates


def _clip_coordinates(at: Array, most: float) -> Array:
    """The array clipped to [0, most]."""
    return np.clip(at, 0.0, most) if isinstance(at, np.ndarray) else at.clamp(0.0, most)
