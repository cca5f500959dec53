"""Checks of a table before a run: do its columns stay what they are, and does the model know them?

A column of categories holds codes, a column of integers holds whole numbers: noise that makes
anything else of them would be measured on rows that no table has.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.function_checks import parts_with
from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.perturb.table.columns import Column
from surefoot.perturb.table.columns import Feature as ColumnNoise
from surefoot.subject.inputs import Feature, Inputs
from surefoot.subject.protocols import Model, Perturbation

_SHOWN = 3
"""Columns named in a finding."""
_SMALL = 0.25
"""Standard deviation of noise that rounding leaves alone in fewer than 5 of 100 trials."""
_APART = 10
"""Factor between the changes of two columns, each in its standard deviations, from which on one
level is not the same strength in both: columns that were standardised are at 1, iris at 4."""
_CODED = (
    "if a column of numbers is a category for the model, give it the noise 0, or the values that "
    "it may take (features=…)"
)
_WAY_OUT = "choose a perturbation that keeps columns what they are, such as table:0.1sd"


def refuse_other_classes(inputs: Inputs, model: Model) -> None:
    """Raise if an estimator was fitted with the classes of the inputs in another order."""
    fitted: tuple[str, ...] = getattr(model, "class_names", ())
    names = inputs.class_names
    if inputs.labels is None or names == fitted or not set(names) & set(fitted):
        return
    raise InvalidArgument(
        f"the estimator was fitted with the classes {', '.join(fitted)}, but {inputs.source} "
        f"numbers its labels {', '.join(names)}: pass class_names=list(estimator.classes_) to "
        "load_inputs"
    )


def column_problems(
    inputs: Inputs,
    model: Model,
    perturbation: Perturbation | None,
    perturbed: NDArray[np.floating],
) -> tuple[str, str]:
    """What is wrong with the columns of these perturbed rows, and what is doubtful; else empty."""
    kind = "" if perturbation is None else f"{perturbation.kind}: "
    if problem := _broken_category(inputs, perturbed):
        return kind + problem, ""
    frames = hasattr(getattr(model, "run", None), "frame")
    unknown = ""
    if frames:
        try:
            unknown = _unknown_values(model, perturbed)
        except ModelFailed as error:
            if "unknown categor" not in str(error):
                raise
            return f"{kind}{error}: {_CODED}", ""
    doubts = [
        unknown,
        _broken_integers(inputs, perturbed),
        _rounded_away(perturbation),
        "" if frames else _codes(inputs.features),
    ]
    return "", "; ".join(filter(None, doubts))


def _unknown_values(model: Model, perturbed: NDArray[np.floating]) -> str:
    """What an encoder says of values that it was not fitted on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(model.place(perturbed.astype(np.float32)))
    texts = [str(warning.message) for warning in caught]
    known = next((text for text in texts if "unknown categor" in text), "")
    return f"{known.partition('. ')[0]}: {_CODED}" if known else ""


def _broken_category(inputs: Inputs, perturbed: NDArray[np.floating]) -> str:
    """The first column of categories that holds something else."""
    for place, feature in enumerate(inputs.features):
        values = perturbed[:, place]
        if not feature.categories:
            continue
        wrong = ~np.isin(values, np.arange(len(feature.categories)))
        if wrong.any():
            return (
                f"{feature.name} is one of {_some(feature.categories)}, but becomes the code "
                f"{float(values[np.argmax(wrong)]):g}, which is none of them: {_WAY_OUT}"
            )
    return ""


def _broken_integers(inputs: Inputs, perturbed: NDArray[np.floating]) -> str:
    broken = [
        feature.name
        for place, feature in enumerate(inputs.features)
        if feature.whole and (perturbed[:, place] != np.round(perturbed[:, place])).any()
    ]
    return f"not whole numbers any more: {_some(broken)}: {_WAY_OUT}" if broken else ""


def _rounded_away(perturbation: Perturbation | None) -> str:
    """Columns of integers whose noise is nearly always rounded to nothing."""
    level = None if perturbation is None else perturbation.level
    features: tuple[Column, ...] = getattr(perturbation, "features", ())
    small = [
        f.name
        for f in features
        if isinstance(f, ColumnNoise) and f.whole and 0 < (f.noise or 0) * (level or 0) < _SMALL
    ]
    if not small:
        return ""
    return (
        f"hardly ever changed, since noise is rounded to whole numbers: {_some(small)}: choose a "
        "higher level, or give them a larger noise of their own"
    )


def uneven_changes(
    inputs: Inputs, perturbation: Perturbation | None, changes: NDArray[np.floating]
) -> str:
    """The columns that are changed by most and by least, in their own spread; empty where alike.

    `changes` has one row for each trial. Noise that is stated for each column is meant so.
    """
    if perturbation is None or parts_with(perturbation, "features"):
        return ""
    size = np.sqrt((changes.astype(np.float64) ** 2).mean(axis=0))
    spread = inputs.x.std(axis=0, dtype=np.float64)
    places = np.flatnonzero((size > 0) & (spread > 0))
    if not places.size:
        return ""
    shares = size[places] / spread[places]
    most, least = int(shares.argmax()), int(shares.argmin())
    factor = shares[most] / shares[least]
    if factor < _APART:
        return ""
    of_most, of_least = (
        f"{inputs.features[places[i]].name} by about {shares[i]:.2g} of its standard deviations"
        for i in (most, least)
    )
    return (
        f"{perturbation.kind} changes {of_most} and {of_least}, a factor of "
        f"{float(f'{factor:.2g}'):,.0f}: for noise in proportion to each column choose table:0.1sd"
    )


def largest_change(inputs: Inputs, perturbed: NDArray[np.floating]) -> float:
    """The largest change of a value, as a share of the range of its column."""
    low, high = inputs.x.min(axis=0), inputs.x.max(axis=0)
    span = np.where(high > low, high - low, 1)
    return float((np.abs(perturbed - inputs.x[:1]) / span).max())


def _codes(features: tuple[Feature, ...]) -> str:
    """Columns of text or categories, which a model of plain numbers gets as codes, or empty."""
    coded = [f for f in features if f.categories and f.dtype != "bool"]
    if not coded:
        return ""
    first = coded[0]
    return (
        f"the model takes numbers, so {_some([f.name for f in coded])} are given as codes "
        f"({first.name}: 0 is {first.categories[0]}, {len(first.categories) - 1} is "
        f"{first.categories[-1]}): was it trained with these?"
    )


def _some(names: tuple[object, ...] | list[str]) -> str:
    return ", ".join(map(str, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
