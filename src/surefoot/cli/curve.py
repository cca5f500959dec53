"""`surefoot curve`: up to which level does the model still work?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.output import run_command
from surefoot.commands import curve as function


@o.options_of(function.curve)
def curve(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL... DATA", help="One or more models, then the data."),
    ],
    *,
    perturb: Annotated[
        list[str],
        typer.Option(
            help="Perturbation and range of levels: blur:0..2, rotation:-30..30, fog (up to "
            "severity 5), blur:2+jpeg:0.5 (from none to both). Repeat it for several curves."
        ),
    ],
    json: o.Json = False,
    **options: Any,  # noqa: ANN401  handed on as they are
) -> int:
    """Measure accuracy against the level, and find where it falls below a threshold.

    Levels are chosen where the curve may cross the threshold. Far from the threshold a part of the
    inputs is enough. The interval holds for the curve as it is between the levels too, under what
    --assume says; the result names it, and says so if the data contradict it. If the perturbation
    is random, the curve is the mean over fresh draws of the noise, unless --fixed-draws is given.

    Example: surefoot curve model.onnx test.npz --perturb blur:0..2 --threshold 0.8
    """
    *models, data = paths
    return run_command(function.curve, models, data, perturb, json=json, **options)
