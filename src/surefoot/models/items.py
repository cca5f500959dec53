"""A classifier of text, bytes or other items: a function of a list, or `predict_proba` of one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.graph.score_rows import as_rows
from surefoot.models.load_options import LoadOptions
from surefoot.models.python import digest_of
from surefoot.models.scores import PROBES, both_classes, model_errors, signature_of_rows
from surefoot.subject.inputs import Inputs
from surefoot.subject.items import as_item_array, copy_item, item_digest
from surefoot.subject.protocols import Array, Scores, Signature


@dataclass(frozen=True, eq=False)
class ItemModel:
    """A function from a list of items to scores; it may write into the items, which are copies."""

    run: Callable[[list[Any]], Any]
    signature: Signature = field(repr=False)

    @property
    def in_python(self) -> str:
        """Why threads would wait for each other."""
        return f"the model is a Python {'function' if inspect.isfunction(self.run) else 'object'}"

    def place(self, x: NDArray[Any]) -> Array:
        """An array of objects it is."""
        return x

    def predict(self, x: Array) -> Array:
        """Scores of a batch."""
        return both_classes(_rows(self.run, x), self.signature.scores)


def wrap_items(
    source: Any,  # noqa: ANN401  any kind of model
    options: LoadOptions,
    examples: Inputs | Sequence[Any],
) -> ItemModel:
    """An estimator or a function of a list of items; examples tell its classes and scores.

    Which of the examples are run does not depend on their order.
    """
    _refuse_number_options(options)
    if hasattr(source, "predict_proba"):
        run = source.predict_proba
        scores: Scores | None = Scores.PROBABILITIES
    elif callable(source):
        run, scores = source, options.scores
    else:
        raise InvalidArgument(
            f"{type(source).__name__} cannot classify items: give a function of a list of items, "
            "or an object with predict_proba"
        )
    probes = _probes(examples)
    digest, covers = digest_of(source)
    draft = Signature(shape=(), classes=0, scores=Scores.LOGITS, digest=digest, covers=covers)
    return ItemModel(run, signature_of_rows(draft, _rows(run, probes), scores))


def _rows(run: Callable[[list[Any]], Any], x: NDArray[Any]) -> Array:
    with model_errors():
        return as_rows(np.asarray(run([copy_item(item) for item in x])), len(x))


def _probes(examples: Inputs | Sequence[Any]) -> NDArray[Any]:
    own = examples.digest_item if isinstance(examples, Inputs) else None
    if isinstance(examples, str | bytes) or (
        isinstance(examples, Inputs) and not examples.holds_items
    ):
        what = examples.content if isinstance(examples, Inputs) else repr(examples)[:40]
        raise InvalidArgument(
            f"examples must be a few items as the model takes them, such as a list of texts, got "
            f"{what}: for a model of arrays pass shape=(…) instead"
        )
    items = examples.x if isinstance(examples, Inputs) else as_item_array(list(examples))
    if not len(items):
        raise InvalidArgument(
            "examples must hold at least one item: they tell the classes; pass a few"
        )
    if isinstance(examples, Inputs):
        return items[sorted(range(len(items)), key=lambda i: item_digest(items[i], own))[:PROBES]]
    return items[:PROBES]


def _refuse_number_options(options: LoadOptions) -> None:
    """Refuse what is about numbers."""
    options.refuse_output()
    options.refuse_device()
    given = {
        "bounds": options.bounds is not None,
        "mean or std": not options.normalise.is_identity,
        "shape": bool(options.shape),
    }
    for name, stated in given.items():
        if stated:
            raise InvalidArgument(
                f"{name} is for arrays of numbers, and these are items: leave it out"
            )
