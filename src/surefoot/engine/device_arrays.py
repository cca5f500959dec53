"""Arrays between main memory and the model's device."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.subject.protocols import Array, Drawn, Outputs, to_host


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


def nan_where_not_finite(outputs: Outputs, severity: Array, limit: float) -> NDArray[np.float64]:
    """The severities in main memory, NaN where an output is no finite number."""
    if isinstance(outputs, list):
        return np.asarray(severity, dtype=np.float64)
    xp, on_host = array_namespace(outputs), isinstance(severity, np.ndarray)
    if (
        isinstance(outputs, np.ndarray)
        and on_host
        and np.issubdtype(severity.dtype, np.floating)
        and np.isfinite(outputs).all()
    ):
        return in_double_precision(np.asarray(severity), limit)
    finite = xp.all(xp.reshape(xp.isfinite(outputs), (len(outputs), -1)), axis=1)
    if on_host:  # judged in main memory
        xp, finite = np, to_host(finite)
    return in_double_precision(to_host(xp.where(finite, severity, xp.nan)), limit)


def in_double_precision(severities: NDArray[np.floating], limit: float) -> NDArray[np.float64]:
    """The same severities on the same side of the limit; one that is the limit, rounded, is it.

    So 0.7 in single precision reaches 0.7 wherever it is compared afterwards.
    """
    doubles = severities.astype(np.float64)
    if not np.issubdtype(severities.dtype, np.floating) or severities.dtype == np.float64:
        return doubles
    with np.errstate(over="ignore"):
        return np.where(severities == severities.dtype.type(limit), limit, doubles)
