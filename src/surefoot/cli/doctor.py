"""`surefoot doctor`: do model and data fit together?"""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict
from typing import Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import HOLDS, print_findings, prints_to_stderr
from surefoot.commands import doctor as function

BAD = 3
"""Not 1: that is for a refuted requirement."""


@o.options_of(function.doctor)
def doctor(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    perturb: Annotated[
        str | None, typer.Option(help="Also check this perturbation, for example linf:8/255.")
    ] = None,
    json: o.Json = False,
    **options: Any,  # noqa: ANN401  handed on as they are
) -> int:
    """Check that model and data fit together before a run.

    Exit code 3 if something is wrong.

    Example: surefoot doctor model.onnx test.npz --bounds 0,1
    """
    with prints_to_stderr():
        checkup = function.doctor(model, data, perturb, **options)
    if json:
        typer.echo(jsonlib.dumps([asdict(f) for f in checkup.findings], ensure_ascii=False))
    else:
        print_findings(checkup.findings)
    return BAD if checkup.bad else HOLDS
