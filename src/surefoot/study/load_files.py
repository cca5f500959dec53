"""Model and data files, read and chosen as the options of a command line or a record say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.input_set import Inputs
from surefoot.inputs import Selection, load_inputs, without_labels
from surefoot.models import load_model
from surefoot.models.load_options import scores_kind
from surefoot.store.records import Source
from surefoot.study.registry import number
from surefoot.study.select_inputs import select
from surefoot.subject import Model, Scores


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
    scale: float | None = None
    size: str | None = None
    class_names: str | None = None
    device: str | None = None
    half: bool = False
    trust: bool = False
    classes: str | None = None
    first: int | None = None
    random: int | None = None
    correct_only: bool = False

    def load(
        self, models: Sequence[str], data: str, seed: int, needs: Scores | None = None
    ) -> tuple[list[Model], Inputs]:
        """Models, and the inputs chosen for all of them; the seed is for a random choice.

        `needs` is what the property reads: values and objects say how the model is read too.
        """
        if self.scores is None and needs is not None and not needs.of_classes:
            return replace(self, scores=str(needs)).load(models, data, seed)
        inputs = self._inputs(data, self.scale)
        bounds = self.bounds or ("0,1" if _is_pixels(inputs) else None)
        loaded = [self._model(path, inputs, bounds) for path in models]
        whole_numbers = {model.signature.whole_numbers for model in loaded}
        if len(whole_numbers) > 1:
            raise InvalidArgument(
                "some of these models take integers (uint8) and some do not: they cannot be given "
                "the same inputs"
            )
        if True in whole_numbers and _is_pixels(inputs) and self.scale is None:
            inputs = self._inputs(data, 1.0)
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

    def _check_random(self, inputs: Inputs, classes: Sequence[int]) -> None:
        """Refuse to draw more inputs than there are."""
        available, of_classes = len(inputs), ""
        if classes and inputs.labels is not None:
            available = int(np.isin(inputs.labels, classes).sum())
            of_classes = f" of classes {self.classes}"
        if self.random is not None and self.random > available > 0:
            raise InvalidArgument(
                f"--random {self.random}: {inputs.source} has {available} inputs{of_classes}; "
                f"write {available} or less, or leave out --random"
            )

    def _inputs(self, data: str, scale: float | None) -> Inputs:
        stated = scores_kind(self.scores)
        if stated is not None and not stated.of_classes:
            return without_labels(Path(data), self.labels, scale, _size(self.size))
        names = self.class_names.split(",") if self.class_names else ()
        return load_inputs(data, self.labels, class_names=names, scale=scale, size=_size(self.size))

    def _model(self, name: str, inputs: Inputs, bounds: str | None) -> Model:
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


def recorded_options(source: Source) -> FileOptions:
    """The options with which the files of a record were read."""
    return FileOptions(**source.reading)


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
