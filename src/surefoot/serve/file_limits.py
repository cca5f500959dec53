"""Which files a replay may open: those of the allowed folders, and what Python itself needs.

A store from somebody else names files, and the files name others: lists of images, weights, links.
So every opening is checked, whichever reader asks for it, and not the names that we know of.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

REFUSAL = "this file is not in a folder that --replay names, or is no plain file"
_CODE = (".py", ".pyc", ".so", ".pyd", ".dylib")
"""Of a folder that modules are imported from but that may hold files of the user too."""
_PACKAGES = ("site-packages", "dist-packages")
_DEVICES = (os.devnull, "/dev/urandom")
_SYSTEM = ("/sys/devices/system", "/sys/fs/cgroup", "/usr/share/zoneinfo", "/usr/lib", "/lib")
"""What libraries read of the machine: processors, limits of memory, time zones."""
_ABOUT_MACHINE = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/etc/localtime")
_ABOUT_PROCESS = ("statm", "status", "cgroup", "maps")
"""In /proc/self: nothing of the environment, which may hold a token."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class FileLimits:
    """Files below `folders` may be read, those below `own` written too; Python's may be read."""

    def __init__(self, folders: Sequence[Path], own: Path) -> None:
        self._own = os.path.realpath(own)
        package = Path(__file__).parents[1]
        paths = sysconfig.get_paths()
        libraries = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
        places = [p for p in sys.path if p]
        libraries += [p for p in places if Path(p).name in _PACKAGES]
        readable = [*map(str, (*folders, package)), *libraries, *_SYSTEM]
        self._readable = tuple({os.path.realpath(place) for place in readable} | {self._own})
        self._code = tuple(os.path.realpath(place) for place in places)

    def install(self) -> None:
        """From now on, and until the process ends, every other file is refused."""
        sys.dont_write_bytecode = True
        sys.addaudithook(self._hook)

    def allows(self, path: str, writes: bool = False) -> bool:
        """Whether this file may be opened, by where it really lies and what it is."""
        real = os.path.realpath(path)
        if real in _DEVICES:
            return True
        if not _is_plain(real):
            return False
        if writes:
            return _is_below(real, (self._own,))
        if real in _ABOUT_MACHINE or real in {f"/proc/{os.getpid()}/{n}" for n in _ABOUT_PROCESS}:
            return True
        is_code = real.endswith(_CODE) and _is_below(real, self._code)
        return is_code or _is_below(real, self._readable)

    def _hook(self, event: str, values: tuple[Any, ...]) -> None:
        if event != "open" or isinstance(values[0], int):  # a number: opened already
            return
        path, mode, flags = os.fsdecode(values[0]), values[1], values[2]
        writes = any(letter in mode for letter in "wax+") if mode else bool((flags or 0) & _WRITES)
        if not self.allows(path, writes):
            raise PermissionError(errno.EACCES, REFUSAL, path)


def _is_plain(real: str) -> bool:
    """Whether it is a file or a folder, or is not there: no pipe that waits, no device."""
    try:
        kind = os.stat(real).st_mode
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(kind) or stat.S_ISDIR(kind)


def _is_below(real: str, places: Sequence[str]) -> bool:
    return any(real == place or real.startswith(place.rstrip(os.sep) + os.sep) for place in places)
