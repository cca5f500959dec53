"""Uniform noise drawn, scaled, added and clipped in one pass of compiled code.

What `stream`, `draw` and `apply` do with NumPy in five passes, with the same values bit for bit.
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
from surefoot.subject.protocols import Additive

Rows = NDArray[np.float32]
NoiseAdder = Callable[[Rows, Rows, bytes, int, Additive, float, Interval | None], None]


@lru_cache(maxsize=4)
def compiled_noise(library: Path = BESIDE) -> NoiseAdder | None:
    """What adds uniform noise to rows, or None where nothing is compiled."""
    compiled = compiled_library(library)
    if compiled is None:
        return None
    add_uniform = compiled.add_uniform
    long, real, place = ctypes.c_ssize_t, ctypes.c_float, ctypes.c_void_p
    add_uniform.restype = None
    add_uniform.argtypes = [
        place, place, ctypes.c_char_p, long, long, long, long, real, real, real, real,
    ]  # fmt: skip

    def add(
        out: Rows,
        x: Rows,
        key: bytes,
        start: int,
        noise: Additive,
        level: float,
        bounds: Interval | None,
    ) -> None:
        """Write to `out` one row of `x`, or each, plus the noise of its trials from `start` on.

        `key` is the state of the block's generator; both arrays are contiguous.
        """
        low, high = (-math.inf, math.inf) if bounds is None else (bounds.low, bounds.high)
        size = x[0].size
        add_uniform(
            out.ctypes.data, x.ctypes.data, key, start, start + len(out), size,
            0 if len(x) == 1 else size, noise.factor * level, noise.shift * level, low, high,
        )  # fmt: skip

    return add
