"""Random numbers by compiled code, bit for bit those of NumPy: uniform noise, normal numbers."""

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


Filler = Callable[[np.random.Generator, NDArray[np.float32]], None]

_COMPARED = 4096
"""Numbers that are compared with NumPy's before any is used: some 40 are not within the layers."""


class _Halves(ctypes.Structure):
    """`struct halves` of `noise.c`: the state of SFC64, and the half number that is left."""

    _fields_ = (
        ("state", ctypes.c_uint64 * 4),
        ("left", ctypes.c_uint32),
        ("upper", ctypes.c_uint32),
        ("again", ctypes.c_int),
        ("last", ctypes.c_uint32),
    )


@lru_cache(maxsize=4)
def compiled_normals(library: Path = BESIDE) -> Filler | None:
    """What fills an array from a generator of SFC64, or None where NumPy must do it itself."""
    compiled, normal = compiled_library(library), _numpy_function()
    if compiled is None or normal is None:
        return None
    ziggurat = (ctypes.c_uint32 * 512)()
    compiled.read_ziggurat.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    compiled.read_ziggurat(ziggurat, normal)
    normals, place = compiled.normals, ctypes.c_void_p
    normals.restype, normals.argtypes = None, [place, ctypes.c_ssize_t, place, place, place]

    def fill(generator: np.random.Generator, out: NDArray[np.float32]) -> None:
        """As `generator.standard_normal`: the numbers, and the state that they leave."""
        state = dict(generator.bit_generator.state)
        words = state["state"]["state"]
        halves = _Halves((ctypes.c_uint64 * 4)(*words.tolist()))
        halves.left, halves.upper = state["has_uint32"], state["uinteger"]
        normals(out.ctypes.data, out.size, ctypes.byref(halves), ziggurat, normal)
        words[:] = halves.state
        state["has_uint32"], state["uinteger"] = halves.left, halves.upper
        generator.bit_generator.state = state

    return fill if _is_numpys(fill) else None


def _numpy_function() -> ctypes.c_void_p | None:
    """NumPy's function for one number, which it lets others call from C."""
    try:
        module = ctypes.CDLL(np.random._generator.__file__)
        return ctypes.cast(module.random_standard_normal_f, ctypes.c_void_p)
    except (OSError, AttributeError):
        return None


def _is_numpys(fill: Filler) -> bool:
    """Whether numbers and state are those of NumPy."""
    ours, theirs = (np.random.Generator(np.random.SFC64(1)) for _ in range(2))
    out = np.empty(_COMPARED, dtype=np.float32)
    fill(ours, out)
    same = np.array_equal(out, theirs.standard_normal(_COMPARED, dtype=np.float32))
    return same and bool(ours.random() == theirs.random())
