"""The layout of an input for a perturbation, and back to the layout of the model."""

from __future__ import annotations

import math

import numpy as np
from array_api_compat import array_namespace

from surefoot.engine.streams import stream
from surefoot.inputs.arrays import channels_last
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Array, Drawn, Perturbation, View


def to_view(x: Array, inputs: Inputs, view: View) -> Array:
    """Rows in the layout of the perturbation's view; the same memory where possible."""
    xp = array_namespace(x)
    frame = inputs.frame
    match view:
        case View.IMAGE:
            if len(frame) == 2:
                return xp.reshape(x, (len(x), 1, *frame))
            whole = xp.reshape(x, (len(x), *frame))
            return xp.permute_dims(whole, (0, 3, 1, 2)) if channels_last(frame) else whole
        case View.SERIES:
            if x.ndim == 2:
                return x[:, None, :]
            return xp.permute_dims(x, (0, 2, 1)) if _time_first(x.shape[1:]) else x
        case View.VALUES:
            if not inputs.axes:
                return x
            return xp.permute_dims(x, (0, *(int(a) + 1 for a in np.argsort(inputs.axes))))


def from_view(y: Array, inputs: Inputs, view: View) -> Array:
    """Rows back in the layout of the model."""
    xp = array_namespace(y)
    shape = inputs.x.shape[1:]
    match view:
        case View.IMAGE:
            if channels_last(inputs.frame):
                y = xp.permute_dims(y, (0, 2, 3, 1))
        case View.SERIES:
            if len(shape) == 2 and _time_first(shape):
                y = xp.permute_dims(y, (0, 2, 1))
        case View.VALUES:
            if inputs.axes:
                y = xp.permute_dims(y, (0, *(a + 1 for a in inputs.axes)))
    whole = xp.reshape(y, (len(y), *shape))
    return np.ascontiguousarray(whole) if isinstance(whole, np.ndarray) else whole


def _time_first(shape: tuple[int, ...]) -> bool:
    """Whether time is the first of two axes: the longer one is time."""
    return shape[0] > shape[1]


def draws_nothing(perturbation: Perturbation, inputs: Inputs) -> bool:
    """Whether the perturbation is not random: every trial of an input is the same."""
    one = to_view(inputs.x[:1], inputs, perturbation.view)
    source = stream(0, "", perturbation.kind, 0, one)
    return _is_empty(perturbation.draw(source, 1, one.shape[1:]))


def _is_empty(drawn: Drawn) -> bool:
    if isinstance(drawn, tuple):
        return all(_is_empty(part) for part in drawn)
    return bool(math.prod(drawn.shape) == 0)
