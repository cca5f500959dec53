"""Arrays of either namespace: moved, copied and clipped."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.subject.protocols import Array


def place_like(array: NDArray[Any], like: Array) -> Array:
    """A NumPy array in the namespace and on the device of `like`."""
    if isinstance(like, np.ndarray):
        return array
    return array_namespace(like).asarray(array, device=device(like))


def copy_rows(x: Array, n: int) -> Array:
    """A fresh copy of the n rows, or n copies of the only one."""
    xp = array_namespace(x)
    rows = xp.broadcast_to(x, (n, *x.shape[1:])) if len(x) != n else x
    return xp.asarray(rows, copy=True)


def clip(x: Array, bounds: Interval | None) -> Array:
    """`x` with every value brought back into the bounds; `x` itself without bounds."""
    return x if bounds is None else array_namespace(x).clip(x, bounds.low, bounds.high)


def clip_in_place(x: Array, bounds: Interval | None) -> Array:
    """`x` itself, every value brought back into the bounds; for arrays that nobody else holds."""
    if bounds is None:
        return x
    if isinstance(x, np.ndarray):
        return np.clip(x, bounds.low, bounds.high, out=x)
    return x.clamp_(bounds.low, bounds.high)
