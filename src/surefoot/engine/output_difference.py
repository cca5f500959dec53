"""How far two outputs of the same inputs are apart: by rounding, or by more than that."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.check_status import CheckStatus, Finding
from surefoot.subject.object_values import split_numbers
from surefoot.subject.protocols import Model, Outputs

ROUNDING = 1e-4
"""Relative difference of scores that single precision explains, whatever kernel or batch size."""
LARGEST_DIFFERENCE = 1e-2
"""Relative difference of scores that no arithmetic explains: the check fails."""


def largest_difference(a: Outputs, b: Outputs) -> float:
    """The largest difference of two outputs, relative where they are large.

    Of whole numbers, such as masks of classes, the share that differs. Of objects the largest
    difference of their numbers; where some inputs get objects of another structure, such as a
    box more, it is at least the share of these inputs above one half.
    """
    if isinstance(a, list):
        return _of_objects(a, list(b))
    if np.issubdtype(a.dtype, np.integer):
        return float(np.mean(a != b))
    return _relative(a, b)


def _relative(a: NDArray[Any], b: NDArray[Any]) -> float:
    return float(np.max(np.abs(a - b) / (1 + np.abs(a)), initial=0.0))


def _of_objects(a: list[Any], b: list[Any]) -> float:
    """A single box that rounding adds or drops is no proof that inputs mix; most of them are."""
    largest, other = 0.0, 0
    for one, two in zip(a, b, strict=True):
        (structure, numbers), (again, others) = split_numbers(one), split_numbers(two)
        if structure != again:
            other += 1
        else:
            largest = max(largest, _relative(numbers, others))
    return max(largest, 2 * other / len(a) - 1)


def same_outputs(difference: float, ok: str, failed: str, way_out: str = "") -> Finding:
    """What a check says of two outputs that should be the same.

    Rounding differs a little between kernels and batch sizes; more than that is an error.
    """
    if difference > LARGEST_DIFFERENCE:
        allowed = f"(allowed {LARGEST_DIFFERENCE:g})"
        return CheckStatus.FAILED, f"{failed} by {difference:.2g} {allowed}{way_out}"
    if difference > ROUNDING:
        return CheckStatus.WARNING, (
            f"{ok} to within {difference:.1g}, more than rounding in single precision: the result "
            "of a trial that is as close to a tie as this may change from run to run"
        )
    return CheckStatus.OK, f"{ok} to within {difference:.1g}"


def unit_of(model: Model) -> str:
    """What the model gives, in a word."""
    return "scores" if model.signature.scores.of_classes else "outputs"
