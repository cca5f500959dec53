"""The compiled library of perturbations, where there is one.

`sampler.c` is compiled when the package is installed, if there is a C compiler. What it does NumPy
does too, with the same values bit for bit.
"""

from __future__ import annotations

import ctypes
import hashlib
from functools import lru_cache
from pathlib import Path

_SOURCE = Path(__file__).with_name("sampler.c")
BESIDE = Path(__file__).with_name("_sampler.so")
"""Where an installation puts it."""


@lru_cache(maxsize=4)
def compiled_library(library: Path = BESIDE) -> ctypes.CDLL | None:
    """The library, or None where there is none of exactly this source."""
    try:
        compiled = ctypes.CDLL(str(library))
    except OSError:
        return None
    compiled.digest.restype = ctypes.c_longlong
    if compiled.digest() != int(hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:15], 16):
        return None
    return compiled
