"""`surefoot plan`: what a run will cost, before it begins."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli.certify import method_for as test_for
from surefoot.cli.estimate import method_for as estimate_for
from surefoot.cli.options import DataArg, ModelArg, Reading, expanded
from surefoot.cli.run_options import Asked, PropertyOption, Running
from surefoot.cli.terminal import HOLDS

if TYPE_CHECKING:
    from surefoot.study.cost_plan import Plan


@expanded
def plan(
    model: ModelArg,
    data: DataArg,
    *,
    reading: Reading,
    width: Annotated[str, typer.Option(help="For an estimate: how far it may be off.")] = "0.02",
    kappa: Annotated[
        str | None, typer.Option(help="For a certificate: the failure probability.")
    ] = None,
    confidence: Annotated[str, typer.Option(help="How sure to be.")] = "0.99",
    assume: Annotated[
        str, typer.Option(help="Probabilities that an input holds, comma-separated.")
    ] = "1,0.999,0.99,0.9,0.5",
    prop: PropertyOption = "same",
    running: Running,
) -> int:
    """Tell how many trials and how much time a run will take, by rehearsing it.

    The method is rehearsed on assumed probabilities and the model timed on one batch; nothing is
    kept.

    Example: surefoot plan model.onnx test.npz --perturb linf:8/255 --width 0.01 --confidence 0.99
    """
    from surefoot.study.registry import share

    assumed = [share("--assume", part) for part in assume.split(",")]
    asked = Asked(data, prop, _procedure(width, kappa, confidence))
    study, _ = running.study(reading, model, asked)
    found = study.plan(assumed, running.workers)
    if running.json:
        typer.echo(jsonlib.dumps(asdict(found)))
    else:
        _show(found)
    return HOLDS


def _procedure(width: str, kappa: str | None, confidence: str) -> Any:  # noqa: ANN401
    if kappa is None:
        return estimate_for("exact-sequential", width, confidence)
    return test_for("kappa-test", kappa, None, confidence, None)


def _show(found: Plan) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(
        f"{found.inputs:,} inputs; the model does about {found.rate:,.0f} trials a second with "
        f"{found.workers} {'worker' if found.workers == 1 else 'workers'}.",
        soft_wrap=True,
    )
    table = Table(title="If every input held with probability p", title_justify="left")
    for name in ("p", "trials an input", "trials in all", "time", "concluded"):
        table.add_column(name, justify="right")
    for r in found.rehearsals:
        table.add_row(
            f"{r.p:g}",
            f"{r.mean:,.0f}",
            f"{found.inputs * r.mean:,.0f}",
            _duration(found.seconds(r)),
            f"{100 * r.decided:.0f} %",
        )
    console.print(table)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
