"""What properties of outputs share: limits still kept, rounding, true outputs, few words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.subject.items import on_host
from surefoot.subject.protocols import Array, Reference

_MOST_VALUES = 6
"""Values of an output that are written out: more do not fit beside an image."""
_SHARE_ROUNDING = 1e-12
"""What a mean of overlaps may lose in double precision; less than one pixel in any mask."""
CLEAN = "the clean input"
ROUNDING_SHARE = 0.01
"""Part of a stated limit that the rounding of an output may explain: more would hide failures."""


def at_most(value: float) -> float:
    """The limit of a severity that may be `value` itself, but nothing above it."""
    return math.nextafter(value, math.inf)


def all_but(share: float) -> float:
    """The limit of a share that is lost, where `share` itself may be what is left."""
    return 1 - share + _SHARE_ROUNDING


def reference_named(kind: str, of: str) -> Reference:
    """The reference that a property names."""
    if of not in tuple(Reference):
        raise InvalidArgument(f"{kind}.of must be {' or '.join(Reference)}, got {of!r}")
    return Reference(of)


def check_share(name: str, value: float) -> None:
    """Refuse what is no share above 0."""
    if not 0 < value <= 1:
        raise InvalidArgument(f"{name} must lie above 0 and at most 1, got {value}")


def target_array(target: Any, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:  # noqa: ANN401  an output or a target
    """The true output of one input, as an array of this shape."""
    values = np.asarray(on_host(target))
    if values.dtype.kind not in "fiub":
        raise InvalidArgument(
            f"the target of input {name} is {target!r}: numbers are needed; give an array of them"
        )
    if values.size == math.prod(shape) == 1:
        values = values.reshape(shape)
    if values.shape != shape:
        raise InvalidArgument(
            f"the target of input {name} has shape {values.shape}, and the output of the model "
            f"{shape}: give targets in the shape of the output"
        )
    if not np.isfinite(values).all():
        raise InvalidArgument(f"the target of input {name} holds NaN or infinity: leave it out")
    return values.astype(np.float64)


def rows_of(array: Array) -> Array:
    """All values of each input in one row, in double precision."""
    xp = array_namespace(array)
    return xp.reshape(xp.astype(array, xp.float64), (array.shape[0], -1))


def relative_rounding(array: Array) -> float:
    """Part of a number that is lost at most where it is rounded to the type of the array."""
    xp = array_namespace(array)
    rounded = xp.isdtype(array.dtype, "real floating")
    epsilon = float(xp.finfo(array.dtype).eps) if rounded else 0.0
    return max(epsilon, float(np.finfo(np.float64).eps)) / 2


def threshold_in(array: Array, threshold: float) -> float:
    """The number nearest to a threshold in the type of the array, so that 0.7 is at least 0.7.

    The threshold itself where that type holds none within `ROUNDING_SHARE` of it.
    """
    xp = array_namespace(array)
    if not xp.isdtype(array.dtype, "real floating"):
        return threshold
    if abs(threshold) > float(xp.finfo(array.dtype).max):
        return threshold
    nearest = float(xp.asarray(threshold, dtype=array.dtype))
    return nearest if abs(nearest - threshold) <= ROUNDING_SHARE * abs(threshold) else threshold


def few_words(values: Sequence[Any]) -> str:
    """The first values, the rest as three dots."""
    texts = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values[:_MOST_VALUES]]
    return ", ".join(texts) + (", …" if len(values) > _MOST_VALUES else "")
