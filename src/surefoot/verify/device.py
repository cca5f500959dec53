"""A device of PyTorch that proofs are searched on: arrays there, and its memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import array_api_compat
import numpy as np

from surefoot.errors import needing
from surefoot.subject.protocols import CPU, Array, HostArray, array_namespace

_HOST_BYTES = 1 << 33
"""Memory counted for PyTorch on a processor. Chosen by hand; proofs are true whatever it is."""


def to_device(where: str) -> Callable[[HostArray], Array]:
    """What copies NumPy's arrays there, in their own precision; none where NumPy works."""
    if where == CPU:
        return np.asarray
    with needing(f"bounds on {where} need PyTorch: pip install 'surefoot[torch]'"):
        import torch
    return partial(torch.tensor, device=where)


def out_of_memory(error: RuntimeError) -> bool:
    """Whether an error of PyTorch, or of a library that it uses, says that a GPU is full."""
    return type(error).__name__ == "OutOfMemoryError" or "ALLOC_FAILED" in str(error)


def share_of_memory(where: str) -> int:
    """Bytes for each core, all of which may use it; of a processor a fixed number."""
    import torch

    whole = _HOST_BYTES
    if torch.device(where).type == "cuda":
        whole = torch.cuda.get_device_properties(where).total_memory
    return whole // (os.cpu_count() or 1)


def free_memory(where: str) -> None:
    """Give back what PyTorch keeps of a GPU's memory."""
    import torch

    if torch.device(where).type == "cuda":
        torch.cuda.empty_cache()


def like_device(array: HostArray, like: Array) -> Array:
    """The array where another is."""
    if isinstance(like, np.ndarray):
        return array
    return array_namespace(like).asarray(array, device=array_api_compat.device(like))
