"""The model's scores and labels for the clean inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import ModelFailed, OutOfMemory
from surefoot.subject import Model, to_host

_BATCH = 256
"""Inputs of a batch: most models run it quickly, and most machines have room for it."""


def clean_scores(model: Model, x: NDArray[np.float32], batch: int = _BATCH) -> NDArray[np.floating]:
    """Scores of the clean inputs. Batches are halved while they do not fit into memory.

    Batches and scores are copied, because a model may write to either.
    """
    try:
        parts = [
            to_host(model.predict(model.place(x[i : i + batch].copy()))).copy()
            for i in range(0, len(x), batch)
        ]
    except OutOfMemory:
        if batch == 1:
            raise
        return clean_scores(model, x, batch // 2)
    return np.concatenate(parts)


def clean_labels(model: Model, x: NDArray[np.float32]) -> NDArray[np.int64]:
    """The label that the model predicts for each clean input."""
    labels: NDArray[np.int64] = finite_scores(model, x).argmax(axis=1).astype(np.int64)
    return labels


def finite_scores(model: Model, x: NDArray[np.float32]) -> NDArray[np.floating]:
    """Scores of the clean inputs; an error if any is NaN or infinite."""
    scores = clean_scores(model, x)
    if not np.isfinite(scores).all():
        raise ModelFailed(
            "scores must be finite, but the model returns NaN or infinity for clean inputs: check "
            "its weights and the scale of the inputs"
        )
    return scores
