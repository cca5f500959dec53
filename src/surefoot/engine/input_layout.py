"""How an input looks to a perturbation, and how it looks to the model."""

from __future__ import annotations

import math

import numpy as np
from array_api_compat import array_namespace

from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.inputs.arrays import channels_last
from surefoot.subject import Array, Drawn, Inputs, Perturbation, View


def refuse_unsuited(inputs: Inputs, perturbation: Perturbation) -> None:
    """A image's perturbation needs images, a signal's a signal."""
    shape = inputs.x.shape[1:]
    if perturbation.view is View.IMAGE and not inputs.frame:
        raise InvalidArgument(
            f"{perturbation.kind} is for images, but one input of {inputs.source} has shape "
            f"{shape}: give images, or choose a perturbation of values such as linf"
        )
    if perturbation.view is View.SERIES and len(shape) > 2:
        raise InvalidArgument(
            f"{perturbation.kind} is for signals, of shape (length,) or (channels, length), but "
            f"one input of {inputs.source} has shape {shape}"
        )


def seen(x: Array, inputs: Inputs, view: View) -> Array:
    """Rows as the perturbation wants them; a view of the same numbers where possible."""
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


def unseen(y: Array, inputs: Inputs, view: View) -> Array:
    """Rows as the model wants them again."""
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
    """Of two axes the longer one is time."""
    return shape[0] > shape[1]


def draws_nothing(perturbation: Perturbation, inputs: Inputs) -> bool:
    """Whether the perturbation leaves nothing to chance: every trial of an input is the same."""
    one = seen(inputs.x[:1], inputs, perturbation.view)
    source = stream(0, "", perturbation.kind, 0, one)
    return _is_empty(perturbation.draw(source, 1, one.shape[1:]))


def _is_empty(drawn: Drawn) -> bool:
    if isinstance(drawn, tuple):
        return all(_is_empty(part) for part in drawn)
    return bool(math.prod(drawn.shape) == 0)
