"""What every curve method refuses, and what it says when it is stopped."""

from __future__ import annotations

import math
from collections.abc import Sequence

from surefoot.errors import InvalidArgument


def check_span(low: float, high: float) -> None:
    """Refuse a range that is none."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidArgument(
            f"a range of levels goes from a lower to a higher number, got {low:g} to {high:g}: "
            "write 0..2"
        )


def check_thresholds(thresholds: Sequence[float]) -> None:
    """Refuse thresholds that every curve, or none, stays above."""
    if not thresholds:
        raise InvalidArgument(
            "a curve needs a threshold: give one; 0.8 gives the levels at which 80 % are still "
            "right"
        )
    for value in thresholds:
        if not 0 < value < 1:
            raise InvalidArgument(
                f"a threshold is a share above 0 and below 1, got {value:g}: write 0.8 for 80 %"
            )
    if len(set(thresholds)) < len(thresholds):
        raise InvalidArgument(
            f"the thresholds {list(thresholds)} name one of them twice: give each of them once"
        )


def check_size(size: int) -> None:
    """Refuse to run on no inputs."""
    if size < 1:
        raise InvalidArgument(
            f"a curve needs to know how many inputs there are, got {size}: give size"
        )


def stopped_early(levels: int) -> str:
    """The note of a curve that was concluded when its time was up."""
    plural = "" if levels == 1 else "s"
    return f"stopped early: the time limit was reached after {levels} level{plural}"
