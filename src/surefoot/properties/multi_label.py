"""Several labels at once: each keeps its decision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.properties.reference_outputs import (
    CLEAN,
    all_but,
    check_share,
    few_words,
    reference_named,
    rows_of,
    target_array,
    threshold_in,
)
from surefoot.subject.items import on_host
from surefoot.subject.protocols import Array, Reference, Scores


@dataclass(frozen=True)
class LabelsKept:
    """At least a `share` of the labels, by default all, keep their decision.

    A label is given where its score is at least `threshold`. The decisions of reference are those
    for the clean input, or with `of="true"` the targets in the data, 0 or 1 for each label.
    """

    threshold: float = 0.5
    share: float = 1.0
    of: str = "predicted"
    kind: ClassVar[str] = "labels"
    needs: ClassVar[Scores | None] = Scores.VALUES
    provable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not math.isfinite(self.threshold):
            raise InvalidArgument(f"labels.threshold must be finite, got {self.threshold}")
        check_share("labels.share", self.share)
        reference_named(self.kind, self.of)

    @property
    def phrase(self) -> str:
        """What holds."""
        some = (
            "every label" if self.share == 1 else f"at least {100 * self.share:g} % of the labels"
        )
        truth = "get the true decision" if self.of == "true" else f"keep the decision of {CLEAN}"
        return f"{truth} about {some} (given at {self.threshold:g} or more)"

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return 0.0 if self.share == 1 else all_but(self.share)

    @property
    def reference(self) -> Reference:
        """Which decisions it is about."""
        return Reference(self.of)

    def references(
        self, outputs: NDArray[Any], targets: Sequence[Any], names: Sequence[str]
    ) -> NDArray[np.uint8]:
        """1 for each label that is given, else 0."""
        if not targets:
            return self._given(outputs).astype(np.uint8)
        shape = outputs.shape[1:]
        rows = [target_array(t, shape, name) for t, name in zip(targets, names, strict=True)]
        for row, name in zip(rows, names, strict=True):
            other = row[~np.isin(row, (0, 1))]
            if other.size:
                raise InvalidArgument(
                    f"the target of input {name} holds {other[0]:g}: give 0 or 1 for each label"
                )
        return np.stack(rows).astype(np.uint8)

    def severity(self, outputs: Array, references: Array) -> Array:
        """How far the worst label is beyond the threshold, or the share that does not keep it."""
        xp = array_namespace(outputs)
        above = rows_of(outputs) - threshold_in(outputs, self.threshold)
        given = rows_of(references) == 1
        if self.share < 1:
            kept = xp.astype((above >= 0) == given, xp.float64)
            return 1 - xp.mean(kept, axis=1)
        lost = xp.where(above == 0, -xp.finfo(xp.float64).smallest_normal, -above)
        return xp.max(xp.where(given, lost, above), axis=1)

    def words(self, output: Any) -> str:  # noqa: ANN401  an output or a target
        """The labels that are given."""
        given = np.flatnonzero(self._given(np.asarray(on_host(output)))).tolist()
        return f"labels {few_words(given)}" if given else "no label"

    def _given(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        given: NDArray[np.bool_] = scores.astype(np.float64) >= threshold_in(scores, self.threshold)
        return given
