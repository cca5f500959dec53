"""`surefoot design`: when an estimate stops, what is proved about it, and what it costs."""

from __future__ import annotations

import json as jsonlib
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import HOLDS
from surefoot.commands.methods import estimate_method
from surefoot.commands.output_files import check_text_file
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from rich.table import Table

    from surefoot.report.views.design import Cost
    from surefoot.statistics.designs import Design

_FAILURE_PROBABILITIES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)
_ROWS = 12
"""Interim analyses that fit on a screen."""


def design(
    width: o.WidthOption = o.DEFAULT_WIDTH,
    confidence: o.ConfidenceOption = o.DEFAULT_CONFIDENCE,
    every: Annotated[bool, typer.Option("--all", help="Print every interim analysis.")] = False,
    figure: Annotated[str | None, typer.Option(help="Write the figure here: design.svg.")] = None,
    json: o.Json = False,
) -> int:
    """Show when an estimate of a given width stops, what is proved about it, and what it costs.

    This is the design of the method exact-sequential. Common designs come with the package; any
    other one is computed and proved now, and stored. That takes seconds, or minutes for a width
    below 0.002.

    Example: surefoot design --width 0.02 --confidence 0.99 --figure design.svg
    """
    from rich.console import Console

    from surefoot.report.views.design import cost

    _check_figure(figure)
    method = estimate_method(width, confidence)
    with Console(stderr=True).status("computing the design and proving it"):
        stopping_design: Design = method.design
        costs = cost(stopping_design, _FAILURE_PROBABILITIES)
    if figure is not None:
        _draw(stopping_design, figure)
    if json:
        typer.echo(jsonlib.dumps({"design": asdict(stopping_design), "cost": asdict(costs)}))
    else:
        _print(stopping_design, costs, len(stopping_design.looks) if every else _ROWS)
    return HOLDS


def _check_figure(figure: str | None) -> None:
    check_text_file(figure)
    if figure is not None and Path(figure).suffix.lower() != ".svg":
        raise InvalidArgument(f"--figure must be an .svg file, got {figure}: write design.svg")


def _draw(stopping_design: Design, figure: str) -> None:
    from surefoot.report.views.design import design_figure
    from surefoot.system.whole_file import write_whole

    write_whole(Path(figure), design_figure(stopping_design))
    sys.stderr.write(f"figure written to {figure}\n")


def _print(stopping_design: Design, costs: Cost, rows: int) -> None:
    from rich.console import Console

    from surefoot.report.views.design import design_sentences

    console = Console(highlight=False)
    for line in design_sentences(stopping_design):
        console.print(line, markup=False, soft_wrap=True)
    console.print()
    console.print(_stopping_table(stopping_design, rows))
    console.print()
    console.print(_cost_table(stopping_design, costs))
    console.print(
        f"Okamoto's number of trials is {costs.okamoto:,}; the smallest fixed number for every p"
        " is "
        f"{costs.fixed_size:,}. The limit is what any sound method needs on average when the width "
        "is small.",
        soft_wrap=True,
    )


def _stopping_table(stopping_design: Design, rows: int) -> Table:
    """The first interim analysis, every few, and the last."""
    from rich.table import Table

    last = len(stopping_design.looks) - 1
    step = math.ceil(len(stopping_design.looks) / rows)
    some = f" (every {_ordinal(step)} analysis; --all prints all)" if step > 1 else ""
    table = Table(title=f"When to stop{some}", title_justify="left", title_style="bold")
    for name in (
        "analysis",
        "trials",
        "stop if at most this many are kept, or at most this many failed",
    ):
        table.add_column(name, justify="right")
    for i in sorted({*range(0, last, step), last}):
        limit = "always" if i == last else f"{stopping_design.few[i]:,}"
        table.add_row(str(i + 1), f"{stopping_design.looks[i]:,}", limit)
    return table


def _ordinal(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")


def _cost_table(stopping_design: Design, costs: Cost) -> Table:
    from rich.table import Table

    table = Table(title="Expected trials", title_justify="left", title_style="bold")
    for name in ("p or 1 - p", "expected trials", "of Okamoto's number", "limit"):
        table.add_column(name, justify="right")
    for row in costs.expected:
        table.add_row(
            f"{row.p:g}",
            f"{row.trials:,.0f}",
            f"{100 * row.trials / costs.okamoto:.1f} %",
            f"{row.limit:,.0f}",
        )
    return table
