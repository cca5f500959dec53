"""The things under study, as protocols and plain values: model, perturbation, property."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Interval

Array = Any
"""An array of any array-API namespace (NumPy, Torch on any device)."""

HostArray = NDArray[Any]
"""An array of NumPy, in main memory, of any type of values."""

Item = Any
"""One input, target or output as the data or a model hold it: numbers, a text, any object."""

Outputs = Any
"""What a model gives for a batch: an array with one row an input, or a list of objects."""

Level = Any
"""A number, or an array of one number a row."""


LARGEST_NUMBER = 1e30
"""Of bounds, levels and scales: float32 holds it, and sums and differences of such numbers too."""


_NAMESPACES: dict[type, Any] = {}


def array_namespace(array: Array) -> Any:  # noqa: ANN401  a module
    """The array-API namespace, looked for once a type: a proof asks a hundred times for it."""
    kind = type(array)
    if kind not in _NAMESPACES:
        _NAMESPACES[kind] = array_api_compat.array_namespace(array)
    return _NAMESPACES[kind]


def to_host(array: Array) -> HostArray:
    """The array in main memory, as NumPy; itself where it is there already."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.detach().cpu())


CPU = "cpu"
"""Where proofs are made with NumPy; any other place is a device of PyTorch."""


class Scores(StrEnum):
    """What a model gives for each input.

    Scores of classes, as logits or probabilities; values: an array of numbers that are no class
    scores, of any shape; objects: one Python object, such as boxes.
    """

    LOGITS = "logits"
    PROBABILITIES = "probabilities"
    VALUES = "values"
    OBJECTS = "objects"

    @property
    def of_classes(self) -> bool:
        """Whether each column is the score of a class."""
        return self in (Scores.LOGITS, Scores.PROBABILITIES)


class Reference(StrEnum):
    """Which label or output a property holds the model to: of the clean input, or of the data."""

    PREDICTED = "predicted"
    TRUE = "true"


@dataclass(frozen=True)
class Signature:
    """Shape, classes and bounds of a model, and what its digest covers, in words.

    `classes` is 0 where the output is no class scores. `partial`: the digest leaves out something
    that decides the answers, so that a study names those too.
    """

    shape: tuple[int, ...]
    classes: int
    scores: Scores
    digest: str
    covers: str
    bounds: Interval | None = None
    whole_numbers: bool = False
    thread_safe: bool = False
    preparation: str = ""
    partial: bool = False


class Model(Protocol):
    """A black box that scores a batch."""

    @property
    def signature(self) -> Signature:
        """What it takes and gives."""

    def place(self, x: NDArray[np.float32]) -> Array:
        """The array on the device and in the namespace that `predict` needs."""

    def predict(self, x: Array) -> Array:
        """(n, *shape) -> (n, classes); one row an input.

        Of values (n, *any shape), of objects a list of n.
        """


Weigh = Callable[[Array, Array], Array]
"""From logits, and their places in the batch, to the weights of a sum of them."""


class Gradients(Protocol):
    """A capability of some models: the gradient of any function of the logits."""

    def logits_and_gradient(self, x: Array, weigh: Weigh) -> tuple[Array, Array]:
        """The logits, and the gradient in x of the sum of weights · logits.

        `weigh(logits, rows)` gives the weights: `rows` are the places in x of these logits. Of
        probabilities the logits are their logarithms.
        """


class Graph(Protocol):
    """A capability of some models: the graph, for proofs (an attribute `graph`)."""

    @property
    def path(self) -> Path:
        """The ONNX file."""

    @property
    def content(self) -> bytes:
        """The bytes of that file, weights inside, as the model was loaded from it."""

    @property
    def output(self) -> str:
        """The output of the file that holds the scores."""

    @property
    def plain(self) -> bool:
        """Whether the graph is given the inputs as they are."""

    def prepared(self, x: Array) -> Array:
        """What the graph is given for a batch of inputs, where the model normalises them."""


class Ball(StrEnum):
    """The ball that a perturbation draws from, stated as its class variable `ball`."""

    LINF = "L∞"
    L2 = "L2"
    L1 = "L1"


class Stream(Protocol):
    """A named source of random numbers in the namespace and on the device of the model."""

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Independent uniform numbers in [0, 1)."""

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Independent standard normal numbers."""


class View(StrEnum):
    """One input as the data have it, (channels, height, width), (channels, length), or a text."""

    VALUES = "values"
    IMAGE = "image"
    SERIES = "series"
    TEXT = "text"


Drawn = Any
"""What `draw` returns: an array with one row for each trial, or a tuple of such."""


@dataclass(frozen=True)
class Additive:
    """Independent noise on every value: x + level · (factor · number + shift), then clipped.

    A perturbation that does only this says so with the class variable `additive`; a GPU then
    draws, adds and clips in one kernel. `normal`: standard normal numbers, else uniform in [0, 1).
    """

    normal: bool
    factor: float
    shift: float


class Perturbation(Protocol):
    """A frozen value. What is drawn does not depend on the level; the level scales it."""

    @property
    def kind(self) -> str:
        """Its name in streams, study files and on the command line."""

    @property
    def phrase(self) -> str:
        """What it does, in words, with `{level}` in place of the level."""

    @property
    def level(self) -> float | None:
        """How strong; 0 is the identity. None: open, for methods that choose the level."""

    @property
    def view(self) -> View:
        """The layout of a row: as in the data, of an image, of a signal; or that it is a text."""

    def levels(self, bounds: Interval | None) -> Interval:
        """The valid levels for inputs within `bounds`."""

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """The random numbers of n trials on inputs of this shape; fresh arrays, one row each."""

    def apply(self, x: Array, drawn: Drawn, level: Level, bounds: Interval | None) -> Array:
        """Row i of x perturbed with row i of `drawn` and clipped; x is not changed.

        The level is one number, or an array with one for each row. x may have one row for all of
        `drawn`.
        """


class Property(Protocol):
    """A trial is kept while its severity is below the limit; a tie fails.

    One that gives only yes or no says so with the class variable `yes_or_no`.
    """

    @property
    def kind(self) -> str:
        """Its name in study files and on the command line."""

    @property
    def phrase(self) -> str:
        """What holds, in words: a verb phrase about a perturbed input."""

    @property
    def limit(self) -> float:
        """The severity at which it fails."""

    @property
    def reference(self) -> Reference:
        """Which label it is about."""

    @property
    def needs(self) -> Scores | None:
        """The kind of scores it can read, or None when any will do."""

    @property
    def provable(self) -> bool:
        """Whether it fails exactly when another label wins: what proofs and attacks are about."""

    def severity(self, outputs: Outputs, references: Outputs, /) -> Array:
        """How bad each row is against its label or reference; higher is worse."""


class MarginProperty(Property, Protocol):
    """A property that an attack can follow: how far it is from failing, in logits."""

    def margin(self, logits: Array, labels: Array, target: Array | None) -> tuple[Array, Array]:
        """A margin of each row, 0 or less where the property fails, and its slope in the logits.

        With a target class of each row: the margin until it fails because of that class.
        """


class OutputProperty(Property, Protocol):
    """A property of outputs that are no class scores: `needs` is values or objects."""

    def references(
        self, outputs: Outputs, targets: Sequence[Item], names: Sequence[str]
    ) -> Outputs:
        """What the perturbed outputs of each input are compared with.

        `outputs` are those of the clean inputs, in main memory; `targets` what the data say, where
        the property is about that, else empty; `names` the ids of the inputs, for errors.
        """

    def words(self, output: Item) -> str:
        """The output of one input, in few words."""
