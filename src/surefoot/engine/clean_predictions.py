"""What the model says of the clean inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import ModelFailed, OutOfMemory
from surefoot.subject import Model, to_host

_CHUNK = 256


def clean_scores(model: Model, x: NDArray[np.float32], most: int = _CHUNK) -> NDArray[np.floating]:
    """Scores of the clean inputs, in modest batches; smaller ones where memory is short.

    Each batch is a copy, and so is each answer: a model may write to either.
    """
    try:
        parts = [
            to_host(model.predict(model.place(x[i : i + most].copy()))).copy()
            for i in range(0, len(x), most)
        ]
    except OutOfMemory:
        if most == 1:
            raise
        return clean_scores(model, x, most // 2)
    return np.concatenate(parts)


def clean_labels(model: Model, x: NDArray[np.float32]) -> NDArray[np.int64]:
    """What the model predicts for the clean inputs."""
    labels: NDArray[np.int64] = finite_scores(model, x).argmax(axis=1).astype(np.int64)
    return labels


def finite_scores(model: Model, x: NDArray[np.float32]) -> NDArray[np.floating]:
    """The scores of clean inputs; refused where one is not a number."""
    scores = clean_scores(model, x)
    if not np.isfinite(scores).all():
        raise ModelFailed("the model returns NaN or infinite scores for clean inputs")
    return scores
