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
    from surefoot.engine.preflight import CheckStatus, examine
    from surefoot.store.records import Finding
    from surefoot.study.parse_perturbation import parse_perturbation

    loaded, inputs = reading.load(model, data)
    signature = loaded.signature
    checks = tuple(examine(inputs, loaded, parse_perturbation(perturb, inputs.frame)))
    findings = (
        Finding(
            "model",
            "ok",
            f"takes {signature.shape}, gives {signature.classes} classes; "
            f"sha256 {signature.digest[:12]} covers {signature.covers}"
            + (f"; inputs {signature.preparation}" if signature.preparation else ""),
        ),
        Finding(
            "data",
            "ok",
            f"{len(inputs)} inputs of shape {inputs.x.shape[1:]} from {inputs.source} "
            f"({inputs.selection}; {inputs.reading}); sha256 {inputs.digest()[:12]}",
        ),
        *(Finding(c.name, str(c.status), c.finding) for c in checks),
    )
    if json:
        typer.echo(jsonlib.dumps([asdict(f) for f in findings], ensure_ascii=False))
    else:
        show_findings(findings)
    return BAD if any(c.status is CheckStatus.FAILED for c in checks) else HOLDS
