"""Select the part of the data to study; the result describes the selection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.input_set import Inputs

Predicted = Callable[[NDArray[np.intp]], NDArray[np.int64]]
"""The label predicted for each of these rows; -1 where several models do not agree."""
_BATCH = 256
"""Inputs classified at a time, so that few more than needed are run."""


@dataclass(frozen=True)
class Selection:
    """First the classes, then the order, then (if asked) what the model gets right, then n."""

    classes: tuple[int, ...] = ()
    first: int | None = None
    random: int | None = None
    seed: int = 1
    correct_only: bool = False

    def __post_init__(self) -> None:
        if self.first is not None and self.random is not None:
            raise InvalidArgument("choose either first or random, not both")
        for name, n in (("first", self.first), ("random", self.random)):
            if n is not None and n < 1:
                raise InvalidArgument(f"{name} must be an integer ≥ 1, got {n}")
        if self.seed < 0:
            raise InvalidArgument(f"seed must be an integer ≥ 0, got {self.seed}")


def select(
    inputs: Inputs, selection: Selection, predicted: Predicted, who: str = "the model classifies"
) -> Inputs:
    """The chosen inputs. `predicted` is only called where correctness matters."""
    order = np.arange(len(inputs))
    words: list[str] = []
    if selection.classes:
        order = _of_classes(inputs, selection.classes)
        names = ", ".join(inputs.class_name(c) for c in selection.classes)
        words.append(f"classes {names}")
    if selection.random is not None:
        order = np.random.default_rng(selection.seed).permutation(order)
    count = selection.first or selection.random or len(order)
    examined = min(count, len(order))
    chosen = order[:count]
    if selection.correct_only:
        chosen, examined = _correct(inputs, order, count, predicted)
    if selection.random is not None:
        words.append(f"{examined} drawn at random (seed {selection.seed})")
    elif selection.first is not None:
        words.append(f"the first {examined}")
    if selection.correct_only:
        words.append(f"only the {len(chosen)} of {examined} that {who} correctly")
    if not words:
        return inputs
    description = f"{len(chosen)} of {len(inputs)} inputs: " + ", ".join(words)
    return replace(inputs, selection=description).subset(chosen)


def _labels(inputs: Inputs, why: str) -> NDArray[np.int64]:
    if inputs.labels is None:
        raise InvalidArgument(f"{inputs.source} holds no labels, and {why} needs them")
    return inputs.labels


def _of_classes(inputs: Inputs, classes: tuple[int, ...]) -> NDArray[np.intp]:
    labels = _labels(inputs, "choosing classes")
    missing = sorted(set(classes) - set(labels.tolist()))
    if missing:
        raise InvalidArgument(
            f"{inputs.source} holds no input of class {missing[0]}: it has "
            f"{', '.join(map(str, np.unique(labels)))}"
        )
    return np.flatnonzero(np.isin(labels, classes))


def _correct(
    inputs: Inputs, order: NDArray[np.intp], count: int, predicted: Predicted
) -> tuple[NDArray[np.intp], int]:
    """The first `count` inputs that are classified correctly, and how many were examined."""
    labels = _labels(inputs, "keeping only correctly classified inputs")
    correct: list[int] = []
    for start in range(0, len(order), _BATCH):
        rows = order[start : start + _BATCH]
        right = predicted(rows) == labels[rows]
        for offset, (row, ok) in enumerate(zip(rows, right, strict=True)):
            if ok:
                correct.append(int(row))
            if len(correct) == count:
                return np.array(correct, dtype=np.intp), start + offset + 1
    return np.array(correct, dtype=np.intp), len(order)
