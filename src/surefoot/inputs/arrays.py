"""Inputs from arrays: values and labels checked, pixels scaled, ids assigned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.inputs.class_names import ClassNames, read_class_names
from surefoot.inputs.labels import Labels, read_labels
from surefoot.inputs.rounding import refuse_rounded_array
from surefoot.subject.inputs import Inputs
from surefoot.subject.items import on_host
from surefoot.subject.protocols import LARGEST_NUMBER
from surefoot.system.memory_limits import pieces


def from_arrays(
    x: Any,  # noqa: ANN401  what NumPy can read
    labels: Any = None,  # noqa: ANN401  labels in any form
    *,
    ids: Sequence[str] | None = None,
    class_names: Sequence[str] | ClassNames = (),
    source: str = "the arrays",
    scale: float | None = None,
    targets: Any = None,  # noqa: ANN401  true outputs in any form
) -> Inputs:
    """Inputs from arrays. uint8 values are divided by 255 unless `scale` says otherwise.

    `labels`: class numbers, or class names (see `read_labels`). `targets`: one true output an
    input, for models without classes.
    """
    values = _real_numbers(x, source)
    divisor = scale if scale is not None else (255.0 if values.dtype == np.uint8 else 1.0)
    if not 1 / LARGEST_NUMBER <= divisor <= LARGEST_NUMBER:
        raise InvalidArgument(
            f"scale must be a finite number above 0 that float32 holds, got {divisor}: values are "
            "divided by it; pass 255 for pixels"
        )
    with np.errstate(over="ignore"):
        points = values.astype(np.float32)
    if divisor != 1:
        points /= np.float32(divisor)  # in place: a second copy would double the memory
    names = (
        tuple(f"{i:0{len(str(max(len(points) - 1, 1)))}d}" for i in range(len(points)))
        if ids is None
        else tuple(str(i) for i in ids)
    )
    known: Labels | None = labels
    if labels is not None and not isinstance(labels, Labels):
        known = read_labels(labels, source, class_names)
    reading = f"values divided by {divisor:g}" if divisor != 1 else "values as stored"
    inputs = Inputs(
        x=points,
        labels=None if known is None else known.numbers,
        ids=names,
        source=source,
        class_names=read_class_names(class_names).names if known is None else known.names,
        frame=image_frame(points.shape[1:]),
        reading="; ".join(filter(None, [reading, known.reading if known else ""])),
        targets=() if targets is None else _targets(targets, source),
    )
    _refuse_nan(inputs)
    refuse_rounded_array(values, names, source)
    return inputs


def _real_numbers(x: Any, source: str) -> NDArray[Any]:  # noqa: ANN401  what NumPy can read
    """An array of real numbers whose first axis counts inputs; anything else is refused."""
    refuse_masked([x], source)
    try:
        values = np.asarray(x)
    except ValueError as error:
        raise InvalidArgument(
            f"{source}: inputs must all have one shape ({error}): give each the same number of "
            "values"
        ) from error
    if not _real(values.dtype):
        raise InvalidArgument(
            f"{source}: inputs must be real numbers, got {values.dtype}: convert them to float"
        )
    if values.ndim < 2:
        raise InvalidArgument(
            f"{source}: inputs have shape {values.shape}: the first axis counts the inputs, the "
            "others are one input; give inputs of one number as x[:, None]"
        )
    if values.size == 0:
        raise InvalidArgument(
            f"{source} holds no inputs: the array has shape {values.shape}; give at least one"
        )
    return values


def refuse_masked(values: Sequence[Any], source: str) -> None:
    """Refuse arrays with masked entries: what lies under a mask is no value."""
    if any(isinstance(one, np.ma.MaskedArray) and np.ma.is_masked(one) for one in values):
        raise InvalidArgument(
            f"{source}: some values are masked: fill them in (x.filled(0), for example), or leave "
            "those inputs out"
        )


def _targets(values: Any, source: str) -> tuple[Any, ...]:  # noqa: ANN401  true outputs in any form
    """One true output an input; of an array each row is one."""
    values = on_host(values)
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__len__"):
        raise InvalidArgument(
            f"{source}: targets must be a list or an array with one true output for each input, "
            f"got {type(values).__name__}"
        )
    if len(values) == 0:
        raise InvalidArgument(f"{source}: targets are empty: give one for each input")
    return tuple(values)


def _real(dtype: np.dtype[Any]) -> bool:
    return np.issubdtype(dtype, np.integer) or np.issubdtype(dtype, np.floating)


def image_frame(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape if one input can be drawn as an image, else empty."""
    flat = len(shape) == 2
    coloured = len(shape) == 3 and (shape[0] in (1, 3) or shape[-1] in (1, 3))
    return shape if (flat or coloured) and min(sorted(shape)[-2:]) >= 4 else ()


def channels_last(frame: tuple[int, ...]) -> bool:
    """Whether an image's last axis is its colour."""
    return len(frame) == 3 and frame[-1] in (1, 3)


def _refuse_nan(inputs: Inputs) -> None:
    finite = [
        np.isfinite(inputs.x[rows].reshape(rows.stop - rows.start, -1)).all(axis=1)
        for rows in pieces(len(inputs), inputs.row_bytes)
    ]
    bad = ~np.concatenate(finite)
    if bad.any():
        first = inputs.ids[int(np.argmax(bad))]
        raise InvalidArgument(
            f"{inputs.source}: {int(bad.sum())} inputs hold NaN or infinite values, the first is "
            f"{first}: correct them or leave them out"
        )
