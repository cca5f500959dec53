"""How model and data are read, and which inputs are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli.numbers import number_list
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.store.records import Source
    from surefoot.subject import Inputs, Model

_READING_PANEL, _CHOICE_PANEL = "Reading model and data", "Choosing inputs"


def _reading_option(text: str, name: str | None = None) -> Any:  # noqa: ANN401
    return typer.Option(*filter(None, [name]), help=text, rich_help_panel=_READING_PANEL)


def _choice_option(text: str, name: str | None = None) -> Any:  # noqa: ANN401
    return typer.Option(*filter(None, [name]), help=text, rich_help_panel=_CHOICE_PANEL)


@dataclass(frozen=True)
class InputOptions:
    """How model and data are read and chosen; stored with the run, so a trial can be replayed."""

    bounds: Annotated[
        str | None, _reading_option("Valid range of input values, for example 0,1.")
    ] = None
    mean: Annotated[
        str | None,
        _reading_option(
            "Mean for normalisation: one number, or one per channel: 0.485,0.456,0.406"
        ),
    ] = None
    std: Annotated[
        str | None, _reading_option("Standard deviation for normalisation, like --mean.")
    ] = None
    scores: Annotated[
        str | None,
        _reading_option("What the model returns, if unclear: logits or probabilities."),
    ] = None
    shape: Annotated[
        str | None,
        _reading_option("Shape of one input, if the model does not say: 1,28,28"),
    ] = None
    output: Annotated[str | None, _reading_option("Name of the output of an ONNX file.")] = None
    labels: Annotated[str | None, _reading_option("File with the labels for x.npy.")] = None
    scale: Annotated[
        float | None,
        _reading_option("Divide the data by this (default: 255 for uint8 data, else 1)."),
    ] = None
    size: Annotated[str | None, _reading_option("Resize images to HEIGHTxWIDTH.")] = None
    class_names: Annotated[
        str | None, _reading_option("Names of the classes, comma-separated.")
    ] = None
    device: Annotated[str | None, _reading_option("For PyTorch models: cpu or cuda.")] = None
    half: Annotated[
        bool,
        _reading_option("Run a PyTorch model in half precision; labels may change.", "--half"),
    ] = False
    trust: Annotated[
        bool, _reading_option("Read model files that can execute code (pickles).", "--trust")
    ] = False
    classes: Annotated[
        str | None, _choice_option("Only these classes: numbers or names, comma-separated.")
    ] = None
    first: Annotated[int | None, _choice_option("At most the first N inputs.")] = None
    random: Annotated[int | None, _choice_option("N inputs, chosen at random.")] = None
    correct_only: Annotated[
        bool,
        _choice_option("Only inputs that the model classifies correctly.", "--correct-only"),
    ] = False

    def source(self, model: str, data: str, **more: Any) -> Source:  # noqa: ANN401
        """Where model and data came from, for the record."""
        from surefoot.store.records import Source

        options = {k: v for k, v in asdict(self).items() if v is not None}
        return Source(model, data, {**options, **more})

    def load(self, name: str, data: str, seed: int = 1) -> tuple[Model, Inputs]:
        """Model and chosen inputs; the seed is for a random choice."""
        models, inputs = self.load_all([name], data, seed)
        return models[0], inputs

    def load_all(
        self, paths: Sequence[str], data: str, seed: int = 1
    ) -> tuple[list[Model], Inputs]:
        """Models, and the inputs chosen for all of them."""
        from surefoot.inputs import Selection, load_inputs
        from surefoot.study import select

        names = self.class_names.split(",") if self.class_names else ()
        inputs = load_inputs(
            data, self.labels, class_names=names, scale=self.scale, size=_size(self.size)
        )
        bounds = self.bounds or ("0,1" if _are_scaled_pixels(inputs) else None)
        models = [self._model(path, inputs, bounds) for path in paths]
        whole = {m.signature.whole_numbers for m in models}
        if len(whole) > 1:
            raise InvalidArgument(
                "some of these models take integers (uint8) and some do not: they cannot be given "
                "the same inputs"
            )
        if True in whole and _are_scaled_pixels(inputs) and self.scale is None:
            inputs = load_inputs(
                data, self.labels, class_names=names, scale=1.0, size=_size(self.size)
            )
            models = [self._model(path, inputs, self.bounds or "0,255") for path in paths]
        selection = Selection(
            classes=_class_numbers(self.classes, inputs),
            first=self.first,
            random=self.random,
            seed=seed,
            correct_only=self.correct_only,
        )
        self._check_random(inputs, selection.classes)
        return models, select(inputs, models, selection)

    def _check_random(self, inputs: Inputs, classes: Sequence[int]) -> None:
        """Refuse to draw more inputs than there are."""
        import numpy as np

        available, of_classes = len(inputs), ""
        if classes and inputs.labels is not None:
            available = int(np.isin(inputs.labels, classes).sum())
            of_classes = f" of classes {self.classes}"
        if self.random is not None and self.random > available > 0:
            raise InvalidArgument(
                f"--random {self.random}: {inputs.source} has {available} inputs{of_classes}; "
                f"write {available} or less, or leave out --random"
            )

    def _model(self, name: str, inputs: Inputs, bounds: str | None) -> Model:
        from surefoot.models import load_model

        return load_model(
            name,
            bounds=_numbers(bounds),
            mean=_numbers(self.mean),
            std=_numbers(self.std),
            scores=self.scores,
            shape=_shape(self.shape) or inputs.x.shape[1:],
            output=self.output,
            device=self.device,
            half=self.half,
            trust=self.trust,
        )


def input_options_of(source: Source) -> InputOptions:
    """The options that a record was made with."""
    known = {k: v for k, v in source.options.items() if k in InputOptions.__dataclass_fields__}
    return InputOptions(**known)


def _are_scaled_pixels(inputs: Inputs) -> bool:
    return inputs.reading.split("; ")[0] == "values divided by 255"


def _numbers(text: str | None) -> tuple[float, ...] | None:
    return None if text is None else number_list(text)


def _shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise InvalidArgument(f"--shape must be the shape of one input, as 1,28,28, got {text!r}")
    return tuple(int(part) for part in parts)


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    height, _, width = text.lower().partition("x")
    if not (height.isdecimal() and width.isdecimal()):
        raise InvalidArgument(f"--size must be HEIGHTxWIDTH, as 224x224, got {text!r}")
    return int(height), int(width)


def _class_numbers(text: str | None, inputs: Inputs) -> tuple[int, ...]:
    if text is None:
        return ()
    numbers = []
    for part in (p.strip() for p in text.split(",")):
        if part in inputs.class_names:
            numbers.append(inputs.class_names.index(part))
        elif part.isdecimal():
            numbers.append(int(part))
        else:
            raise InvalidArgument(f"there is no class {part!r} in {inputs.source}")
    return tuple(numbers)
