"""Compile the C code of the package, where there is a C compiler.

Installing does this by itself; by hand: python scripts/compile_library.py. Without a compiler
NumPy perturbs images, bit for bit alike, in about twice the time, and proves for dense networks in
four to five times; Ctrl-C waits for code that holds Python's lock.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src" / "surefoot" / "compiled"
SOURCES = tuple(FOLDER / name for name in ("sampler.c", "noise.c", "multipliers.c", "watch.c"))
LIBRARY = FOLDER / "_compiled.so"
FLAGS = ("-O3", "-ffp-contract=off", "-fPIC", "-shared")
X86_FLAGS = ("-fno-trapping-math",)
"""Without it GCC calls `floorf` for one number at a time on x86; on ARM it makes slower code.

It does not change any value: no floating-point exception is ever read.
"""


def compile_library(library: Path = LIBRARY) -> bool:
    """Compile; whether it worked. An existing library is replaced only by a complete one."""
    temporary = library.with_suffix(f".{os.getpid()}")
    code = b"".join(source.read_bytes() for source in SOURCES)
    digest = int(hashlib.sha256(code).hexdigest()[:15], 16)
    flags = FLAGS + (X86_FLAGS if platform.machine() in ("x86_64", "AMD64") else ())
    compiler = [os.environ.get("CC", "cc"), *flags, f"-DDIGEST={digest}LL"]
    command = [*compiler, *map(str, SOURCES), "-o", str(temporary), "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603  our own source
    except OSError:
        return False
    if done.returncode == 0:
        temporary.replace(library)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(0 if compile_library() else "no C compiler: NumPy does its work, more slowly")
