"""Whether a curve of a function of the user begins with the clean input, without a jump."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from surefoot.core.counts import Counts
from surefoot.core.tasks import Task
from surefoot.engine.check_status import CheckStatus
from surefoot.engine.function_checks import functions_of, same_input
from surefoot.engine.perturbation_checks import bench_for_checks
from surefoot.engine.preflight import Check
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.input_formats import InputFormat
from surefoot.perturb._ops.levels import level_of
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, Perturbation, to_host

_SAMPLE = 16
"""Inputs that are perturbed: a function that is not the identity changes nearly all of them."""
_TINY = 1e-12
"""The level next to 0, as a share of the highest: even its square root changes nothing to see."""
_UNCHANGED, _UNCHANGED_BYTES = 1e-4, 1 / 256
"""Mean change, as a share of the range of the data, that rounding explains: of single precision,
and of 256 values a pixel."""


def examine_level_zero(inputs: Inputs, model: Model, perturbation: Perturbation) -> Iterator[Check]:
    """A check for every function of the user: `apply` does not call it at level 0 itself."""
    for part in functions_of(perturbation):
        if getattr(part, "only", ()):
            continue
        bounds = model.signature.bounds
        bench = bench_for_checks(inputs, model, part)
        level = _TINY * level_of(part)
        span = _span(inputs) if bounds is None else bounds.width
        name = f"{part.kind} at level 0"
        try:
            yield Check(name, *_change(bench, inputs, level, span))
        except InvalidArgument as error:
            yield Check(name, CheckStatus.FAILED, str(error))


def _change(
    bench: SamplingBench[Counts], inputs: Inputs, level: float, span: float
) -> tuple[CheckStatus, str]:
    part: Any = bench.perturbation
    in_bytes = getattr(part, "input_format", None) in (InputFormat.BYTES, InputFormat.PILLOW)
    most = span * (_UNCHANGED_BYTES if in_bytes else _UNCHANGED)
    for row, subject in enumerate(inputs.subjects()[:_SAMPLE]):
        perturbed = to_host(bench.perturbed(Task(subject, level, 0, 1)))[0]
        if inputs.holds_items:
            if same_input(perturbed, inputs.x[row], inputs):
                continue
            return CheckStatus.FAILED, (
                f"a curve begins with the clean input, but next to level 0 the function changes "
                f"input {subject.name}: let it change less as the level falls, and nothing at 0"
            )
        change = float(np.abs(perturbed - inputs.x[row]).mean())
        if change > most:
            return CheckStatus.FAILED, (
                f"a curve begins with the clean input, but next to level 0 the function changes "
                f"input {subject.name} by {change:.2g} on average: let it return its input at "
                "level 0, such as x + level * u"
            )
    return CheckStatus.OK, "the function changes nothing next to level 0"


def _span(inputs: Inputs) -> float:
    return 1.0 if inputs.holds_items else float(inputs.x.max() - inputs.x.min())
