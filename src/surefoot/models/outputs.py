"""From whatever a model returns to rows of scores, rows of values, or a list of objects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from surefoot.errors import ModelFailed
from surefoot.graph.score_rows import as_rows
from surefoot.subject.items import on_host
from surefoot.subject.protocols import Array, Outputs, Scores


def read_output(raw: Any, expected: int, scores: Scores) -> Outputs:  # noqa: ANN401  what a model returns
    """The output for `expected` inputs, as the kind of scores says."""
    if scores is Scores.OBJECTS:
        return as_objects(raw, expected)
    if isinstance(raw, Mapping):
        raise ModelFailed(
            f"the model answered with a dict of {', '.join(map(str, raw))}: let it return the "
            "scores alone, or under the name logits"
        )
    array = raw if hasattr(raw, "shape") and hasattr(raw, "dtype") else np.asarray(raw)
    if array.dtype == np.object_:
        raise ModelFailed(
            "the model answered with objects, not with numbers: where each input gets an object, "
            'such as boxes, pass scores="objects" (--scores objects) and a property of objects, '
            "such as boxes:0.5"
        )
    return as_values(array, expected) if scores is Scores.VALUES else as_rows(array, expected)


def as_values(raw: Array, expected: int) -> Array:
    """(n, *shape) of real numbers; one number for each input becomes a column."""
    if raw.ndim == 0 or raw.shape[0] != expected:
        raise ModelFailed(
            f"the model answered {expected} inputs with an output of shape {tuple(raw.shape)}: the "
            "first axis must be the batch; let it give one row for each input"
        )
    if math.prod(raw.shape[1:]) == 0:
        raise ModelFailed(
            f"the model answered with an output of shape {tuple(raw.shape)}: let it return at "
            "least one value for each input"
        )
    if isinstance(raw, np.ndarray) and raw.dtype.kind not in "fiubc":
        raise ModelFailed(
            f"the model answered with {raw.dtype}: numbers are needed; let it return an array of "
            "numbers"
        )
    xp = array_namespace(raw)
    if xp.isdtype(raw.dtype, "complex floating"):
        raise ModelFailed(
            f"the model answered with {raw.dtype}: real numbers are needed; let it return floats"
        )
    if xp.isdtype(raw.dtype, "bool"):
        raw = xp.astype(raw, xp.uint8)
    return xp.reshape(raw, (expected, 1)) if raw.ndim == 1 else raw


def as_objects(raw: Any, expected: int) -> list[Any]:  # noqa: ANN401  what a model returns
    """One object for each input, in main memory; of an array each row is one."""
    if hasattr(raw, "shape") or (isinstance(raw, Sequence) and not isinstance(raw, str)):
        raw = on_host(raw) if hasattr(raw, "shape") else raw
        if len(raw) == expected:
            return [on_host(one) for one in raw]
        number = f"{len(raw)} objects"
    else:
        number = f"one {type(raw).__name__}"
    raise ModelFailed(
        f"the model answered {expected} inputs with {number}: let it return a list with one object "
        "for each input"
    )
