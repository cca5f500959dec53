"""A device of PyTorch that proofs are searched on: arrays there, and its memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import array_api_compat
import numpy as np

from surefoot.errors import needing
from surefoot.subject.protocols import Array, HostArray, array_namespace


def to_device(where: str) -> Callable[[HostArray], Array]:
    """What copies NumPy's arrays to a device of PyTorch, in their own precision."""
    with needing(f"bounds on {where} need PyTorch: pip install 'surefoot[torch]'"):
        import torch
    return partial(torch.tensor, device=where)


def out_of_memory(error: RuntimeError) -> bool:
    """Whether an error of PyTorch, or of a library that it uses, says that a GPU is full."""
    return type(error).__name__ == "OutOfMemoryError" or "ALLOC_FAILED" in str(error)


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
