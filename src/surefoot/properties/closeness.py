"""Regression: the output stays within a tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.object_values import on_host
from surefoot.properties.reference_outputs import (
    CLEAN,
    at_most,
    few_words,
    reference_named,
    rows_of,
    target_array,
)
from surefoot.subject import Array, Reference, Scores

_ROUNDING = 2.0**-22
"""Part of a value that single precision may lose in an output and its reference together: a
difference of exactly the tolerance is kept."""


@dataclass(frozen=True)
class Close:
    """Every value of the output is at most `tolerance` away from its reference.

    With `share` in its place at most that share of the reference: 0.05 is 5 %. The reference is
    the output for the clean input, or with `of="true"` the target in the data.
    """

    tolerance: float | None = None
    share: float | None = None
    of: str = "predicted"
    kind: ClassVar[str] = "close"
    needs: ClassVar[Scores | None] = Scores.VALUES
    provable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if (self.tolerance is None) == (self.share is None):
            raise InvalidArgument(
                "close needs one tolerance: give a distance, close:0.5 (Close(0.5)), or a share of "
                "the output, close:5% (Close(share=0.05))"
            )
        for name, value in (("tolerance", self.tolerance), ("share", self.share)):
            if value is not None and not 0 <= value < math.inf:
                raise InvalidArgument(f"close.{name} must be a finite number ≥ 0, got {value}")
        reference_named(self.kind, self.of)

    @property
    def phrase(self) -> str:
        """What holds."""
        within = f"{self.tolerance:g}" if self.share is None else f"{100 * self.share:g} %"
        truth = "the true value" if self.of == "true" else f"its value for {CLEAN}"
        return f"keep the output within {within} of {truth}"

    @property
    def limit(self) -> float:
        """The severity at which it fails: the next number above the tolerance."""
        return at_most((self.tolerance if self.share is None else self.share) or 0.0)

    @property
    def reference(self) -> Reference:
        """Which output it is about."""
        return Reference(self.of)

    def references(
        self, outputs: NDArray[Any], targets: Sequence[Any], names: Sequence[str]
    ) -> NDArray[np.float64]:
        """The clean outputs or the targets; a share of 0 is refused."""
        values = outputs.astype(np.float64)
        if targets:
            shape = outputs.shape[1:]
            pairs = zip(targets, names, strict=True)
            values = np.stack([target_array(target, shape, name) for target, name in pairs])
        zero = (values == 0).reshape(len(values), -1).any(axis=1)
        if self.share is not None and zero.any():
            what = "target" if targets else "clean output"
            raise InvalidArgument(
                f"the {what} of input {names[int(np.argmax(zero))]} holds a 0, and a share of 0 is "
                "no tolerance: state a distance, such as close:0.5"
            )
        return values

    def severity(self, outputs: Array, references: Array) -> Array:
        """The largest distance over all values, or the largest share."""
        xp = array_namespace(outputs)
        expected = rows_of(references)
        moved = xp.abs(rows_of(outputs) - expected)
        if self.share is not None:
            moved = moved / xp.abs(expected)
        stated, rounding = self.tolerance, _ROUNDING * xp.abs(expected)
        if stated is None:
            stated, rounding = self.share or 0.0, xp.full_like(moved, _ROUNDING)
        moved = xp.where(xp.abs(moved - stated) <= rounding, stated, moved)
        return xp.max(moved, axis=1)

    def words(self, output: Any) -> str:  # noqa: ANN401  an output or a target
        """The values."""
        return few_words(np.asarray(on_host(output), dtype=np.float64).reshape(-1).tolist())
