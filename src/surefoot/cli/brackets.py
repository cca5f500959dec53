"""`surefoot brackets`: quantiles of critical radii that other tools computed."""

from __future__ import annotations

from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.output import command_line, present, say_files
from surefoot.commands.options import ESTIMATOR, RunOptions
from surefoot.commands.output_files import check_figure_file
from surefoot.commands.values import as_number, as_numbers, error_from, share


def brackets(
    path: Annotated[
        str,
        typer.Argument(
            metavar="RESULTS.csv", help="Brackets, one input per row; or VERONA's file."
        ),
    ],
    networks: Annotated[
        str | None, typer.Option(help="Only these networks, comma-separated, in this order.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Only rows of this split: test.")] = None,
    source: Annotated[str | None, typer.Option(help="Only rows of this source.")] = None,
    quantile: o.QuantileOption = "0.05",
    confidence: o.ConfidenceOption = o.DEFAULT_CONFIDENCE,
    at: Annotated[
        str | None, typer.Option(help="Also the robust accuracy at these radii: 0.01,8/255.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Also a quantile of each split, label or training (columns of the file)."
        ),
    ] = None,
    ceiling: Annotated[
        str | None,
        typer.Option(help="The largest radius that counts, for the mean of the population: 0.4."),
    ] = None,
    estimator: o.EstimatorOption = ESTIMATOR,
    gamma: o.GammaOption = None,
    require: o.RadiusOption = None,
    figure: o.RadiiFigure = None,
    report: o.ReportOption = None,
    json: o.Json = False,
) -> int:
    """Compute quantiles of critical radii from a file of brackets of another tool.

    The file has the columns network, split, image, lower, upper and runtime_s, or those of VERONA's
    results. An empty lower end counts as 0, an empty upper end as never refuted; no row is left
    out. Several networks are compared on the inputs that all of them have.

    Example: surefoot brackets results.csv --split test --quantile 0.05 --figure critical.svg
    """
    from surefoot.study.external import brackets as read_brackets

    running = RunOptions(report=report)
    running.check()
    check_figure_file(figure)
    result = read_brackets(
        path,
        networks=tuple(networks.split(",")) if networks else (),
        split=split,
        source=source,
        quantile=share("quantile", quantile),
        error=error_from(confidence),
        at=() if at is None else as_numbers("at", at),
        by=by,
        ceiling=None if ceiling is None else as_number("ceiling", ceiling),
        estimator=estimator,
        gamma=None if gamma is None else as_number("gamma", gamma),
    )
    if require is not None:
        result = result.require(as_number("require", require))
    result = running.write(result, command_line(), figure)
    say_files(figure, report)
    return present(result, as_json=json)
