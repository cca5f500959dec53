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
from surefoot.properties.reference_outputs import (
    CLEAN,
    ROUNDING_SHARE,
    at_most,
    few_words,
    reference_named,
    relative_rounding,
    rows_of,
    target_array,
)
from surefoot.subject.items import on_host
from surefoot.subject.protocols import Array, Reference, Scores


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
        """The largest distance over all values, or the largest share.

        Beyond the tolerance what rounding in the type of the outputs explains does not count, as
        far as that is at most `ROUNDING_SHARE` of the tolerance.
        """
        xp = array_namespace(outputs)
        given, expected = rows_of(outputs), rows_of(references)
        unit = xp.ones_like(expected) if self.share is None else xp.abs(expected)
        stated = (self.tolerance if self.share is None else self.share) or 0.0
        distance, allowed = xp.abs(given - expected), stated * unit
        rounding = relative_rounding(outputs) * (xp.abs(given) + xp.abs(expected))
        most = allowed + xp.minimum(rounding, ROUNDING_SHARE * allowed)
        moved = distance / unit
        return xp.max(xp.where((moved > stated) & (distance <= most), stated, moved), axis=1)

    def words(self, output: Any) -> str:  # noqa: ANN401  an output or a target
        """The values."""
        return few_words(np.asarray(on_host(output), dtype=np.float64).reshape(-1).tolist())
