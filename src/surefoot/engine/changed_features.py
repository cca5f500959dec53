"""The columns of a table that a trial changed, in the words of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.perturb.table.columns import Feature as ColumnNoise
from surefoot.records.examples import Change
from surefoot.subject.inputs import Feature, Inputs
from surefoot.subject.protocols import Perturbation


def changed_features(
    inputs: Inputs, perturbation: Perturbation, row: int, after: NDArray[np.floating], most: int
) -> tuple[Change, ...]:
    """Columns that changed, at most so many: categories first, then by the spread of the column."""
    before = inputs.x[row]
    stated = _stated(perturbation)
    spread = inputs.x.std(axis=0, dtype=np.float64)
    moved = np.abs(after.astype(np.float64) - before) / np.where(spread > 0, spread, 1)
    for place, feature in enumerate(inputs.features):
        if _names(feature, stated.get(feature.name)) and moved[place] > 0:
            moved[place] = np.inf
    order = np.argsort(-moved, kind="stable")[:most]
    return tuple(
        _change(inputs.features[i], stated.get(inputs.features[i].name), before[i], after[i])
        for i in order.tolist()
        if moved[i] > 0
    )


def _stated(perturbation: Any) -> dict[str, ColumnNoise]:  # noqa: ANN401  any perturbation
    """What the perturbation says of each column, and so its parts."""
    inner = getattr(perturbation, "inner", None)
    parts = (*getattr(perturbation, "parts", ()), *filter(None, [inner]))
    stated = {name: column for part in parts for name, column in _stated(part).items()}
    own = getattr(perturbation, "features", ())
    return stated | {c.name: c for c in own if isinstance(c, ColumnNoise)}


def _names(feature: Feature, stated: ColumnNoise | None) -> dict[float, str]:
    """The name of each code; empty for a number."""
    if feature.categories:
        return {float(i): str(name) for i, name in enumerate(feature.categories)}
    if stated is not None and stated.values:
        texts = stated.categories or tuple(f"{value:g}" for value in stated.values)
        return dict(zip(stated.values, texts, strict=True))
    return {}


def _change(
    feature: Feature, stated: ColumnNoise | None, before: np.floating, after: np.floating
) -> Change:
    names = _names(feature, stated)
    values = float(before), float(after)
    texts = tuple(names.get(value, "") for value in values)
    return Change(
        feature.name,
        *values,
        unit=feature.unit or (stated.unit if stated is not None else ""),
        names=texts if all(texts) else (),
    )
