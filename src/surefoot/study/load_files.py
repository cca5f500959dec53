"""Model and data files, read and chosen as the options of a command line or a record say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.catalogue import registry
from surefoot.core.results import Interval
from surefoot.engine.label_check import most_tried
from surefoot.engine.outputs import clean_labels
from surefoot.errors import InvalidArgument
from surefoot.inputs import Selection, fit, load_inputs
from surefoot.inputs import select as choose
from surefoot.inputs.images import Shape, frame_of
from surefoot.inputs.media import READING as SOUND_READING
from surefoot.models import declared_shape, load_model
from surefoot.models.endpoint_connection import is_address, refuse_unused_variable
from surefoot.models.load_options import scores_kind
from surefoot.records.options import FileOptions, duration
from surefoot.subject.inputs import Classified, Inputs
from surefoot.subject.protocols import Model, Scores, Signature


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
    seen: list[tuple[NDArray[np.intp], list[tuple[NDArray[np.int64], NDArray[np.bool_]]]]] = []

    def common_label(rows: NDArray[np.intp]) -> NDArray[np.int64]:
        answers = [clean_labels(m, ready.x[rows]) for m, ready in zip(models, fitted, strict=True)]
        seen.append((rows, answers))
        first, _ = answers[0]
        same = np.all([alone & (labels == first) for labels, alone in answers], axis=0)
        return np.where(same, first, -1)

    first, who = (fitted[0], "the model classifies")
    if len(models) > 1:
        first, who = inputs, f"all {len(models)} models classify"
    chosen = choose(first, selection, common_label, who)
    if not seen or inputs.labels is None:
        return chosen
    rows = np.concatenate([some for some, _ in seen])
    labels, answers = inputs.labels[rows], {}
    for i, (one, ready) in enumerate(zip(models, fitted, strict=True)):
        predicted, alone = (np.concatenate(p) for p in zip(*(a[i] for _, a in seen), strict=True))
        answers[one.signature.digest] = Classified(
            ready.x[rows[: most_tried(ready.row_bytes)]], labels, predicted,
            alone & (predicted == labels),
        )  # fmt: skip
    return replace(chosen, classified=answers)


_READING_OF_MODEL = (
    "bounds", "mean", "std", "normalise", "scores", "shape", "output", "device", "half", "trust",
    "token_variable", "call_limit",
)  # fmt: skip
_READING_OF_DATA = (
    "labels", "label_pattern", "scale", "size", "length", "class_names", "group", "read_as",
)  # fmt: skip

SELECTION_SEEDS = 2**32
"""Seeds that are equal up to a multiple of this choose the same inputs: so the cells of a suite,
each with random numbers of its own, are studied on the inputs of one choice."""


def load_files(
    options: FileOptions,
    models: Sequence[Any],
    data: Any,  # noqa: ANN401  any kind of data
    seed: int,
    needs: Scores | None = None,
) -> tuple[list[Model], Inputs]:
    """Models, and the inputs chosen for all of them; the seed is for a random choice.

    Models and data as `load_model` and `load_inputs` take them, `(x, y)` too, or loaded ones.
    `needs` is what the property reads: values and objects say how the model is read too.
    """
    loaded_already = any(_is_loaded(model) for model in models)
    if needs is not None and not (needs.of_classes or options.scores or loaded_already):
        return load_files(replace(options, scores=str(needs)), models, data, seed)
    refuse_unused_variable(options.token_variable, list(models))
    shape = _shape(options, models, data)
    inputs = _inputs(options, data, options.scale, shape)
    pixels, bounds = _is_pixels(inputs), _usual_bounds(inputs)
    loaded = [_model(options, path, inputs, bounds) for path in models]
    fitted = {getattr(model, "class_names", ()) for model in loaded}
    named = isinstance(data, Inputs) or options.class_names
    if inputs.features and inputs.labels is not None and not named and fitted != {()}:
        if len(fitted) > 1:
            raise InvalidArgument(
                "these models were fitted with other classes than one another: they cannot be "
                "compared on the same labels; study them apart"
            )
        # labels are numbered as the classes that the estimators were fitted with
        inputs = _inputs(replace(options, class_names=fitted.pop()), data, None, None)
    whole_numbers = {model.signature.whole_numbers for model in loaded}
    if len(whole_numbers) > 1:
        raise InvalidArgument(
            "some of these models take integers (uint8) and some do not: they cannot be given "
            "the same inputs; study them apart"
        )
    if True in whole_numbers and pixels and options.scale is None:
        if isinstance(data, Inputs):
            raise InvalidArgument(
                f"{data.source} was divided by 255, and the model takes integers (uint8): load "
                "it with scale=1"
            )
        inputs = _inputs(options, data, 1.0, shape)
        loaded = [_model(options, path, inputs, "0,255") for path in models]
    selection = Selection(
        classes=_class_numbers(options.classes, inputs),
        first=options.first,
        random=options.random,
        seed=seed % SELECTION_SEEDS,
        correct_only=options.correct_only,
    )
    _check_random(options, inputs, selection.classes)
    return loaded, select(inputs, loaded, selection)


def _check_random(options: FileOptions, inputs: Inputs, classes: Sequence[int]) -> None:
    """Refuse to draw more inputs than there are."""
    rows, of_classes = np.ones(len(inputs), dtype=bool), ""
    if classes and inputs.labels is not None:
        rows = np.isin(inputs.labels, classes)
        of_classes = f" of classes {options.classes}"
    available, unit = int(rows.sum()), "inputs"
    if inputs.groups:
        available, unit = len({inputs.groups[i] for i in np.flatnonzero(rows)}), "groups"
    if options.random is not None and options.random > available > 0:
        raise InvalidArgument(
            f"random (--random) {options.random}: {inputs.source} has {available} {unit}"
            f"{of_classes}; write {available} or less, or leave it out"
        )


def _shape(options: FileOptions, models: Sequence[Any], data: Any) -> Shape:  # noqa: ANN401  any kind of data or model
    """The shape that the models state, for images: they are resized to it."""
    if not isinstance(data, str | Path):
        return None
    images = Path(data).is_dir() or str(data).lower().endswith(".csv")
    if options.shape is not None or not images:
        return registry.shape(options.shape)
    files = [model for model in models if isinstance(model, str | Path)]
    shapes = {str(name): declared_shape(name, options.token_variable) for name in files}
    stated = {name: shape for name, shape in shapes.items() if shape is not None}
    frames = {name: frame_of(shape).size for name, shape in stated.items()}
    sizes = {size: name for name, size in frames.items() if size is not None}
    if len(sizes) > 1 and options.size is None:
        (one, first), (other, second) = list(sizes.items())[:2]
        raise InvalidArgument(
            f"{first} takes images of {one} pixels and {second} of {other}: models are "
            "compared on the same images; export them for one size"
        )
    return next(iter(stated.values()), None)


def _inputs(options: FileOptions, data: Any, scale: float | None, shape: Shape) -> Inputs:  # noqa: ANN401  any kind of data or model
    if isinstance(data, Inputs):
        _refuse(options, "data", _READING_OF_DATA)
        return data
    labels, stated = options.labels, scores_kind(options.scores)
    if isinstance(data, tuple) and len(data) == 2:
        if labels is not None:
            raise InvalidArgument("data (x, y) has labels of its own: leave out labels=")
        data, labels = data
    return load_inputs(
        data,
        labels,
        class_names=options.class_names or (),
        scale=scale,
        size=registry.size(options.size),
        shape=shape,
        length=options.length,
        label_pattern=options.label_pattern,
        read_as=options.read_as,
        groups=options.group,
        # of a model that is said to give no class scores, labels are true outputs
        targets=True if stated is not None and not stated.of_classes else None,
    )


def _model(options: FileOptions, source: Any, inputs: Inputs, bounds_of_data: str | None) -> Model:  # noqa: ANN401  any kind of data or model
    bounds = bounds_of_data if options.bounds is None else options.bounds
    if _is_loaded(source):
        _refuse(options, "model", _READING_OF_MODEL)
        loaded: Model = source
        return loaded
    limit = options.call_limit
    return load_model(
        source,
        bounds=bounds
        if isinstance(bounds, Interval)
        else registry.numbers("bounds", bounds, "0,1"),
        mean=registry.numbers("mean", options.mean, "0.5,0.4,0.4"),
        std=registry.numbers("std", options.std, "0.2,0.2,0.3"),
        normalise=options.normalise,
        scores=options.scores,
        shape=registry.shape(options.shape),
        data_shape=None if inputs.holds_items else inputs.x.shape[1:],
        examples=inputs if inputs.holds_items else None,
        features=inputs.features,
        output=options.output,
        device=options.device,
        half=options.half,
        trust=options.trust,
        token_variable=options.token_variable if is_address(source) else None,
        call_limit=None if limit is None else duration("call_limit", limit),
    )


def _refuse(options: FileOptions, what: str, names: Sequence[str]) -> None:
    """An option that is about reading, where nothing is read."""
    for name in names:
        if getattr(options, name) is not None and getattr(options, name) is not False:
            raise InvalidArgument(
                f"{name} is for a {what} that is read here, and this {what} is loaded already: "
                f"pass {name} where you load it"
            )


def _is_loaded(model: Any) -> bool:  # noqa: ANN401  any kind of model
    return isinstance(getattr(model, "signature", None), Signature)


def _usual_bounds(inputs: Inputs) -> str | None:
    """The range of pixels and of sounds; other data have none that is known."""
    if inputs.reading.startswith(SOUND_READING):
        return "-1,1"
    return "0,1" if _is_pixels(inputs) else None


def _is_pixels(inputs: Inputs) -> bool:
    return inputs.reading.split("; ")[0] == "values divided by 255"


def _class_numbers(classes: str | Sequence[int | str] | None, inputs: Inputs) -> tuple[int, ...]:
    if classes is None:
        return ()
    numbers = []
    for part in (text.strip() for text in registry.texts(classes)):
        if part in inputs.class_names:
            numbers.append(inputs.class_names.index(part))
        elif part.isdecimal() and len(part) <= registry.MOST_DIGITS:
            numbers.append(int(part))
        else:
            raise InvalidArgument(
                f"there is no class {part[:60]!r} in {inputs.source}: give numbers or names of "
                "classes"
            )
    return tuple(numbers)
