"""Whether inputs get the same outputs in a large batch as in a small one, wherever they stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.engine.clean_predictions import joined
from surefoot.engine.cuda_streams import memory_errors
from surefoot.engine.device_arrays import on_device_of
from surefoot.engine.output_difference import largest_difference
from surefoot.errors import OutOfMemory
from surefoot.subject.protocols import Array, Model, Outputs, to_host

SMALL_BATCH = 16
"""Inputs of the small batches, which are compared with batches of one before a run."""


@dataclass(frozen=True)
class BatchDifference:
    """How far outputs are apart between batches of two sizes, and where most.

    `row` is that of the inputs, `place` the one in the large batch, from 0.
    """

    difference: float
    row: int
    place: int
    small: int
    large: int


def compare_batches(model: Model, x: Array, size: int) -> BatchDifference | None:
    """The inputs, evenly spread from the first to the last place of a batch of this size.

    The other places are filled with the same inputs. Sizes are halved while they do not fit into
    memory; None where no batch is larger than a small one.
    """
    small = min(SMALL_BATCH, len(x))
    while size > small:
        places = np.unique(np.linspace(0, size - 1, min(size, len(x))).astype(np.int64))
        index = np.arange(size) % len(x)
        index[places] = np.arange(len(places))
        try:
            with memory_errors():
                large = _outputs_at(model, x[on_device_of(x, index)], places)
        except (OutOfMemory, MemoryError):
            size //= 2
            continue
        rows = [slice(i, min(i + small, len(places))) for i in range(0, len(places), small)]
        alone = joined([_outputs_at(model, x[part]) for part in rows])
        apart = [largest_difference(alone[i : i + 1], large[i : i + 1]) for i in range(len(places))]
        row = int(np.argmax(apart))
        difference = largest_difference(alone, large)
        return BatchDifference(difference, row, int(places[row]), small, size)
    return None


def _outputs_at(model: Model, x: Array, places: np.ndarray | None = None) -> Outputs:
    """The outputs at these places of a batch, or all, in memory that nobody else writes to."""
    outputs = model.predict(x)
    if isinstance(outputs, list):
        return outputs if places is None else [outputs[i] for i in places.tolist()]
    return to_host(outputs if places is None else outputs[on_device_of(outputs, places)]).copy()
