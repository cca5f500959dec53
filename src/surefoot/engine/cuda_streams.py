"""One CUDA stream per worker: a GPU prepares one batch while it computes another."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from surefoot.subject.protocols import Array

_local = threading.local()


@contextmanager
def worker_stream(like: Array) -> Iterator[None]:
    """Run this thread's work on its own CUDA stream; does nothing if `like` is not on a GPU."""
    if not getattr(like, "is_cuda", False):
        yield
        return
    import torch

    streams: dict[Any, Any] = _local.__dict__.setdefault("streams", {})
    if like.device not in streams:
        streams[like.device] = torch.cuda.Stream(like.device)
    with torch.cuda.stream(streams[like.device]):
        yield


@contextmanager
def memory_errors() -> Iterator[None]:
    """A GPU that is full raises `MemoryError`, as main memory does; PyTorch has its own error."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ == "OutOfMemoryError":  # torch may not be there
            raise MemoryError(str(error)) from error
        raise


def synchronized(array: Array) -> Array:
    """The array, once every CUDA stream may read it."""
    if getattr(array, "is_cuda", False):
        import torch

        torch.cuda.synchronize(array.device)
    return array
