"""One row of scores an input, from an output of any rank."""

from __future__ import annotations

import math

from array_api_compat import array_namespace

from surefoot.errors import ModelFailed
from surefoot.subject.protocols import Array


def as_rows(raw: Array, expected: int) -> Array:
    """(n, columns) from an output of any rank with one axis of scores."""
    if raw.ndim == 0 or raw.shape[0] != expected:
        raise ModelFailed(
            f"the model answered {expected} inputs with an output of shape {tuple(raw.shape)}: the "
            "first axis must be the batch; let it give one row for each input"
        )
    columns = math.prod(raw.shape[1:])
    if columns == 0 or columns != max(raw.shape[1:], default=1):
        raise ModelFailed(
            f"the model answered with an output of shape {tuple(raw.shape)}: a classifier gives "
            'each input one row of scores; load a model without classes with scores="values" and a '
            "property such as pixels:0.95"
        )
    xp = array_namespace(raw)
    votes = columns > 1 and xp.isdtype(raw.dtype, "integral")
    if not (votes or xp.isdtype(raw.dtype, "real floating")):
        raise ModelFailed(
            f"the model answered with one {raw.dtype} an input: scores of the classes are needed, "
            "not labels; let it give one for each class"
        )
    return xp.reshape(raw, (expected, columns))
