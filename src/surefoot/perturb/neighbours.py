"""Bilinear sampling as a sparse matrix, which is quick where one serves many pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Pictures = NDArray[np.float32]

_FEW_PLANES = 4


def weighing(
    index: NDArray[np.intp], down: Pictures, right: Pictures, size: tuple[int, ...], given: int
) -> csr_array:
    """The matrix (places, given pixels) that weighs four neighbours in rows of pixels.

    `index` counts the pixel up and left of each place, `down` and `right` are the shares of those
    beyond it. A neighbour beyond the last row or column has the share 0, whatever is taken for it.
    """
    below, beside = size[1] * (size[0] > 1), int(size[1] > 1)
    where = np.empty((*index.shape, 4), dtype=np.int32)
    for k, offset in enumerate((0, beside, below, below + beside)):
        np.clip(index + offset, 0, given - 1, out=where[..., k], casting="same_kind")
    weights = np.empty(where.shape, dtype=right.dtype)
    both = down * right
    weights[..., 3] = both
    np.subtract(down, both, out=weights[..., 2])
    np.subtract(right, both, out=both)
    weights[..., 1] = both
    np.subtract(1 - down, both, out=weights[..., 0])
    begins = np.arange(0, where.size + 1, 4, dtype=np.int32)
    return csr_array((weights.reshape(-1), where.reshape(-1), begins), shape=(index.size, given))


def turned(planes: Pictures) -> Pictures:
    """Planes (n, pixels) in the order in which a matrix meets them quickest."""
    return planes if len(planes) <= _FEW_PLANES else np.ascontiguousarray(planes.T)


def weighed(matrix: csr_array, planes: Pictures, count: int) -> Pictures:
    """`count` planes as `turned` left them, under the matrix: (count, places)."""
    if count <= _FEW_PLANES:
        return np.stack([matrix @ plane for plane in planes])
    made: Pictures = matrix @ planes
    return made.T


def towards(a: Pictures, b: Pictures, share: Pictures) -> None:
    """Move `a` towards `b` by a share of the way; b is used up. A share of 0 leaves `a` alone."""
    b -= a
    b *= share
    a += b
