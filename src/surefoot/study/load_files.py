"""Model and data files, read and chosen as the options of a command line or a record say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.input_set import Inputs
from surefoot.inputs import Selection, load_inputs
from surefoot.inputs.images import Shape, frame_of
from surefoot.inputs.sounds import READING as SOUND_READING
from surefoot.models import declared_shape, load_model
from surefoot.store.records import Source
from surefoot.study.registry import number
from surefoot.study.select_inputs import select
from surefoot.subject import Model


@dataclass(frozen=True)
class FileOptions:
    """How files are read and which inputs are chosen; as text, the way a person writes it."""

    bounds: str | None = None
    mean: str | None = None
    std: str | None = None
    scores: str | None = None
    shape: str | None = None
    output: str | None = None
    labels: str | None = None
    label_pattern: str | None = None
    scale: float | None = None
    size: str | None = None
    length: float | None = None
    class_names: str | None = None
    group: str | None = None
    read_as: str | None = None
    device: str | None = None
    half: bool = False
    trust: bool = False
    classes: str | None = None
    first: int | None = None
    random: int | None = None
    correct_only: bool = False

    def load(self, models: Sequence[str], data: str, seed: int) -> tuple[list[Model], Inputs]:
        """Models, and the inputs chosen for all of them; the seed is for a random choice."""
        shape = self._shape(models, data)
        inputs = self._inputs(data, self.scale, shape)
        bounds = self.bounds or _usual_bounds(inputs)
        loaded = [self._model(path, inputs, bounds) for path in models]
        inputs = self._numbered_as(loaded, inputs, data)
        whole_numbers = {model.signature.whole_numbers for model in loaded}
        if len(whole_numbers) > 1:
            raise InvalidArgument(
                "some of these models take integers (uint8) and some do not: they cannot be given "
                "the same inputs"
            )
        if True in whole_numbers and _is_pixels(inputs) and self.scale is None:
            inputs = self._inputs(data, 1.0, shape)
            loaded = [self._model(path, inputs, self.bounds or "0,255") for path in models]
        selection = Selection(
            classes=_class_numbers(self.classes, inputs),
            first=self.first,
            random=self.random,
            seed=seed,
            correct_only=self.correct_only,
        )
        self._check_random(inputs, selection.classes)
        return loaded, select(inputs, loaded, selection)

    def _numbered_as(self, models: Sequence[Model], inputs: Inputs, data: str) -> Inputs:
        """The inputs with labels numbered as the classes that estimators were fitted with."""
        names = {getattr(model, "class_names", ()) for model in models}
        if self.class_names or not inputs.features or inputs.labels is None or names == {()}:
            return inputs
        if len(names) > 1:
            raise InvalidArgument(
                "these models were fitted with other classes than one another: they cannot be "
                "compared on the same labels"
            )
        return load_inputs(data, self.labels, class_names=names.pop())

    def _check_random(self, inputs: Inputs, classes: Sequence[int]) -> None:
        """Refuse to draw more inputs than there are."""
        rows, of_classes = np.ones(len(inputs), dtype=bool), ""
        if classes and inputs.labels is not None:
            rows = np.isin(inputs.labels, classes)
            of_classes = f" of classes {self.classes}"
        available, unit = int(rows.sum()), "inputs"
        if inputs.groups:
            available, unit = len({inputs.groups[i] for i in np.flatnonzero(rows)}), "groups"
        if self.random is not None and self.random > available > 0:
            raise InvalidArgument(
                f"--random {self.random}: {inputs.source} has {available} {unit}{of_classes}; "
                f"write {available} or less, or leave out --random"
            )

    def _shape(self, models: Sequence[str], data: str) -> Shape:
        """The shape that the models state, for images: they are resized to it."""
        images = Path(data).is_dir() or data.lower().endswith(".csv")
        if self.shape is not None or not images:
            return _shape(self.shape)
        shapes = {name: declared_shape(name) for name in models}
        stated = {name: shape for name, shape in shapes.items() if shape is not None}
        frames = {name: frame_of(shape).size for name, shape in stated.items()}
        sizes = {size: name for name, size in frames.items() if size is not None}
        if len(sizes) > 1 and self.size is None:
            (one, first), (other, second) = list(sizes.items())[:2]
            raise InvalidArgument(
                f"{first} takes images of {one} pixels and {second} of {other}: models are "
                "compared on the same images; export them for one size"
            )
        return next(iter(stated.values()), None)

    def _inputs(self, data: str, scale: float | None, shape: Shape) -> Inputs:
        return load_inputs(
            data,
            self.labels,
            class_names=self.class_names or (),
            scale=scale,
            size=_size(self.size),
            shape=shape,
            length=self.length,
            label_pattern=self.label_pattern,
            read_as=self.read_as,
            groups=self.group,
        )

    def _model(self, name: str, inputs: Inputs, bounds: str | None) -> Model:
        return load_model(
            name,
            bounds=_numbers(bounds),
            mean=_numbers(self.mean),
            std=_numbers(self.std),
            scores=self.scores,
            shape=_shape(self.shape),
            data_shape=None if inputs.holds_items else inputs.x.shape[1:],
            examples=inputs if inputs.holds_items else None,
            output=self.output,
            device=self.device,
            half=self.half,
            trust=self.trust,
            features=inputs.features,
        )


def recorded_options(source: Source) -> FileOptions:
    """The options with which the files of a record were read."""
    return FileOptions(**source.reading)


def _usual_bounds(inputs: Inputs) -> str | None:
    """The range of pixels and of sounds; other data have none that is known."""
    if inputs.reading.startswith(SOUND_READING):
        return "-1,1"
    return "0,1" if _is_pixels(inputs) else None


def _is_pixels(inputs: Inputs) -> bool:
    return inputs.reading.split("; ")[0] == "values divided by 255"


def _numbers(text: str | None) -> tuple[float, ...] | None:
    return None if text is None else tuple(number(part) for part in text.split(","))


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
