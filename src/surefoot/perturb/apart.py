"""Pictures sampled along their rows and columns, where neither depends on the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.perturb.edges import Edge, parted, pieces
from surefoot.perturb.neighbours import Pictures, towards
from surefoot.subject import Array

Places = NDArray[np.int32]


def apart(x: Pictures, ys: Pictures, xs: Pictures, edge: Edge, out: Pictures) -> None:
    """Columns of the rows that are seen, then rows; written to `out`.

    Rows are at ys (n or 1, rows, 1), columns at xs (n or 1, 1, columns).
    """
    if len(ys) == len(xs) == 1:  # planes are as good as pictures then
        x, out = x.reshape(-1, 1, *x.shape[2:]), out.reshape(-1, 1, *out.shape[2:])
    top, down = parted(ys[:, None], x.shape[2], edge)
    left, right = parted(xs[:, None], x.shape[3], edge)
    across, along = not _in_order(left, right), not _in_order(top, down)
    for some, rows in pieces(len(out), *out.shape[2:]):
        here, tops, shares = _part(x, some), _part(top, some)[:, :, rows], _part(down, some)
        first, target = int(tops.min()), out[some, :, rows]
        here = here[:, :, first : int(tops.max()) + 2]
        if across:
            here = _between_columns(here, _part(left, some), _part(right, some))
        if along:
            _between_rows(here, tops - first, shares[:, :, rows], target)
        else:
            target[...] = here[:, :, : tops.shape[2]]


def _part(array: Array, some: slice) -> Array:
    """These rows of an array, or the one of all."""
    return array if len(array) == 1 else array[some]


def _in_order(whole: Places, beyond: Pictures) -> bool:
    """Whether places along an axis are its pixels from the first on."""
    flat = whole.reshape(len(whole), -1)
    return not beyond.any() and bool((flat == np.arange(flat.shape[1])).all())


def _between_columns(x: Pictures, left: Places, right: Pictures) -> Pictures:
    """Every row of pixels at the same places of its picture."""
    here: Pictures
    if len(left) == 1:
        here = x.take(left[0, 0, 0], axis=3, mode="clip")
        other = x.take(left[0, 0, 0] + 1, axis=3, mode="clip")
    else:
        starts = np.arange(x.size // x.shape[3]).reshape(*x.shape[:3], 1) * x.shape[3]
        at, flat = starts + left, x.reshape(-1)
        here, other = flat.take(at, mode="clip"), flat[1:].take(at, mode="clip")
    towards(here, other, right)
    return here


def _between_rows(x: Pictures, top: Places, down: Pictures, out: Pictures) -> None:
    """Every column of pixels at the same places of its picture, written to `out`."""
    planes = np.arange(len(x) * x.shape[1]).reshape(len(x), -1, 1, 1) * x.shape[2]
    index, lines = (planes + top)[..., 0], x.reshape(-1, x.shape[3])
    upper = lines.take(index, axis=0, mode="clip")
    lower = lines.take(index + 1, axis=0, mode="clip")
    lower -= upper
    lower *= down
    np.add(upper, lower, out=out)
