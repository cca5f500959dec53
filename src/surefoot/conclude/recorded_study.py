"""A study without its model and data: what its record says of it, enough to conclude again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.catalogue.methods import METHODS, TAILS, TESTS
from surefoot.catalogue.registry import PERTURBATIONS
from surefoot.conclude.scope import sampling_of
from surefoot.core.claims import Randomness, Sampling
from surefoot.core.procedure import Needs
from surefoot.core.results import Interval
from surefoot.engine.sampling_bench import draws_nothing
from surefoot.errors import InvalidArgument
from surefoot.population import Mean, Population, RobustShare, TailMean
from surefoot.records.record import InputRow
from surefoot.records.spec import StudySpec
from surefoot.subject.inputs import Inputs

_POPULATIONS: dict[str, type[Any]] = {over.kind: over for over in (Mean, RobustShare, TailMean)}
"""What a study says of the population, by the name that a record has for it."""

_MOST_VALUES = 10_000_000
"""Of one input: a hostile file cannot fill the memory with its shape."""
_MOST_SIDE = 4096
"""Pixels of an image, for the same reason: fog is drawn on a square of its longer side."""


@dataclass(frozen=True)
class RecordedInputs:
    """What a record says of the inputs: ids, labels and groups, but not their values.

    `number` is how many were studied; a search that ends early has rows of some of them.
    """

    rows: tuple[InputRow, ...]
    number: int
    class_names: tuple[str, ...]

    def __len__(self) -> int:
        return self.number

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(row.id for row in self.rows)

    @cached_property
    def labels(self) -> NDArray[np.int64] | None:
        """The true labels, where they are known."""
        known = [row.label for row in self.rows if row.label is not None]
        if known and len(known) < len(self.rows):
            raise InvalidArgument("some inputs have a label and some have none")
        return np.array(known, dtype=np.int64) if known else None

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The group of each input; empty where single inputs were sampled."""
        groups = tuple(row.group for row in self.rows)
        if any(groups) and not all(groups):
            raise InvalidArgument("some inputs have a group and some have none")
        return groups if any(groups) else ()

    def class_name(self, label: int) -> str:
        """The name of a class, or its number when it has none."""
        return self.class_names[label] if 0 <= label < len(self.class_names) else str(label)

    def row_digests(self) -> list[str]:
        """A name for the values of each input."""
        return [row.digest for row in self.rows]


@dataclass(frozen=True)
class RecordedStudy:
    """The same words as `Setup`, read from a spec and the rows of inputs.

    What the model or the perturbation alone could say is taken from the record: what the model
    predicts for clean inputs, which of them the property keeps, and whether anything was drawn.
    `draws`: the perturbation is random. `level` is that of the trials, where there is one.
    """

    digest: str
    spec: StudySpec
    rows: tuple[InputRow, ...]
    draws: bool
    level: float

    @cached_property
    def fitted(self) -> RecordedInputs:
        """The inputs, without their values."""
        inputs = self.spec.inputs
        return RecordedInputs(self.rows, inputs.number, inputs.class_names)

    @cached_property
    def method(self) -> Any:  # noqa: ANN401  any method of the package
        """The method with its options."""
        return method_of(self.spec)

    @property
    def needs(self) -> Needs:
        """What the method needs."""
        needs: Needs = self.method.needs
        return needs

    @property
    def seed(self) -> int:
        """The seed of the draws and of the order of inputs."""
        return self.spec.seed

    @property
    def bounds(self) -> Interval | None:
        """The range of input values."""
        return self.spec.bounds

    @property
    def has_classes(self) -> bool:
        """Whether the model gives scores of classes."""
        return self.spec.model.classes > 0

    @property
    def class_by_class(self) -> bool:
        """Whether classes get claims of their own."""
        return self.has_classes and self.spec.by_class

    @property
    def property(self) -> Any:  # noqa: ANN401  the kind of a property alone
        """When an output counts as kept: its kind."""
        return SimpleNamespace(kind=self.spec.property.kind)

    @cached_property
    def perturbation(self) -> Any:  # noqa: ANN401  the options of a perturbation alone
        """The options of the perturbation and of its parts, as attributes."""
        return _as_attributes(self.spec.perturbation.options)

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """What the model calls the clean inputs, as the record says."""
        labels = [row.predicted for row in self.rows]
        if None in labels:
            raise InvalidArgument("an input has no predicted label, but the model has classes")
        return np.array(labels, dtype=np.int64)

    @cached_property
    def clean_kept(self) -> NDArray[np.bool_]:
        """Which inputs the property keeps when clean, as the record says."""
        return np.array([row.clean_kept is not False for row in self.rows])

    @cached_property
    def sampling(self) -> Sampling:
        """How the inputs stand for the population, by their labels and groups."""
        labels = self.fitted.labels
        return sampling_of(() if labels is None else labels.tolist(), self.fitted.groups)

    @cached_property
    def randomness(self) -> Randomness:
        """What is random about a trial; a curve with fixed draws has one for each input."""
        if self.needs in (Needs.REGION, Needs.RADII) or not self.draws:
            return Randomness.NOTHING
        return randomness_of_draws(self.method)

    @cached_property
    def aggregate(self) -> Population:
        """What sampling says of the population, of the kind that suits the method."""
        stated = self.spec.population
        if stated is None or stated.kind not in _POPULATIONS or stated.sampling is None:
            raise InvalidArgument(f"there is no statement about a population {stated}")
        over = _POPULATIONS[stated.kind]
        suits: type[Any] = RobustShare if isinstance(self.method, tuple(TESTS.values())) else Mean
        suits = TailMean if isinstance(self.method, tuple(TAILS.values())) else suits
        if over is not suits and over is not Mean:
            raise InvalidArgument(f"{stated.kind} does not follow from {self.spec.method.kind}")
        population: Population = over(stated.error, Sampling(stated.sampling))
        return population


def method_of(spec: StudySpec) -> Any:  # noqa: ANN401  any method of the package
    """The method of a spec; refused where it is code of the user's own."""
    kind = spec.method.kind
    if kind not in METHODS:
        raise InvalidArgument(f"the method {kind} is not one of surefoot's own")
    options = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in spec.method.options.items()
    }
    return METHODS[kind](**options)


def draws_of(spec: StudySpec) -> bool | None:
    """Whether a perturbation of the catalogue is random; None where it cannot be made again."""
    part, shape = spec.perturbation, spec.model.shape
    side = max(spec.inputs.frame, default=0)
    too_large = not 0 < math.prod(shape) <= _MOST_VALUES or side > _MOST_SIDE
    if part.kind not in PERTURBATIONS or too_large:
        return None
    options = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in part.options.items()
    }
    try:
        x = np.zeros((1, *shape), dtype=np.float32)
        inputs = Inputs(x, None, ("0",), "", frame=spec.inputs.frame, axes=spec.inputs.axes)
        return not draws_nothing(PERTURBATIONS[part.kind](**options), inputs)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return None


def _as_attributes(value: Any) -> Any:  # noqa: ANN401  what JSON holds
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _as_attributes(part) for name, part in value.items()})
    return tuple(map(_as_attributes, value)) if isinstance(value, list) else value


def randomness_of_draws(method: Any) -> Randomness:  # noqa: ANN401  any method of the package
    """Of trials that draw: fresh, or one draw for each input of a curve of exactly these."""
    of_set = getattr(method, "scope", "set") == "set"
    one_draw = method.needs is Needs.LEVELS and getattr(method, "fixed_draws", True)
    return Randomness.FIXED if one_draw and of_set else Randomness.FRESH
