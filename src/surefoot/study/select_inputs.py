"""Choosing inputs where the choice may depend on the model, or on all of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.outputs import clean_labels
from surefoot.errors import InvalidArgument
from surefoot.inputs import Selection, fit
from surefoot.inputs import select as choose
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model


def select(inputs: Inputs, model: Model | Sequence[Model], selection: Selection) -> Inputs:
    """The chosen inputs; the result of a study says how they were chosen.

    With several models "correct" means correct for all of them, as a comparison needs it.

    Example: sf.select(inputs, model, sf.Selection(first=10, correct_only=True))
    """
    models = model if isinstance(model, Sequence) else (model,)
    if selection.correct_only and not all(one.signature.classes for one in models):
        raise InvalidArgument(
            "correct_only (--correct-only) keeps inputs that get their true class, and the model "
            "has no classes: leave it out"
        )
    fitted = [fit(inputs, one.signature.shape) for one in models]

    def common_label(rows: NDArray[np.intp]) -> NDArray[np.int64]:
        labels_by_model = [
            clean_labels(m, ready.x[rows]) for m, ready in zip(models, fitted, strict=True)
        ]
        same = np.all([labels == labels_by_model[0] for labels in labels_by_model], axis=0)
        return np.where(same, labels_by_model[0], -1)

    if len(models) == 1:
        return choose(fitted[0], selection, common_label)
    return choose(inputs, selection, common_label, f"all {len(models)} models classify")
