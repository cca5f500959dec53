"""Properties of boxes and of masks: what detectors and segmentations give."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.properties.outputs import (
    CLEAN,
    FINITE,
    OF,
    SHARE,
    Compared,
    all_but,
    few_words,
    target_arrays,
    threshold_in,
)
from surefoot.subject.items import on_host
from surefoot.subject.protocols import Array, HostArray, Item, Outputs, Scores

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
    scores: HostArray

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


def read_boxes(value: Item) -> Boxes:
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


def _joined(boxes: Item, labels: Item, scores: Item) -> Boxes:
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


def _numbers(value: Item) -> NDArray[np.float64]:
    try:
        return np.asarray(on_host(value), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelFailed(f"boxes are numbers ({error}): {_FORMS}") from error


def _scores(value: Item) -> HostArray:
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
    above = range(1, len(values))  # the first is reached by any matching
    last = bisect_left(above, True, key=lambda i: not _all_matched(overlap >= values[i]))
    return float(values[last])


def _all_matched(allowed: NDArray[np.bool_]) -> bool:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    matched = maximum_bipartite_matching(csr_array(allowed.astype(np.int8)), perm_type="column")
    return bool((matched >= 0).all())


@dataclass(frozen=True)
class BoxesKept(Compared):
    """Every box of reference has a box of its own with the same class and at least this IoU.

    Boxes with a score below `score` do not count. With `new`, a box with at least that score that
    overlaps no box of reference in this way fails too; where there is no box of reference, any box
    that counts does. The boxes of reference are those of the clean input, or with `of="true"` all
    boxes of the target in the data.
    """

    iou: float = field(default=0.5, metadata=SHARE)
    score: float = field(default=0.5, metadata=FINITE)
    new: float | None = None
    of: str = field(default="predicted", metadata=OF)
    kind = "boxes"
    needs: ClassVar[Scores | None] = Scores.OBJECTS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.new is not None and not self.score <= self.new < math.inf:
            raise InvalidArgument(
                f"boxes.new must be at least boxes.score, {self.score:g}, got {self.new}: boxes "
                "with a lower score do not count"
            )

    @property
    def phrase(self) -> str:
        """What holds."""
        whose = "get every true box" if self.of == "true" else f"keep every box of {CLEAN}"
        new = "" if self.new is None else f", and no new box with a score of {self.new:g} or more"
        return (
            f"{whose} (same class, IoU at least {self.iou:g}, score at least {self.score:g}){new}"
        )

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return all_but(self.iou)

    def references(
        self, outputs: Outputs, targets: Sequence[Item], names: Sequence[str]
    ) -> list[Boxes]:
        """The boxes that must be kept, for each input."""
        boxes = []
        for value, name in zip(targets or outputs, names, strict=True):
            try:
                read = read_boxes(value)
            except ModelFailed as error:
                raise InvalidArgument(f"input {name}: {error}") from error
            chosen = read if targets else read.above(self.score)
            _check(chosen, name)
            boxes.append(chosen)
        return boxes

    def severity(self, outputs: Outputs, references: list[Boxes]) -> NDArray[np.float64]:
        """1 minus the lowest overlap of a box with its match, over all boxes that need one."""
        pairs = zip(references, on_host(outputs), strict=True)
        return np.array([self._one(one, read_boxes(output)) for one, output in pairs])

    def _one(self, expected: Boxes, given: Boxes) -> float:
        if not given.finite:
            return math.nan
        kept = given.above(self.score)
        worst = best_worst_match(overlaps(expected, kept))
        threshold = self.new if self.new is not None or len(expected) else self.score
        if threshold is not None and len(new := kept.above(threshold)):
            nearest = overlaps(new, expected).max(axis=1, initial=0.0)
            worst = min(worst, float(nearest.min()))
        return 1 - worst

    def words(self, output: Item) -> str:
        """How many boxes of each class."""
        labels, counts = np.unique(read_boxes(output).above(self.score).labels, return_counts=True)
        pairs = zip(labels.tolist(), counts.tolist(), strict=True)
        parts = [f"{n} box{'es' * (n > 1)} of class {label:g}" for label, n in pairs]
        return few_words(parts) if parts else "no box"

    def boxes_to_draw(self, output: Item) -> list[tuple[float, ...]]:
        """The corners of each box."""
        return [tuple(row) for row in read_boxes(output).above(self.score).corners.tolist()]


def _check(boxes: Boxes, name: str) -> None:
    """Refuse boxes to compare with that are no boxes."""
    if not boxes.finite:
        raise InvalidArgument(f"input {name}: a box holds NaN or infinity: give finite corners")
    wrong = (boxes.corners[:, 2:] < boxes.corners[:, :2]).any(axis=1)
    if wrong.any():
        corners = few_words(boxes.corners[int(np.argmax(wrong))].tolist())
        raise InvalidArgument(
            f"input {name}: the box {corners} ends before it begins: give x1, y1, x2, y2, not "
            "width and height"
        )


_MOST_CLASSES = 3
"""Classes of a mask that are written out, the largest first."""


class _OfMasks(Compared):
    """What properties of masks share; pixels of class `ignore` do not count."""

    ignore: int | None
    needs: ClassVar[Scores | None] = Scores.VALUES

    def references(
        self, outputs: HostArray, targets: Sequence[Item], names: Sequence[str]
    ) -> HostArray:
        """One mask for each input."""
        masks = _masks(outputs)
        if targets:
            masks = target_arrays(targets, masks.shape[1:], names)
        if self.ignore is not None:
            empty = (masks == self.ignore).reshape(len(masks), -1).all(axis=1)
            if empty.any():
                raise InvalidArgument(
                    f"input {names[int(np.argmax(empty))]} has no pixel but of class "
                    f"{self.ignore}, which is ignored: leave the input out"
                )
        whole: HostArray = masks.astype(np.int64)
        odd = (whole != masks).reshape(len(masks), -1).any(axis=1)
        if odd.any():
            raise InvalidArgument(
                f"the mask of input {names[int(np.argmax(odd))]} holds a fraction: give a class "
                "number for each pixel"
            )
        few = whole.min() >= 0 and whole.max() <= np.iinfo(np.uint8).max
        return whole.astype(np.uint8) if few else whole

    def words(self, output: Item) -> str:
        """The largest classes, by their share of the pixels."""
        mask = self.mask_to_draw(output)
        labels, counts = np.unique(mask, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_MOST_CLASSES]
        parts = [f"class {labels[i]} {100 * counts[i] / mask.size:.3g} %" for i in order]
        return ", ".join(parts) + (", …" if len(labels) > _MOST_CLASSES else "")

    def mask_to_draw(self, output: Item) -> NDArray[np.int64]:
        """The class of each pixel."""
        values = np.asarray(on_host(output))
        mask: HostArray = values.argmax(axis=0) if values.ndim == 3 else values
        return mask.astype(np.int64)


@dataclass(frozen=True)
class PixelsKept(_OfMasks):
    """At least this share of the pixels keep their class.

    The reference is the mask of the clean input, or with `of="true"` the target in the data; there
    pixels of class `ignore` do not count.
    """

    share: float = field(default=0.95, metadata=SHARE)
    of: str = field(default="predicted", metadata=OF)
    ignore: int | None = None
    kind = "pixels"

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return all_but(self.share)

    @property
    def phrase(self) -> str:
        """What holds."""
        truth = "get the true class" if self.of == "true" else f"keep the class of {CLEAN}"
        return f"{truth} in at least {100 * self.share:g} % of the pixels"

    def severity(self, outputs: Array, references: Array) -> Array:
        """The share of the pixels that have another class."""
        xp = array_namespace(outputs)
        counted, masks = _counted(references, self.ignore), _masks(outputs)
        kept = _number((masks == references) & counted)
        return 1 - kept / xp.astype(_number(counted), xp.float64)


@dataclass(frozen=True)
class MaskIoU(_OfMasks):
    """The mask overlaps the one of reference with an intersection over union of at least `least`.

    The mean over the classes that are in either mask; with `label` that class alone, which counts
    as kept where neither mask has it. References as in `PixelsKept`.
    """

    least: float = field(default=0.8, metadata=SHARE)
    label: int | None = None
    of: str = field(default="predicted", metadata=OF)
    ignore: int | None = None
    kind = "iou"

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return all_but(self.least)

    @property
    def phrase(self) -> str:
        """What holds."""
        mean = "a mean IoU" if self.label is None else f"an IoU of class {self.label}"
        truth = "the true mask" if self.of == "true" else f"the mask of {CLEAN}"
        return f"get a mask with {mean} of at least {self.least:g} with {truth}"

    def severity(self, outputs: Array, references: Array) -> Array:
        """1 minus the intersection over union."""
        xp = array_namespace(outputs)
        counted, masks = _counted(references, self.ignore), _masks(outputs)
        there = [int(c) for m in (masks, references) for c in array_namespace(m).unique_values(m)]
        classes = {*there} if self.label is None else {self.label}
        total, present = 0.0, 0.0
        for label in sorted(classes):
            own, other = (masks == label) & counted, (references == label) & counted
            union = xp.astype(_number(own | other), xp.float64)
            total = total + _number(own & other) / xp.where(union > 0, union, 1.0)
            present = present + xp.astype(union > 0, xp.float64)
        any_class = present > 0
        return 1 - xp.where(any_class, total / xp.where(any_class, present, 1.0), 1.0)


def _masks(outputs: Array) -> Array:
    """(n, height, width) of classes, from those or from (n, classes, height, width) of scores."""
    xp = array_namespace(outputs)
    if outputs.ndim == 4 and outputs.shape[1] > 1:
        return xp.argmax(outputs, axis=1)
    if outputs.ndim != 3:
        raise ModelFailed(
            f"the output has shape {tuple(outputs.shape)}: a segmentation gives scores (n, classes "
            "≥ 2, height, width) or class numbers (n, height, width); let the model return one of "
            "them"
        )
    whole = xp.isdtype(outputs.dtype, "integral") or bool(xp.all(outputs == xp.floor(outputs)))
    if not whole or bool(xp.any(outputs < 0)):
        raise ModelFailed(
            "an output (n, height, width) holds class numbers, and these are not whole or below "
            "0: give scores with an axis of classes, (n, classes, height, width)"
        )
    return outputs


def _counted(references: Array, ignore: int | None) -> Array:
    """Which pixels count."""
    xp = array_namespace(references)
    return xp.ones_like(references, dtype=xp.bool) if ignore is None else references != ignore


def _number(pixels: Array) -> Array:
    """How many pixels of each mask are true."""
    xp = array_namespace(pixels)
    return xp.sum(xp.reshape(xp.astype(pixels, xp.int64), (pixels.shape[0], -1)), axis=1)
