"""`surefoot brackets`: quantiles of critical radii that others have found."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.output import command_line, present
from surefoot.cli.run_options import ReportOption


def brackets(
    path: Annotated[
        str, typer.Argument(metavar="RESULTS.csv", help="Brackets, one input a row; or VERONA's.")
    ],
    networks: Annotated[
        str | None, typer.Option(help="Only these networks, comma-separated, in this order.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Only rows of this split: test.")] = None,
    source: Annotated[str | None, typer.Option(help="Only rows of this source.")] = None,
    quantile: o.QuantileOption = "0.05",
    confidence: o.SureOption = "0.95",
    require: o.RadiusOption = None,
    figure: o.RadiiFigure = None,
    report: ReportOption = None,
    json: o.Json = False,
) -> int:
    """Quantiles of critical radii from a file of brackets, as `critical` gives them for its own.

    The file has the columns network, split, image, lower, upper and runtime_s, or those of VERONA's
    results. An empty lower end counts as 0, an empty upper end as never refuted; nothing is left
    out. With several networks they are compared on the inputs that all of them have.

    Example: surefoot brackets results.csv --split test --quantile 0.05 --figure critical.svg
    """
    from surefoot.report.figures import check_figure
    from surefoot.study import external_brackets
    from surefoot.study.registry import number, share

    o.check_file(report)
    if figure is not None:
        o.check_file(figure)
        check_figure(figure)
    found = external_brackets.brackets(
        path,
        networks=tuple(networks.split(",")) if networks else (),
        split=split,
        source=source,
        quantile=share("--quantile", quantile),
        error=round(1 - share("--confidence", confidence), 12),
    )
    found = replace(found, command=command_line())
    if require is not None:
        found = found.require(number(require))
    return present(found, report=report, figure=figure, as_json=json)
