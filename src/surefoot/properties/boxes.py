"""Boxes as detectors give them, in one form: corners, class and score of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import ModelFailed
from surefoot.properties.reference_outputs import threshold_in
from surefoot.subject.items import on_host

_COLUMNS = 6
"""x1, y1, x2, y2, score, class: the row of a box, as YOLO exports and many others give it."""
_FORMS = (
    "give each input a dict with boxes (k, 4), labels (k,) and scores (k,), an object with these "
    "attributes, or rows x1, y1, x2, y2, score, class"
)


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of one input: corners (k, 4) as x1, y1, x2, y2, classes (k,) and scores (k,).

    Scores keep their type: a threshold is compared in it.
    """

    corners: NDArray[np.float64]
    labels: NDArray[np.float64]
    scores: NDArray[Any]

    def __len__(self) -> int:
        """How many."""
        return len(self.corners)

    def above(self, score: float) -> Boxes:
        """Those with at least this score."""
        chosen = self.scores.astype(np.float64) >= threshold_in(self.scores, score)
        return Boxes(self.corners[chosen], self.labels[chosen], self.scores[chosen])

    @property
    def finite(self) -> bool:
        """Whether every number is."""
        parts = (self.corners, self.labels, self.scores)
        return all(bool(np.isfinite(part).all()) for part in parts)


def read_boxes(value: Any) -> Boxes:  # noqa: ANN401  what a detector gives for one input
    """From a dict, an object with attributes, or an array of rows; scores may be left out.

    Scores (k, classes), as MAITE allows, count by the highest of each row.
    """
    value = on_host(value)
    if isinstance(value, Mapping) and "boxes" in value and "labels" in value:
        return _joined(value["boxes"], value["labels"], value.get("scores"))
    if hasattr(value, "boxes") and hasattr(value, "labels"):
        return _joined(value.boxes, value.labels, getattr(value, "scores", None))
    if isinstance(value, list | tuple | np.ndarray):
        rows, scores = _numbers(value), _scores(value)
        if rows.size == 0:
            return Boxes(np.zeros((0, 4)), np.zeros(0), np.zeros(0))
        if rows.ndim == 2 and rows.shape[1] == _COLUMNS:
            return Boxes(rows[:, :4], rows[:, 5], scores[:, 4])
        raise ModelFailed(f"an array of shape {rows.shape} holds no boxes: {_FORMS}")
    raise ModelFailed(f"{type(value).__name__} holds no boxes: {_FORMS}")


def _joined(boxes: Any, labels: Any, scores: Any) -> Boxes:  # noqa: ANN401  an output or a target
    corners, classes = _numbers(boxes), _numbers(labels).reshape(-1)
    number = len(classes)
    given = np.ones(number) if scores is None else _scores(scores)
    if given.ndim == 2 and len(given) == number:
        given = given.max(axis=1) if given.size else np.zeros(0)
    given = given.reshape(-1)
    if corners.size != 4 * number or len(given) != number:
        raise ModelFailed(
            f"boxes of shape {corners.shape}, {number} labels and {len(given)} scores do not fit "
            f"together: {_FORMS}"
        )
    return Boxes(corners.reshape(number, 4), classes, given)


def _numbers(value: Any) -> NDArray[np.float64]:  # noqa: ANN401  an output or a target
    try:
        return np.asarray(on_host(value), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelFailed(f"boxes are numbers ({error}): {_FORMS}") from error


def _scores(value: Any) -> NDArray[Any]:  # noqa: ANN401  an output or a target
    """The same numbers in the type in which they were given, where that is one of numbers."""
    numbers, given = _numbers(value), np.asarray(on_host(value))
    return given if given.dtype.kind in "fiu" else numbers


def overlaps(a: Boxes, b: Boxes) -> NDArray[np.float64]:
    """(len(a), len(b)) of intersection over union; 0 where the classes differ.

    Corners in the wrong order make a box without area. Two boxes without area overlap, fully, only
    where they are the same.
    """
    low = np.maximum(a.corners[:, None, :2], b.corners[None, :, :2])
    high = np.minimum(a.corners[:, None, 2:], b.corners[None, :, 2:])
    shared = np.prod(np.maximum(high - low, 0), axis=2)
    union = _areas(a)[:, None] + _areas(b)[None, :] - shared
    same = (a.corners[:, None, :] == b.corners[None, :, :]).all(axis=2)
    overlap = np.where(union > 0, shared / np.where(union > 0, union, 1.0), same)
    return np.where(a.labels[:, None] == b.labels[None, :], overlap, 0.0)


def _areas(boxes: Boxes) -> NDArray[np.float64]:
    areas: NDArray[np.float64] = np.prod(
        np.maximum(boxes.corners[:, 2:] - boxes.corners[:, :2], 0), axis=1
    )
    return areas


def best_worst_match(overlap: NDArray[np.float64]) -> float:
    """The largest overlap t such that every row gets a column of its own with at least t.

    0 where there are fewer columns than rows; 1 where there are no rows.
    """
    rows, columns = overlap.shape
    if rows == 0:
        return 1.0
    if columns < rows:
        return 0.0
    best = overlap.argmax(axis=1)
    if len(set(best.tolist())) == rows:
        return float(overlap.max(axis=1).min())
    values = np.unique(overlap)
    low, high = 0, len(values) - 1  # values[low] is reached by any matching
    while low < high:
        middle = (low + high + 1) // 2
        if _all_matched(overlap >= values[middle]):
            low = middle
        else:
            high = middle - 1
    return float(values[low])


def _all_matched(allowed: NDArray[np.bool_]) -> bool:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    matched = maximum_bipartite_matching(csr_array(allowed.astype(np.int8)), perm_type="column")
    return bool((matched >= 0).all())
