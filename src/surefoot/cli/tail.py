"""`surefoot tail`: RoMA, a rare failure extrapolated, next to what was counted."""

from __future__ import annotations

from typing import Any

from surefoot.cli import options as o
from surefoot.cli.output import run_command
from surefoot.commands import tail as function


@o.options_of(function.tail)
def tail(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    perturb: o.PerturbOption,
    json: o.Json = False,
    **options: Any,  # noqa: ANN401  handed on as they are
) -> int:
    """Extrapolate the probability of a rare confident mistake (RoMA); without guarantee.

    A normal distribution is fitted to the highest wrong confidence of each trial and evaluated at
    the limit. That is an extrapolation and has no guarantee. The failures that were counted, with
    their interval, are printed next to it; a contradiction is reported. A requirement is about the
    counted mean.

    Example: surefoot tail model.onnx test.npz --perturb linf:8/255 --limit 0.6
    """
    return run_command(function.tail, model, data, perturb, json=json, **options)
