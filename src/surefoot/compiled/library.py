"""The compiled library, where there is one.

The C files here are compiled when the package is installed, if there is a C compiler. What
`sampler.c` and `noise.c` do NumPy does too, with the same values bit for bit. What `multipliers.c`
proposes and proves NumPy does too, with other roundings. What `watch.c` does Python does too, but
later: it has to wait for its lock.
"""

from __future__ import annotations

import ctypes
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

_NAMES = ("sampler.c", "noise.c", "multipliers.c", "watch.c")
_SOURCES = tuple(Path(__file__).with_name(name) for name in _NAMES)
BESIDE = Path(__file__).with_name("_compiled.so")
"""Where an installation puts it."""
STEPS = ctypes.c_ssize_t * 3
_PLACE, _LONG, _WHOLE, _REAL = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_float
_DOUBLE = ctypes.c_double
_ARGUMENTS: dict[str, list[Any]] = {
    "add_uniform": [*[_PLACE] * 3, ctypes.c_char_p, _LONG, _LONG, _REAL, _REAL],
    "read_ziggurat": [_PLACE, _PLACE],
    "normals": [_PLACE, _LONG, *[_PLACE] * 3],
    "sample": [
        *[_PLACE] * 4, _LONG, _LONG, *[_WHOLE] * 4, _LONG, STEPS, STEPS, _WHOLE, *[_REAL] * 3,
    ],
    "blur": [*[_PLACE] * 8, _LONG, _LONG, *[_WHOLE] * 4, _LONG],
    "search_multipliers": [
        _LONG, *[_PLACE] * 7, *[_LONG] * 3, *[_PLACE] * 11, _LONG, *[_REAL] * 4,
    ],
    "prove_nodes": [
        _LONG, *[_PLACE] * 8, *[_DOUBLE] * 2, *[_PLACE] * 4, _DOUBLE, _LONG, *[_DOUBLE] * 2,
        *[_LONG] * 2, *[_PLACE] * 12,
    ],
    "prove_radii": [
        *[_LONG] * 2, *[_PLACE] * 6, _DOUBLE, _LONG, *[_DOUBLE] * 2, _PLACE,
    ],
}  # fmt: skip
"""Of each function that computes, its arguments."""
_RETURNING = ("search_multipliers", "prove_nodes", "prove_radii")
"""They need memory, and return whether there was; the others return nothing."""


@lru_cache(maxsize=4)
def compiled_library(library: Path = BESIDE) -> ctypes.CDLL | None:
    """The library, or None where there is none of exactly this source."""
    try:
        compiled = ctypes.CDLL(str(library))
    except OSError:
        return None
    compiled.digest.restype = ctypes.c_longlong
    code = b"".join(source.read_bytes() for source in _SOURCES)
    if compiled.digest() != int(hashlib.sha256(code).hexdigest()[:15], 16):
        return None
    for name, arguments in _ARGUMENTS.items():
        function = getattr(compiled, name)
        function.restype = _WHOLE if name in _RETURNING else None
        function.argtypes = arguments
    return compiled
