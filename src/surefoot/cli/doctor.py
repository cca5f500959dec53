"""`surefoot doctor`: do model and data fit together?"""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict
from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.input_options import InputOptions
from surefoot.cli.terminal import HOLDS, print_findings

BAD = 3
"""Not 1: that is for a refuted requirement."""


@o.expand_options
def doctor(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    inputs: InputOptions,
    perturb: Annotated[
        str, typer.Option(help="Also check this perturbation, for example linf:8/255.")
    ] = "linf:0",
    seed: o.SeedOption = 1,
    json: o.Json = False,
) -> int:
    """Check that model and data fit together before a run.

    Exit code 3 if something is wrong.

    Example: surefoot doctor model.onnx test.npz --bounds 0,1
    """
    from surefoot.study.doctor import doctor as check
    from surefoot.study.parse_perturbation import parse_perturbation

    loaded, chosen = inputs.load(model, data, seed)
    checkup = check(loaded, chosen, parse_perturbation(perturb, chosen.frame))
    if json:
        typer.echo(jsonlib.dumps([asdict(f) for f in checkup.findings], ensure_ascii=False))
    else:
        print_findings(checkup.findings)
    return BAD if checkup.bad else HOLDS
