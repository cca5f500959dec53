"""Whether a model answers after an attack as it did before: only then do its answers count."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.output_difference import LARGEST_DIFFERENCE, ROUNDING, largest_difference
from surefoot.errors import ModelChanged
from surefoot.subject.protocols import Model, to_host


def answers(model: Model, x: NDArray[np.float32]) -> NDArray[np.floating]:
    """What the model gives for these inputs, in memory that nobody else writes to."""
    return to_host(model.predict(model.place(x.copy()))).copy()


def check_unchanged(
    model: Model, x: NDArray[np.float32], before: NDArray[np.floating], attack: str
) -> None:
    """Refuse a model that answers the clean inputs otherwise than it did before the attack.

    Rounding is allowed, and of a model that does not repeat itself what the checks before a run
    allow.
    """
    after = answers(model, x)
    if np.array_equal(before, after, equal_nan=True):
        return
    apart = largest_difference(before, after)
    if apart <= ROUNDING:
        return
    repeats = largest_difference(after, answers(model, x)) == 0
    if repeats or not apart <= LARGEST_DIFFERENCE:
        raise changed(attack)


def changed(attack: str) -> ModelChanged:
    """The error of an attack after which the model is another."""
    return ModelChanged(
        f"{attack} changed the model, which answers clean inputs otherwise than before, so that "
        "its points count for nothing: let the attack work on a copy of the model, and load the "
        "model again"
    )
