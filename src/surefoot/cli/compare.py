"""`surefoot compare`: several models on the same inputs and the same perturbations."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.output import run_command
from surefoot.commands import compare as function


@o.options_of(function.compare)
def compare(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL MODEL... DATA", help="Two or more models, then the data."),
    ],
    *,
    perturb: o.PerturbOption,
    json: o.Json = False,
    **options: Any,  # noqa: ANN401  handed on as they are
) -> int:
    """Rank models by how often they fail on the same perturbed inputs, with intervals.

    All models get the same inputs and the same perturbations, so that differences are measured
    input by input. "Not shown to differ" is a possible answer. With --correct-only, only inputs
    that all models classify correctly.

    Example: surefoot compare model.onnx old.onnx test.npz --perturb linf:8/255 --not-worse 0.01
    """
    *models, data = paths
    return run_command(function.compare, models, data, perturb, json=json, **options)
