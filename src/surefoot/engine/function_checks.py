"""What perturbations that are functions of the user are checked for, with arrays and with items."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.tasks import Subject, Task
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.subject.inputs import Inputs
from surefoot.subject.items import same_item
from surefoot.subject.protocols import to_host
from surefoot.system.memory_limits import rows_together

_TRIALS = 4
"""Trials of each input that are compared with it."""
_ROUNDING = 1e-5
"""Part of the largest value by which a row may differ in another batch: sums in another order."""


def functions_of(perturbation: Any) -> list[Any]:  # noqa: ANN401  any perturbation
    """Those of its parts that are functions of the user."""
    return parts_with(perturbation, "function")


def parts_with(perturbation: Any, attribute: str) -> list[Any]:  # noqa: ANN401  any perturbation
    """Those of its parts that have this attribute, itself too."""
    if hasattr(perturbation, attribute):
        return [perturbation]
    inner = getattr(perturbation, "inner", None)
    parts = getattr(perturbation, "parts", ()) if inner is None else (inner,)
    return [found for part in parts for found in parts_with(part, attribute)]


def same_input(a: Any, b: Any, inputs: Inputs) -> bool:  # noqa: ANN401  arrays or items
    """Whether two inputs of this kind are the same."""
    if inputs.holds_items:
        return same_item(a, b, inputs.digest_item)
    return bool(np.array_equal(a, b))


def items_changed(bench: SamplingBench[Any], level: float, sample: int) -> tuple[bool, str]:
    """Whether any trial of the first inputs changes its item, and how many do, in words."""
    inputs = bench.inputs
    pairs = [
        (inputs.x[subject.rows[0]], item)
        for subject in inputs.subjects()[:sample]
        for item in bench.perturbed(Task(subject, level, 0, _TRIALS))
    ]
    changed = sum(not same_input(*pair, inputs) for pair in pairs)
    words = f"{changed} of {len(pairs)} trials change their input"
    advice = "" if changed else ": choose another perturbation or a higher level"
    return changed > 0, words + advice


def trials_repeat(bench: SamplingBench[Any], level: float, sample: int) -> tuple[bool, str]:
    """Whether trials are the same a second time and alone, and the way out if they are not."""
    subjects = bench.inputs.subjects()[:sample]
    for subject in subjects:
        task = Task(subject, level, 0, 1)
        first, second = (to_host(bench.perturbed(task))[0] for _ in range(2))
        if not same_input(first, second, bench.inputs):
            return False, (
                f"the same trial of input {subject.name} gives two results: let the function draw "
                "all its random numbers from rng (or u), and keep nothing from call to call"
            )
    rows = tuple(subject.rows[0] for subject in subjects[:_TRIALS])
    for subject in (*subjects, Subject("several inputs", rows)):
        if not _same_alone(bench, subject, level):
            return False, (
                f"the trials of {_of(subject)} are other ones in a batch than alone: let row i of "
                "the result depend on row i of x and u only, without sums, means or sorting over "
                "all rows"
            )
    if _always_first(bench, level, sample):
        return False, (
            f"every input becomes {subjects[0].name}, the first one: let the function keep nothing "
            "from call to call"
        )
    return True, "the same trial gives the same perturbed input, alone and in a batch"


def _of(subject: Subject) -> str:
    return subject.name if len(subject.rows) > 1 else f"input {subject.name}"


def _same_alone(bench: SamplingBench[Any], subject: Subject, level: float) -> bool:
    """Whether a few trials in one batch are what each of them is alone."""
    trials = min(_TRIALS, max(2, rows_together(bench.inputs.row_bytes)))
    together = to_host(bench.perturbed(Task(subject, level, 0, trials)))
    alone = (to_host(bench.perturbed(Task(subject, level, i, i + 1)))[0] for i in range(trials))
    pairs = zip(together, alone, strict=True)
    if bench.inputs.holds_items:
        return all(same_input(*pair, bench.inputs) for pair in pairs)
    size = max(1.0, float(together.max()), -float(together.min()))
    return all(float(np.abs(a - b).max()) <= _ROUNDING * size for a, b in pairs)


def _always_first(bench: SamplingBench[Any], level: float, sample: int) -> bool:
    """Whether each of the inputs, not all alike, becomes the first one, as it is in the data.

    A first input of one value throughout is what a perturbation may leave of any input.
    """
    inputs, subjects = bench.inputs, bench.inputs.subjects()[:sample]
    first = inputs.x[subjects[0].rows[0]]
    others = [s for s in subjects if not same_input(first, inputs.x[s.rows[0]], inputs)]
    if not others or (not inputs.holds_items and bool((first == first.flat[0]).all())):
        return False
    return all(
        same_input(
            first, to_host(bench.perturbed(Task(subject, level, trial, trial + 1)))[0], inputs
        )
        for subject in (subjects[0], *others)
        for trial in range(_TRIALS)
    )
