"""Each worker its own lane on a GPU: one batch is prepared while another one is computed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from surefoot.subject import Array

_local = threading.local()


@contextmanager
def lane(like: Array) -> Iterator[None]:
    """Hand this thread's work to a queue of its own on the device of `like`, if it is a GPU."""
    if not getattr(like, "is_cuda", False):
        yield
        return
    import torch

    lanes: dict[Any, Any] = _local.__dict__.setdefault("lanes", {})
    if like.device not in lanes:
        lanes[like.device] = torch.cuda.Stream(like.device)
    with torch.cuda.stream(lanes[like.device]):
        yield


def settled(array: Array) -> Array:
    """The array, once it is there for every lane to read."""
    if getattr(array, "is_cuda", False):
        import torch

        torch.cuda.synchronize(array.device)
    return array
