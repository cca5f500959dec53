"""One row of a dataset: its input, and its label or the output that it should get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.object_values import on_host

_POINT_KEYS = ("image", "img", "pixel_values", "x", "input", "features")
_LABEL_KEYS = ("label", "labels", "y", "target", "fine_label")


@dataclass(frozen=True, eq=False)
class Row:
    """One input with its label or its target, and its id where the dataset gives one."""

    x: Any
    label: Any = None
    target: Any = None
    id: Any = None

    @property
    def has_target(self) -> bool:
        """Whether the dataset gives an output that is no label."""
        return self.target is not None


def read_row(row: Any) -> Row:  # noqa: ANN401
    """A dict, a pair (input, label), or (input, target, metadata) as in MAITE.

    What cannot be a label is a target: a dict or an object with boxes, a mask. The one-hot row of
    MAITE's classification is its label.
    """
    name = None
    if isinstance(row, dict):
        x = next((row[k] for k in _POINT_KEYS if k in row), None)
        truth = next((row[k] for k in _LABEL_KEYS if k in row), None)
        if x is None:
            raise InvalidArgument(
                f"a row of the dataset holds {', '.join(row)}: none is called "
                + ", ".join(_POINT_KEYS)
            )
    elif isinstance(row, tuple | list) and len(row) == 3 and isinstance(row[2], Mapping):
        x, truth, name = row[0], _label_of_one_hot(row[1]), row[2].get("id")
    elif isinstance(row, tuple | list) and len(row) == 2:
        x, truth = row
    else:
        raise InvalidArgument(
            f"a row of the dataset is {type(row).__name__}: give (input, label) pairs or dicts"
        )
    return Row(x, target=truth, id=name) if _is_target(truth) else Row(x, truth, id=name)


def _is_target(truth: Any) -> bool:  # noqa: ANN401
    has_boxes = isinstance(truth, Mapping) or hasattr(truth, "boxes")
    return has_boxes or getattr(truth, "ndim", 0) >= 2


def _label_of_one_hot(truth: Any) -> Any:  # noqa: ANN401
    """The class of highest score, where there is a score for each."""
    if hasattr(truth, "boxes") or np.ndim(on_host(truth)) != 1 or len(truth) < 2:
        return truth
    return int(np.argmax(on_host(truth)))


def class_names_of(source: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Class names as torchvision, Hugging Face or MAITE datasets carry them, if they do."""
    if isinstance(getattr(source, "classes", None), list | tuple):
        return tuple(source.classes)
    metadata = getattr(source, "metadata", None)
    numbered = metadata.get("index2label") if isinstance(metadata, Mapping) else None
    if numbered and sorted(numbered) == list(range(len(numbered))):
        return tuple(str(numbered[i]) for i in range(len(numbered)))
    features = getattr(source, "features", None)
    feature = features.get("label") if isinstance(features, Mapping) else None
    return tuple(getattr(feature, "names", None) or ())
