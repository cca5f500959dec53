"""Images resampled by compiled code: fold, take, blend and clip in one pass.

What `warp` does with NumPy in dozens of passes over the coordinates, with the same values bit for
bit. Where nothing is compiled, `compiled_sampler` returns None and NumPy does the work.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surefoot.compiled.library import BESIDE, compiled_library
from surefoot.core.results import Interval
from surefoot.perturb._ops.edges import Edge

Images = NDArray[np.float32]
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
