"""`surefoot doctor`: is the model wired up as you think?"""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict
from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import HOLDS, show_findings

BAD = 3
"""Nothing but a refuted requirement exits with 1."""


@o.expanded
def doctor(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    reading: o.Reading,
    perturb: Annotated[
        str, typer.Option(help="Also check this perturbation, such as linf:8/255.")
    ] = "linf:0",
    json: o.Json = False,
) -> int:
    """Check model and data before a run, in plain words. Exit code 3 if something is bad.

    Example: surefoot doctor model.onnx test.npz --bounds 0,1
    """
    from surefoot.study.doctor import doctor as check
    from surefoot.study.parse_perturbation import parse_perturbation

    loaded, inputs = reading.load(model, data)
    checkup = check(loaded, inputs, parse_perturbation(perturb, inputs.frame))
    if json:
        typer.echo(jsonlib.dumps([asdict(f) for f in checkup.findings], ensure_ascii=False))
    else:
        show_findings(checkup.findings)
    return BAD if checkup.bad else HOLDS
