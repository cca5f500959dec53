"""Random numbers by compiled code, bit for bit those of NumPy: uniform noise, normal numbers."""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.compiled.library import BESIDE, compiled_library
from surefoot.core.results import Interval
from surefoot.subject.protocols import Additive

Rows = NDArray[np.float32]
Parts = Sequence[tuple[bytes, int, int, float]]
"""Of each block the state of its generator, the rows [start, stop) that are drawn, the level."""
NoiseAdder = Callable[[Additive, Interval | None, Rows, NDArray[np.intp], Parts], Rows]
_PART = struct.Struct("=24sqqff")
"""`struct part` of `noise.c`."""


@lru_cache(maxsize=4)
def compiled_noise(library: Path = BESIDE) -> NoiseAdder | None:
    """What adds uniform noise to rows, or None where nothing is compiled."""
    compiled = compiled_library(library)
    if compiled is None:
        return None

    def add(
        noise: Additive, bounds: Interval | None, x: Rows, rows: NDArray[np.intp], parts: Parts
    ) -> Rows:
        """These rows of `x`, which is contiguous, plus the noise of these parts of blocks.

        One call for all, since workers wait for Python's lock after each.
        """
        low, high = (-math.inf, math.inf) if bounds is None else (bounds.low, bounds.high)
        packed = b"".join(
            _PART.pack(key, start, stop, noise.factor * level, noise.shift * level)
            for key, start, stop, level in parts
        )
        places = np.ascontiguousarray(rows, dtype=np.int64)
        out = np.empty((len(rows), *x.shape[1:]), dtype=np.float32)
        compiled.add_uniform(
            out.ctypes.data, x.ctypes.data, places.ctypes.data, packed, len(parts), x[0].size, low,
            high,
        )  # fmt: skip
        return out

    return add


Filler = Callable[[np.random.Generator, NDArray[np.float32]], None]

_COMPARED = 4096
"""Numbers that are compared with NumPy's before any is used: some 40 are not within the layers."""


class _State(ctypes.Structure):
    """The state of SFC64 as NumPy has it in memory: four words, and the half number left."""

    _fields_ = (
        ("words", ctypes.c_uint64 * 4),
        ("left", ctypes.c_uint32),
        ("upper", ctypes.c_uint32),
    )


class _Halves(ctypes.Structure):
    """`struct halves` of `noise.c`."""

    _fields_ = (("state", _State), ("again", ctypes.c_int), ("last", ctypes.c_uint32))


_STATE_BYTES = ctypes.sizeof(_State)
_BEGINNING = (1).to_bytes(8, "little") + bytes(8)
"""What follows a key: the counter, and no half number."""


@lru_cache(maxsize=1)
def _lies_open() -> bool:
    """Whether NumPy has the state in memory as said: it takes 1 µs there, 12 µs by its name."""
    if sys.byteorder != "little":  # as keys are
        return False
    generator = np.random.Generator(np.random.SFC64(1))
    for _ in range(2):  # with a half number left, and without
        generator.random(dtype=np.float32)
        state: Any = generator.bit_generator.state
        seen = _State.from_buffer_copy(ctypes.string_at(_place(generator), _STATE_BYTES))
        said = (*state["state"]["state"].tolist(), state["has_uint32"], state["uinteger"])
        if (*seen.words, seen.left, seen.upper) != said:
            return False
    return True


def _place(generator: np.random.Generator) -> int:
    bits: Any = generator.bit_generator
    return int(bits.ctypes.state_address)


def set_state(generator: np.random.Generator, key: bytes) -> None:
    """Begin the generator, which is of SFC64, with this key: three words, the lowest byte first."""
    if _lies_open():
        ctypes.memmove(_place(generator), key + _BEGINNING, _STATE_BYTES)
    else:
        words = np.array([*np.frombuffer(key, dtype="<u8"), 1], dtype=np.uint64)
        state = {"bit_generator": "SFC64", "state": {"state": words}}
        generator.bit_generator.state = state | {"has_uint32": 0, "uinteger": 0}


@lru_cache(maxsize=4)
def compiled_normals(library: Path = BESIDE) -> Filler | None:
    """What fills an array from a generator of SFC64, or None where NumPy must do it itself."""
    compiled, normal = compiled_library(library), _numpy_function()
    if compiled is None or normal is None:
        return None
    ziggurat = (ctypes.c_uint32 * 512)()
    compiled.read_ziggurat(ziggurat, normal)

    def fill(generator: np.random.Generator, out: NDArray[np.float32]) -> None:
        """As `generator.standard_normal`: the numbers, and the state that they leave."""
        halves, own = _Halves(), _place(generator)
        ctypes.memmove(ctypes.byref(halves), own, _STATE_BYTES)
        compiled.normals(out.ctypes.data, out.size, ctypes.byref(halves), ziggurat, normal)
        ctypes.memmove(own, ctypes.byref(halves), _STATE_BYTES)

    return fill if _lies_open() and _is_numpys(fill) else None


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
