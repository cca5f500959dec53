"""Files that are whole or not there: written beside their place, then moved there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from surefoot.errors import ReportFailed

fcntl: Any
try:
    import fcntl
except ImportError:  # pragma: no cover  on Windows, where an open file cannot be removed
    fcntl = None

UNFINISHED = ".surefoot-part"
"""The end of the name of a file that is being written. It is locked meanwhile: one that is not was
left by a process that was killed."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file in one step; what killed processes left in the folder is removed."""
    try:
        remove_unfinished(path.parent)
        with open_beside(path) as (file, beside):
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
            mask = os.umask(0)
            os.umask(mask)
            beside.chmod(0o666 & ~mask)
            if fcntl is None:
                file.close()
            beside.replace(os.path.realpath(path))
    except OSError as error:
        raise ReportFailed(
            f"{path} cannot be written ({error.strerror or error}): choose another place; "
            "nothing was left half-written"
        ) from error


@contextmanager
def open_beside(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file beside this one, locked, and its path; removed at the end if it is still there."""
    while True:
        handle, name = tempfile.mkstemp(UNFINISHED, f".{path.name}.", path.parent)
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
        names = [entry.name for entry in entries]
    for name in names:
        if name.startswith(".") and name.endswith(UNFINISHED):
            with suppress(OSError):
                _remove_unlocked(folder / name)


def _remove_unlocked(path: Path) -> None:
    if fcntl is None:
        path.unlink()
        return
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while somebody writes
        path.unlink()
