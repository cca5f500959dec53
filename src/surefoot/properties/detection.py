"""Detection: every box is still there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.properties.boxes import Boxes, best_worst_match, overlaps, read_boxes
from surefoot.properties.reference_outputs import (
    CLEAN,
    all_but,
    check_share,
    few_words,
    reference_named,
)
from surefoot.subject.items import on_host
from surefoot.subject.protocols import Outputs, Reference, Scores


@dataclass(frozen=True)
class BoxesKept:
    """Every box of reference has a box of its own with the same class and at least this IoU.

    Boxes with a score below `score` do not count. With `new`, a box with at least that score that
    overlaps no box of reference in this way fails too; where there is no box of reference, any box
    that counts does. The boxes of reference are those of the clean input, or with `of="true"` all
    boxes of the target in the data.
    """

    iou: float = 0.5
    score: float = 0.5
    new: float | None = None
    of: str = "predicted"
    kind: ClassVar[str] = "boxes"
    needs: ClassVar[Scores | None] = Scores.OBJECTS
    provable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_share("boxes.iou", self.iou)
        if not math.isfinite(self.score):
            raise InvalidArgument(f"boxes.score must be finite, got {self.score}")
        if self.new is not None and not self.score <= self.new < math.inf:
            raise InvalidArgument(
                f"boxes.new must be at least boxes.score, {self.score:g}, got {self.new}: boxes "
                "with a lower score do not count"
            )
        reference_named(self.kind, self.of)

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

    @property
    def reference(self) -> Reference:
        """Which boxes it is about."""
        return Reference(self.of)

    def references(
        self, outputs: Outputs, targets: Sequence[Any], names: Sequence[str]
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

    def words(self, output: Any) -> str:  # noqa: ANN401  an output or a target
        """How many boxes of each class."""
        labels, counts = np.unique(read_boxes(output).above(self.score).labels, return_counts=True)
        pairs = zip(labels.tolist(), counts.tolist(), strict=True)
        parts = [f"{n} box{'es' * (n > 1)} of class {label:g}" for label, n in pairs]
        return few_words(parts) if parts else "no box"

    def boxes_to_draw(self, output: Any) -> list[tuple[float, ...]]:  # noqa: ANN401  an output or a target
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
