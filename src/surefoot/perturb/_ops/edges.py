"""What lies outside of an image, and coordinates brought back to its pixels."""

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
