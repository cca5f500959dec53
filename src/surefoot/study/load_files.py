"""Model and data files, read and chosen as the options of a command line or a record say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.input_set import Inputs
from surefoot.inputs import Selection, load_inputs
from surefoot.models import load_model
from surefoot.results import Interval
from surefoot.store.records import Source
from surefoot.study.registry import number
from surefoot.study.select_inputs import select
from surefoot.subject import Model, Signature


@dataclass(frozen=True)
class FileOptions:
    """How files are read and which inputs are chosen.

    As text, the way a person writes it, or as Python values: bounds "0,1" or (0, 1).
    """

    bounds: str | Sequence[float] | Interval | None = None
    mean: str | float | Sequence[float] | None = None
    std: str | float | Sequence[float] | None = None
    scores: str | None = None
    shape: str | Sequence[int] | None = None
    output: str | None = None
    labels: str | Any = None
    scale: float | None = None
    size: str | Sequence[int] | None = None
    class_names: str | Sequence[str] | None = None
    device: str | None = None
    half: bool = False
    trust: bool = False
    classes: str | Sequence[int | str] | None = None
    first: int | None = None
    random: int | None = None
    correct_only: bool = False

    def load(self, models: Sequence[Any], data: Any, seed: int) -> tuple[list[Model], Inputs]:  # noqa: ANN401
        """Models, and the inputs chosen for all of them; the seed is for a random choice.

        Models and data as `load_model` and `load_inputs` take them, `(x, y)` too, or loaded ones.
        """
        inputs = self._inputs(data, self.scale)
        pixels = _is_pixels(inputs)
        loaded = [self._model(path, inputs, "0,1" if pixels else None) for path in models]
        whole_numbers = {model.signature.whole_numbers for model in loaded}
        if len(whole_numbers) > 1:
            raise InvalidArgument(
                "some of these models take integers (uint8) and some do not: they cannot be given "
                "the same inputs"
            )
        if True in whole_numbers and pixels and self.scale is None:
            if isinstance(data, Inputs):
                raise InvalidArgument(
                    f"{data.source} was divided by 255, and the model takes integers (uint8): load "
                    "it with scale=1"
                )
            inputs = self._inputs(data, 1.0)
            loaded = [self._model(path, inputs, "0,255") for path in models]
        selection = Selection(
            classes=_class_numbers(self.classes, inputs),
            first=self.first,
            random=self.random,
            seed=seed,
            correct_only=self.correct_only,
        )
        self._check_random(inputs, selection.classes)
        return loaded, select(inputs, loaded, selection)

    def _check_random(self, inputs: Inputs, classes: Sequence[int]) -> None:
        """Refuse to draw more inputs than there are."""
        available, of_classes = len(inputs), ""
        if classes and inputs.labels is not None:
            available = int(np.isin(inputs.labels, classes).sum())
            of_classes = f" of classes {self.classes}"
        if self.random is not None and self.random > available > 0:
            raise InvalidArgument(
                f"random (--random) {self.random}: {inputs.source} has {available} inputs"
                f"{of_classes}; write {available} or less, or leave it out"
            )

    def _inputs(self, data: Any, scale: float | None) -> Inputs:  # noqa: ANN401
        if isinstance(data, Inputs):
            self._refuse("data", ("labels", "scale", "size", "class_names"))
            return data
        labels = self.labels
        if isinstance(data, tuple) and len(data) == 2:
            if labels is not None:
                raise InvalidArgument("data (x, y) has labels of its own: leave out labels=")
            data, labels = data
        names = _texts(self.class_names)
        return load_inputs(data, labels, class_names=names, scale=scale, size=_size(self.size))

    def _model(self, source: Any, inputs: Inputs, bounds_of_data: str | None) -> Model:  # noqa: ANN401
        bounds = bounds_of_data if self.bounds is None else self.bounds
        if isinstance(getattr(source, "signature", None), Signature):
            self._refuse(
                "model",
                ("bounds", "mean", "std", "scores", "shape", "output", "device", "half", "trust"),
            )
            loaded: Model = source
            return loaded
        return load_model(
            source,
            bounds=bounds if isinstance(bounds, Interval) else _numbers(bounds),
            mean=_numbers(self.mean),
            std=_numbers(self.std),
            scores=self.scores,
            shape=_shape(self.shape) or inputs.x.shape[1:],
            output=self.output,
            device=self.device,
            half=self.half,
            trust=self.trust,
        )

    def _refuse(self, what: str, names: Sequence[str]) -> None:
        """An option that is about reading, where nothing is read."""
        for name in names:
            if getattr(self, name) is not None and getattr(self, name) is not False:
                raise InvalidArgument(
                    f"{name} is for a {what} that is read here, and this {what} is loaded already: "
                    f"pass {name} where you load it"
                )


def recorded_options(source: Source) -> FileOptions:
    """The options with which the files of a record were read."""
    return FileOptions(**source.reading)


def _is_pixels(inputs: Inputs) -> bool:
    return inputs.reading.split("; ")[0] == "values divided by 255"


def _numbers(value: Any) -> tuple[float, ...] | None:  # noqa: ANN401
    if value is None:
        return None
    if isinstance(value, str):
        return tuple(number(part) for part in value.split(","))
    return tuple(float(part) for part in np.atleast_1d(np.asarray(value, dtype=float)))


def _texts(value: str | Sequence[Any] | None) -> list[str]:
    """Parts of a text with commas, or of a sequence."""
    if value is None:
        return []
    return value.split(",") if isinstance(value, str) else [str(part) for part in value]


def _integers(value: str | Sequence[Any], separator: str) -> list[int] | None:
    """Positive integers; None if one is not."""
    parts = value.lower().split(separator) if isinstance(value, str) else list(value)
    texts = [str(part).strip() for part in parts]
    return [int(text) for text in texts] if all(map(str.isdecimal, texts)) else None


def _shape(value: str | Sequence[int] | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    parts = _integers(value, ",")
    if not parts or min(parts) < 1:
        raise InvalidArgument(
            f"shape (--shape) must be the shape of one input, as 1,28,28, got {value!r}"
        )
    return tuple(parts)


def _size(value: str | Sequence[int] | None) -> tuple[int, int] | None:
    if value is None:
        return None
    parts = _integers(value, "x")
    if parts is None or len(parts) != 2:
        raise InvalidArgument(f"size (--size) must be HEIGHTxWIDTH, as 224x224, got {value!r}")
    return parts[0], parts[1]


def _class_numbers(classes: str | Sequence[int | str] | None, inputs: Inputs) -> tuple[int, ...]:
    if classes is None:
        return ()
    numbers = []
    for part in (text.strip() for text in _texts(classes)):
        if part in inputs.class_names:
            numbers.append(inputs.class_names.index(part))
        elif part.isdecimal():
            numbers.append(int(part))
        else:
            raise InvalidArgument(f"there is no class {part!r} in {inputs.source}")
    return tuple(numbers)
