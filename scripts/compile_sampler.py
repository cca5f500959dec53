"""Compile the sampler of geometric perturbations, where there is a C compiler.

Installing does this by itself; by hand: python scripts/compile_sampler.py. Without a compiler
NumPy does the same work, bit for bit, in about twice the time.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "surefoot" / "perturb" / "_ops" / "sampler.c"
LIBRARY = SOURCE.with_name("_sampler.so")
FLAGS = ("-O3", "-ffp-contract=off", "-fPIC", "-shared")


def compile_sampler(library: Path = LIBRARY) -> bool:
    """Compile; whether it worked. An existing library is replaced only by a complete one."""
    temporary = library.with_suffix(f".{os.getpid()}")
    digest = int(hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:15], 16)
    compiler = [os.environ.get("CC", "cc"), *FLAGS, f"-DDIGEST={digest}LL"]
    command = [*compiler, str(SOURCE), "-o", str(temporary), "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603  our own source
    except OSError:
        return False
    if done.returncode == 0:
        temporary.replace(library)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(0 if compile_sampler() else "no C compiler: NumPy interpolates images instead")
