"""The model's outputs and labels for the clean inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import ModelFailed, OutOfMemory
from surefoot.models.scores import refuse_regressor
from surefoot.subject.protocols import Model, Outputs, Scores, to_host
from surefoot.system.memory_limits import rows_together

_BATCH = 256
"""Inputs of a batch: most models run it quickly, and most machines have room for it."""


def clean_batches(
    model: Model, x: NDArray[np.float32], batch: int | None = None
) -> Iterator[tuple[int, Outputs]]:
    """The first row and the outputs of each batch, in main memory.

    Without `batch` as many inputs as most machines have room for go into one. Batches are halved
    while they do not fit into memory. Batches and outputs are copied, because a
    model may write to either.
    """
    batch = batch or clean_batch_size(x)
    start = 0
    while start < len(x):
        try:
            outputs = model.predict(model.place(x[start : start + batch].copy()))
        except OutOfMemory:
            if batch == 1:
                raise
            batch //= 2
            continue
        yield start, outputs if isinstance(outputs, list) else to_host(outputs).copy()
        start += batch


def clean_batch_size(x: NDArray[np.float32]) -> int:
    """Inputs that are classified together: as many as most machines have room for."""
    return min(_BATCH, len(x), rows_together(x.nbytes // max(1, len(x)))) or 1


def joined(parts: list[Outputs]) -> Outputs:
    """Arrays or lists one after the other."""
    if isinstance(parts[0], list):
        return [one for part in parts for one in part]
    return np.concatenate(parts)


def clean_outputs(model: Model, x: NDArray[np.float32], batch: int | None = None) -> Outputs:
    """What the model gives for the clean inputs: an array, or a list of objects."""
    return joined([outputs for _, outputs in clean_batches(model, x, batch)])


def clean_labels(model: Model, x: NDArray[np.float32]) -> NDArray[np.int64]:
    """The label that the model predicts for each clean input."""
    labels: NDArray[np.int64] = finite_scores(model, x).argmax(axis=1).astype(np.int64)
    return labels


def finite_scores(model: Model, x: NDArray[np.float32]) -> NDArray[np.floating]:
    """Scores of the clean inputs; an error if any is NaN or infinite, or no score of two classes.

    One column within [0, 1] is a probability; where the data show other numbers, it is none.
    """
    scores: NDArray[np.floating] = clean_outputs(model, x)
    refuse_infinite(scores)
    if model.signature.scores is Scores.PROBABILITIES and model.signature.classes == 2:
        refuse_regressor(scores[:, 1])
    return scores


def refuse_infinite(outputs: Any) -> None:  # noqa: ANN401  objects are checked where they are read
    """Refuse NaN and infinity among the outputs of clean inputs."""
    if not isinstance(outputs, list) and not np.isfinite(outputs).all():
        raise ModelFailed(
            "scores must be finite, but the model returns NaN or infinity for clean inputs: check "
            "its weights and the scale of the inputs"
        )
