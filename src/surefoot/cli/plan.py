"""`surefoot plan`: what a run will cost, before it begins."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import HOLDS, prints_to_stderr
from surefoot.commands import plan as function

if TYPE_CHECKING:
    from surefoot.study.cost_plan import Plan


@o.options_of(function.plan)
def plan(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    perturb: o.PerturbOption,
    json: o.Json = False,
    **options: Any,  # noqa: ANN401  handed on as they are
) -> int:
    """Predict how many trials and how much time a run will take.

    The method is simulated with assumed probabilities, and the model is timed on one batch.
    Nothing is stored.

    Example: surefoot plan model.onnx test.npz --perturb linf:8/255 --precision 0.02
    """
    with prints_to_stderr():
        forecast = function.plan(model, data, perturb, **options)
    if json:
        typer.echo(jsonlib.dumps(asdict(forecast)))
    else:
        _print(forecast)
    return HOLDS


def _print(forecast: Plan) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(
        f"{forecast.inputs:,} inputs; the model does about {forecast.rate:,.0f} trials per second "
        f"with {forecast.workers} {'worker' if forecast.workers == 1 else 'workers'}.",
        soft_wrap=True,
    )
    table = Table(title="If every input is kept with probability p", title_justify="left")
    reached = "precision reached" if forecast.together else "concluded"
    for name in ("p", "trials per input", "trials in total", "time", reached):
        table.add_column(name, justify="right")
    for r in forecast.rehearsals:
        table.add_row(
            f"{r.p:g}",
            f"{forecast.trials(r) / forecast.inputs:,.{1 if forecast.together else 0}f}",
            f"{forecast.trials(r):,.0f}",
            _duration(forecast.seconds(r)),
            f"{100 * r.decided:.0f} %",
        )
    console.print(table)
    for note in forecast.notes:
        console.print(note, soft_wrap=True)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
