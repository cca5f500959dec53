"""How much memory is free, and how many inputs are worked on together."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from surefoot.errors import InvalidArgument

_PIECE_BYTES = 2**28
"""Bytes of inputs that are checked or classified together: 256 images of 3 × 256 × 256 values."""
_MOST_BATCH_BYTES = 2**30
"""Bytes that the arrays of one batch may take: a larger one makes no model on a CPU faster."""
_BATCH_SHARE = 4
"""The batches of all workers may take the free memory divided by this: the model needs the rest."""
_ARRAYS_OF_BATCH = 4
"""Arrays of the size of a batch that exist at a time: drawn, perturbed, joined and normalised."""
_ARRAYS_OF_DATA = 3
"""Arrays of the size of all inputs that exist at a time, in single precision: as read, in the
layout of the model, and the batches."""
_MEMINFO = Path("/proc/meminfo")
_CONTROL_GROUP = Path("/sys/fs/cgroup")


def free_bytes() -> int | None:
    """Bytes of memory that this process can still have; None where the system does not say.

    On Linux what is available, or what the limit of a container leaves; elsewhere all memory.
    """
    known = [n for n in (_available(), _left_in_container()) if n is not None]
    return min(known, default=_physical())


def _available() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _left_in_container() -> int | None:
    """The limit of the control group less what is in use; the cache of files is given up."""
    with suppress(OSError, ValueError):
        limit = int((_CONTROL_GROUP / "memory.max").read_text())
        used = int((_CONTROL_GROUP / "memory.current").read_text())
        lines = (_CONTROL_GROUP / "memory.stat").read_text().splitlines()
        cache = next((int(n.split()[1]) for n in lines if n.startswith("inactive_file ")), 0)
        return max(0, limit - used + cache)
    return None  # "max" where there is no limit


def _physical() -> int | None:
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def rows_together(row_bytes: int) -> int:
    """How many inputs of this size are checked or classified together, at least one."""
    return max(1, _PIECE_BYTES // max(1, row_bytes))


def pieces(rows: int, row_bytes: int) -> Iterator[slice]:
    """Slices over so many inputs, each of as many as are worked on together."""
    step = rows_together(row_bytes)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def most_trials(row_bytes: int, workers: int) -> int:
    """Trials of the largest batch, at least one: all workers have one at the same time."""
    free = free_bytes()
    most = _MOST_BATCH_BYTES
    if free is not None:
        most = min(most, free // (_BATCH_SHARE * workers))
    return max(1, most // (_ARRAYS_OF_BATCH * max(1, row_bytes)))


def most_workers(row_bytes: int) -> int:
    """Workers that have room for a batch of one trial each, at least one."""
    free = free_bytes()
    if free is None:
        return os.cpu_count() or 1
    return max(1, free // _BATCH_SHARE // (_ARRAYS_OF_BATCH * max(1, row_bytes)))


def refuse_too_large(source: str, data_bytes: int, way_out: str) -> None:
    """Refuse inputs that take, in single precision, more memory than there is."""
    free = free_bytes()
    if free is not None and _ARRAYS_OF_DATA * data_bytes > free:
        raise InvalidArgument(
            f"{source} takes {_gib(data_bytes)} in single precision, which a run holds up to "
            f"{_ARRAYS_OF_DATA} times, and {_gib(free)} of memory are free: {way_out}"
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """For the many objects of a journal or of an import: a sixth of the time to read them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
