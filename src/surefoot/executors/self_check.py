"""What a bench answers to a few fixed questions, which must be alike in every process."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.tasks import Subject, Task
from surefoot.subject.object_values import digest_of_object
from surefoot.subject.protocols import Array, to_host

_QUESTIONS = 4
"""Inputs, and trials of the first one: enough that another model gives another answer."""
_ALIKE = 1e-3
"""How far answers of two processes may differ, as a share of the largest: libraries add up in
another order where they have another number of threads."""
Answer = NDArray[Any] | list[str]
"""Numbers, or a digest of each object."""


def self_check(bench: Any) -> list[Answer]:  # noqa: ANN401  any bench
    """Outputs for a few clean inputs, and a few perturbed ones; empty for a bench without a model.

    A perturbation whose level the method chooses is tried at its highest, or at 1.
    """
    model, inputs = getattr(bench, "model", None), getattr(bench, "inputs", None)
    if model is None or inputs is None:
        return []
    answers = [_values(model.predict(model.place(inputs.x[:_QUESTIONS])))]
    if not hasattr(bench, "perturbed_all"):
        return answers
    perturbation = bench.perturbation
    level = perturbation.level
    if level is None:
        highest = perturbation.levels(model.signature.bounds).high
        level = highest if np.isfinite(highest) else 1.0
    first = Task(Subject(inputs.ids[0], (0,)), level, 0, _QUESTIONS)
    return [*answers, _values(bench.perturbed_all([first]))]


def answers_alike(own: list[Answer], expected: list[Answer]) -> bool:
    """Whether they are the same but for rounding."""
    return len(own) == len(expected) and all(map(_alike, own, expected))


def _values(answer: Array | list[object]) -> Answer:
    """Numbers as they are; objects by a digest of each."""
    if isinstance(answer, list):
        return [digest_of_object(one) for one in answer]
    values = to_host(answer)
    return [digest_of_object(one) for one in values] if values.dtype == object else values


def _alike(one: Answer, other: Answer) -> bool:
    if isinstance(one, list) or isinstance(other, list):
        return bool(one == other)
    if one.shape != other.shape:
        return False
    finite = np.abs(other[np.isfinite(other)])
    scale = float(finite.max()) if finite.size else 0.0
    return bool(np.allclose(one, other, rtol=0, atol=_ALIKE * scale, equal_nan=True))
