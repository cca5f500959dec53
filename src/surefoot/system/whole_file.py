"""Files that are whole or not there: written beside their place, then moved there."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from surefoot.errors import InvalidArgument, ReportFailed

fcntl: Any
try:
    import fcntl
except ImportError:  # pragma: no cover  on Windows, where an open file cannot be removed
    fcntl = None

UNFINISHED = ".surefoot-part"
"""The end of the name of a file that is being written. It is locked meanwhile: one that is not was
left by a process that was killed."""
_FIRST_BYTES, _SIGNATURE_BYTES = 512, 4
"""Read to see whether a file is text; and those by which a format is known."""
_STORE = b"SQLite format 3\0"
_STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
"""Names of what is open already: a file that is moved there would take its place."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file in one step; what killed processes left in the folder is removed.

    A link stays one: the file it leads to is replaced, and keeps its permissions.
    """
    new = content.encode() if isinstance(content, str) else content
    target = real_path(path)
    try:
        check_target(path, new)
        remove_unfinished(target.parent)
        with open_beside(target.parent) as (file, beside):
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
            beside.chmod(_permissions(target))
            if fcntl is None:
                file.close()
            beside.replace(target)
    except OSError as error:
        raise ReportFailed(
            f"{path} cannot be written ({error.strerror or error}): choose another place; "
            "nothing was left half-written"
        ) from error


def real_path(path: str | Path) -> Path:
    """Where links lead to."""
    return Path(os.path.realpath(path))


def check_plain(path: Path) -> bool:
    """Whether the file is there; what is no plain file is refused, for it cannot be replaced."""
    there = path.exists()
    if os.path.abspath(path).startswith(_STREAMS) or (there and not path.is_file()):
        raise InvalidArgument(f"{path} is not a regular file: choose another place")
    return there


def check_target(path: Path, new: bytes = b"") -> None:
    """Refuse to replace what is no plain file, or a binary file of another format.

    That is somebody's store, model or data. `new`: what is to be written; nothing for any text.
    """
    if not check_plain(path):
        return
    with path.open("rb") as file:
        old = file.read(_FIRST_BYTES)
    # A character that no text has: the first eight, and a backspace.
    is_binary = any(byte <= 8 for byte in old)
    if is_binary and old[:_SIGNATURE_BYTES] != new[:_SIGNATURE_BYTES]:
        what = "a store" if old.startswith(_STORE) else "a binary file, such as a model or data"
        raise InvalidArgument(
            f"{path} is {what}, which would be lost: choose another name, or remove it first"
        )


def _permissions(target: Path) -> int:
    """Those of the file that is replaced, else those of a new one."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(target.stat().st_mode) & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def open_beside(folder: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file in the folder, locked, and its path; removed at the end if it is still there."""
    while True:
        handle, name = tempfile.mkstemp(UNFINISHED, ".", folder)
        beside = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                if fcntl is not None:
                    with suppress(OSError):  # a file system without locks
                        fcntl.flock(file, fcntl.LOCK_EX)
                    if not os.fstat(file.fileno()).st_nlink:
                        continue  # removed by another process before it was locked
                yield file, beside
        finally:
            beside.unlink(missing_ok=True)
        return


def remove_unfinished(folder: Path) -> None:
    """Remove what processes were writing into the folder when they were killed."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if _is_unfinished(entry)]
    for name in names:
        with suppress(OSError):
            _remove_unlocked(folder / name)


def _is_unfinished(entry: os.DirEntry[str]) -> bool:
    """By its name; what is no plain file is not ours, and opening a pipe waits for ever."""
    named = entry.name.startswith(".") and entry.name.endswith(UNFINISHED)
    return named and entry.is_file(follow_symlinks=False)


def _remove_unlocked(path: Path) -> None:
    if fcntl is None:
        path.unlink()
        return
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while somebody writes
        path.unlink()
