"""Bring inputs into the shape a model takes, where only one way is possible."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.inputs.arrays import image_frame
from surefoot.subject.inputs import Inputs


def fit(inputs: Inputs, shape: tuple[int, ...]) -> Inputs:
    """The same points as the model wants them: channels moved, added or dropped, or flattened."""
    have = inputs.x.shape[1:]
    if have == shape:
        return inputs
    if inputs.holds_items or shape == ():
        takes = f"arrays of shape {shape}" if shape else "a list of items"
        raise InvalidArgument(
            f"the model takes {takes}, but {inputs.source} holds {inputs.content}: load a function "
            "of a list of items with examples=inputs, and one of arrays with shape=(…)"
        )
    squeezed = tuple(n for n in shape if n != 1)
    if squeezed == tuple(n for n in have if n != 1):
        x = inputs.x.reshape(len(inputs), *shape)
        return replace(inputs, x=x, frame=image_frame(shape), axes=())
    if len(have) == 3 and len(shape) == 3:
        last_to_first = (have[2], have[0], have[1]) == shape and have[2] in (1, 3, 4)
        first_to_last = (have[1], have[2], have[0]) == shape and have[0] in (1, 3, 4)
        if last_to_first or first_to_last:
            axes = (2, 0, 1) if last_to_first else (1, 2, 0)
            x = np.ascontiguousarray(inputs.x.transpose(0, *(a + 1 for a in axes)))
            whole = tuple(inputs.axes[a] for a in axes) if inputs.axes else axes
            moved = () if whole == (0, 1, 2) else whole
            return replace(inputs, x=x, frame=image_frame(shape), axes=moved)
    one_way = len(squeezed) == 1 or len(have) == 1
    if one_way and math.prod(have) == math.prod(shape):
        frame = inputs.frame if len(squeezed) == 1 else image_frame(shape)
        return replace(inputs, x=inputs.x.reshape(len(inputs), *shape), frame=frame, axes=())
    raise InvalidArgument(
        f"the model takes inputs of shape {shape}, but {inputs.source} holds {have}: "
        "resize or rearrange the data (arrays are taken as they are; files of images are resized)"
    )
