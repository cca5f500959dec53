"""`surefoot estimate`: failure probabilities to a stated width or precision."""

from __future__ import annotations

from typing import Any

from surefoot.cli import options as o
from surefoot.cli.output import run_command
from surefoot.commands import estimate as function


@o.options_of(function.estimate)
def estimate(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    perturb: o.PerturbOption,
    json: o.Json = False,
    **options: Any,  # noqa: ANN401  handed on as they are
) -> int:
    """Estimate how often a model fails under random perturbations, with intervals.

    Each input, each class and the population get an estimate with an interval. With --precision
    0.02 trials are spent on the mean alone, and few suffice. If the run is interrupted, the same
    command continues it.

    Example: surefoot estimate model.onnx test.npz --perturb linf:8/255 --report report.html
    """
    return run_command(function.estimate, model, data, perturb, json=json, **options)
