"""Arrays between main memory and the model's device."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.subject import Array, Drawn


def on_device_of(like: Array, values: NDArray[Any]) -> Array:
    """The values in the namespace and on the device of `like`.

    A GPU gets them without waiting for its earlier work.
    """
    if isinstance(like, np.ndarray):
        return values
    if getattr(like, "is_cuda", False):
        import torch

        return torch.from_numpy(values).pin_memory().to(like.device, non_blocking=True)
    return array_namespace(like).asarray(values, device=device(like))


def concatenated(parts: list[Array]) -> Array:
    """The parts one after the other, as one array; a single part is not copied."""
    return parts[0] if len(parts) == 1 else array_namespace(parts[0]).concat(parts, axis=0)


def draw_rows(drawn: Drawn, start: int, stop: int) -> Drawn:
    """Rows [start, stop) of drawn parameters: an array, or tuples of arrays."""
    if isinstance(drawn, tuple):
        return tuple(draw_rows(part, start, stop) for part in drawn)
    return drawn[start:stop]
