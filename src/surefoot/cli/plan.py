"""`surefoot plan`: what a run will cost, before it begins."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.input_options import InputOptions
from surefoot.cli.methods import estimate_method, kappa_method
from surefoot.cli.numbers import share
from surefoot.cli.run_options import StudyRequest
from surefoot.cli.terminal import HOLDS
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.study.cost_plan import Plan


@o.expand_options
def plan(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    inputs: InputOptions,
    perturb: o.PerturbOption,
    width: Annotated[
        str | None,
        typer.Option(help=f"Plan `estimate` with this width (default: {o.DEFAULT_WIDTH})."),
    ] = None,
    kappa: Annotated[
        str | None, typer.Option(help="Plan `certify` with this kappa instead.")
    ] = None,
    confidence: o.ConfidenceOption = o.DEFAULT_CONFIDENCE,
    assume: Annotated[
        str, typer.Option(help="Assumed probabilities that a perturbed input is kept.")
    ] = "1,0.999,0.99,0.9,0.5",
    prop: o.PropertyOption = "same",
    seed: o.SeedOption = 1,
    json: o.Json = False,
    workers: o.WorkersOption = None,
) -> int:
    """Predict how many trials and how much time a run will take.

    The method is simulated with assumed probabilities, and the model is timed on one batch.
    Nothing is stored.

    Example: surefoot plan model.onnx test.npz --perturb linf:8/255 --width 0.01
    """
    assumed = [share("--assume", part) for part in assume.split(",")]
    request = StudyRequest(inputs, data, perturb, prop, _method(width, kappa, confidence))
    study, _ = request.study(model, seed)
    forecast = study.plan(assumed, workers)
    if json:
        typer.echo(jsonlib.dumps(asdict(forecast)))
    else:
        _print(forecast)
    return HOLDS


def _method(width: str | None, kappa: str | None, confidence: str) -> Any:  # noqa: ANN401
    if kappa is None:
        return estimate_method("exact-sequential", width or o.DEFAULT_WIDTH, confidence)
    if width is not None:
        raise InvalidArgument("give either --width (for estimate) or --kappa (for certify)")
    return kappa_method("kappa-test", kappa, confidence)


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
    for name in ("p", "trials per input", "trials in total", "time", "concluded"):
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
