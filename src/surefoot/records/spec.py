"""What was studied, as plain data: the part of a record that names the run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from surefoot.core.results import Interval

_SET_BY_STUDY = ("size", "seed", "level", "fresh", "shift", "sampling", "by_class")
"""Options of a method that a study sets: they stand elsewhere, with their values."""


@dataclass(frozen=True)
class PartSpec:
    """A perturbation, a property or a method: its kind, and its options as JSON values.

    A class of the user's own has its full name as its kind. Options differ from kind to kind.
    """

    kind: str
    options: dict[str, Any]

    def number(self, name: str) -> float | None:
        """The option of this name; None where the kind has none, or where it is left open."""
        value = self.options.get(name)
        return None if value is None else float(value)

    def text(self, name: str) -> str:
        """The option of this name as text; empty where the kind has none."""
        return str(self.options.get(name) or "")

    def __str__(self) -> str:
        inside = ", ".join(f"{name} {value}" for name, value in self.options.items())
        return f"{self.kind} ({inside})" if inside else self.kind

    @property
    def chosen(self) -> str:
        """The kind of a method with the numbers and words that were chosen for it."""
        own = {
            name.replace("_", " "): f"{value:g}" if isinstance(value, float) else str(value)
            for name, value in self.options.items()
            if name not in _SET_BY_STUDY and isinstance(value, int | float | str) and value != ""
        }
        inside = ", ".join(f"{name} {value}" for name, value in own.items())
        return f"{self.kind} ({inside})" if inside else self.kind


@dataclass(frozen=True)
class ModelSpec:
    """What names a model. `covers` says what of it the digest covers.

    `answers` names its scores of the clean inputs where the digest does not cover all of it.
    """

    digest: str
    covers: str
    shape: tuple[int, ...]
    classes: int
    scores: str
    preparation: str
    answers: str = ""


@dataclass(frozen=True)
class ColumnSpec:
    """A column of a table, as the model meets it: heading, type, and what its codes stand for."""

    heading: str
    dtype: str
    categories: tuple[str | int | float | bool, ...] = ()


@dataclass(frozen=True)
class InputsSpec:
    """What names the inputs, how they were read and how they were selected.

    `columns` is empty where the inputs are no table. `groups` is the number of groups, where these
    were sampled; `digest` covers which input is in which. `classes` are those that a part of the
    data was selected from; empty where it is all of them. `labelled`: the true classes are known.
    `only` is a clause that says which inputs were kept for what a model answers to them.
    """

    digest: str
    frame: tuple[int, ...]
    axes: tuple[int, ...]
    number: int
    selection: str
    class_names: tuple[str, ...]
    reading: str
    columns: tuple[ColumnSpec, ...] = ()
    groups: int = 0
    classes: tuple[int, ...] = ()
    labelled: bool = True
    only: str = ""

    def class_name(self, label: int) -> str:
        """The name of a class, or its number when it has none."""
        known = 0 <= label < len(self.class_names)
        return self.class_names[label] if known else str(label)


@dataclass(frozen=True)
class PopulationSpec:
    """The kind of statement about the population, its error, and how the inputs were sampled.

    `anytime`: inputs may be added whenever one likes, which costs power; a number: that of inputs
    that was planned.
    """

    kind: str
    error: float
    sampling: str | None = None
    anytime: bool | int = False

    def __str__(self) -> str:
        return f"{self.kind} (error {self.error:g}, sampling {self.sampling})"


@dataclass(frozen=True)
class SpecWords:
    """Parts of the study in words, for people. They decide nothing and are not in the digest.

    `source` is where the inputs came from; `reference` is the label that the property compares
    with.
    """

    perturbation: str
    property: str
    source: str
    reference: str


@dataclass(frozen=True)
class StudySpec:
    """Everything that decides the result of one study; only `words` does not.

    `population` is None where the method does not sample. `format` is the number of this layout.
    """

    format: int
    model: ModelSpec
    inputs: InputsSpec
    bounds: Interval | None
    perturbation: PartSpec
    property: PartSpec
    method: PartSpec
    population: PopulationSpec | None
    by_class: bool
    seed: int
    generator: str
    block: int
    words: SpecWords
    kind: Literal["study"] = "study"

    @cached_property
    def preparation(self) -> str:
        """What is done to values before the model, in words: by the reader, then by the model."""
        return "; ".join(filter(None, [self.inputs.reading, self.model.preparation]))

    @cached_property
    def is_tail(self) -> bool:
        """Whether the tail of the scores is extrapolated."""
        return self.population is not None and self.population.kind == "tail-mean"

    @cached_property
    def promises_nothing(self) -> bool:
        """Whether the method is a published rule that is wrong more often than it states."""
        return self.method.kind == "published-doubling"

    @cached_property
    def means_accuracy(self) -> bool:
        """Whether a mean of trials kept is an accuracy; a tail is of rare failures."""
        return self.property.kind == "true" and not self.is_tail


@dataclass(frozen=True)
class BracketFileSpec:
    """Brackets read from a file of others: the file, and which of its rows, in words."""

    path: str
    selection: str
    kind: Literal["bracket-file"] = "bracket-file"


@dataclass(frozen=True)
class OutcomeFileSpec:
    """Outcomes counted elsewhere, read from a file: which, and what the claims are made with.

    `sampling` says how cases came from the population; `columns` what was read as what, in words.
    """

    path: str
    error: float
    sampling: str
    columns: tuple[str, ...] = ()
    kind: Literal["outcome-file"] = "outcome-file"


@dataclass(frozen=True)
class ComparisonSpec:
    """Several studies: the spec of the first, and the error that all their claims share.

    The members differ in the model, the perturbation or its level only. `error` is None where
    each member makes its claims by itself. `names` are those of the members, the first one first.
    """

    first: StudySpec | BracketFileSpec | OutcomeFileSpec
    error: float | None
    names: tuple[str, ...] = ()
    kind: Literal["comparison"] = "comparison"


Spec = StudySpec | BracketFileSpec | OutcomeFileSpec | ComparisonSpec
