"""Choosing inputs where the choice may depend on the model."""

from __future__ import annotations

from surefoot.engine.preflight import clean_labels
from surefoot.inputs import Selection, fit
from surefoot.inputs import select as chosen
from surefoot.subject import Inputs, Model


def select(inputs: Inputs, model: Model, selection: Selection) -> Inputs:
    """The chosen inputs; the result of a study says how they were chosen."""
    ready = fit(inputs, model.signature.shape)
    return chosen(ready, selection, lambda x: clean_labels(model, x))
