"""What perturbations that are functions of the user are checked for, with arrays and with items."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.engine.sampling_bench import SamplingBench
from surefoot.input_set import Inputs
from surefoot.items import same_item
from surefoot.subject import to_host
from surefoot.tasks import Task

_TRIALS = 4
"""Trials of each input that are compared with it."""


def functions_of(perturbation: Any) -> list[Any]:  # noqa: ANN401  any perturbation
    """Those of its parts that are functions of the user."""
    if hasattr(perturbation, "function"):
        return [perturbation]
    inner = getattr(perturbation, "inner", None)
    parts = getattr(perturbation, "parts", ()) if inner is None else (inner,)
    return [function for part in parts for function in functions_of(part)]


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
    """Whether a trial of the first inputs gives the same result twice, and the way out if not."""
    for subject in bench.inputs.subjects()[:sample]:
        task = Task(subject, level, 0, 1)
        first, second = (to_host(bench.perturbed(task))[0] for _ in range(2))
        if not same_input(first, second, bench.inputs):
            return False, (
                f"the same trial of input {subject.name} gives two results: let the function draw "
                "all its random numbers from rng (or u), and keep nothing from call to call"
            )
    return True, "the same trial gives the same perturbed input"
