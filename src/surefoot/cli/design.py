"""`surefoot design`: when an estimate will stop, what is proved of it, and what it costs."""

from __future__ import annotations

import json as jsonlib
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.estimate import method_for
from surefoot.cli.terminal import HOLDS
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from rich.table import Table

    from surefoot.report.design.cost import Cost
    from surefoot.statistics.designs import Design

_ASSUMED = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)
_ROWS = 12


def design(
    width: Annotated[str, typer.Option(help="How far an estimate may be off.")] = "0.02",
    confidence: Annotated[str, typer.Option(help="How sure to be.")] = "0.99",
    every: Annotated[bool, typer.Option("--all", help="Print every look.")] = False,
    figure: Annotated[str | None, typer.Option(help="Draw it here, as SVG.")] = None,
    json: o.Json = False,
) -> int:
    """Tell when an estimate of this width stops, what is proved of it, and what it costs.

    It is the design behind the method exact-sequential. One that does not come with the package
    is made and proved now, which takes seconds, or minutes below a width of 0.002, and is kept.

    Example: surefoot design --width 0.01 --confidence 0.99 --figure design.svg
    """
    from rich.console import Console

    from surefoot.report.design.cost import cost

    _check_figure(figure)
    procedure = method_for("exact-sequential", width, confidence)
    with Console(stderr=True).status("making the design and proving it"):
        made: Design = procedure.design
        bill = cost(made, _ASSUMED)
    if figure is not None:
        _draw(made, figure)
    if json:
        typer.echo(jsonlib.dumps({"design": asdict(made), "cost": asdict(bill)}))
    else:
        _show(made, bill, len(made.looks) if every else _ROWS)
    return HOLDS


def _check_figure(figure: str | None) -> None:
    o.check_file(figure)
    if figure is not None and Path(figure).suffix.lower() != ".svg":
        raise InvalidArgument(f"a figure is drawn as SVG, got {figure}: call it design.svg")


def _draw(made: Design, figure: str) -> None:
    from surefoot.report.design.figures import design_figure
    from surefoot.report.page import write_whole

    write_whole(Path(figure), design_figure(made))
    sys.stderr.write(f"figure written to {figure}\n")


def _show(made: Design, bill: Cost, rows: int) -> None:
    from rich.console import Console

    from surefoot.report.design.sentences import design_sentences

    console = Console(highlight=False)
    for line in design_sentences(made):
        console.print(line, markup=False, soft_wrap=True)
    console.print()
    console.print(_looks(made, rows))
    console.print()
    console.print(_expected(made, bill))
    console.print(
        f"Okamoto's number is {bill.okamoto:,}; one fixed size that serves every p is "
        f"{bill.fixed_size:,}. The limit is what any sound method needs on average as the width "
        "goes to 0.",
        soft_wrap=True,
    )


def _looks(made: Design, rows: int) -> Table:
    """The first look, every few, the last."""
    from rich.table import Table

    last = len(made.looks) - 1
    step = math.ceil(len(made.looks) / rows)
    some = f" (every {_ordinal(step)} look; --all prints all)" if step > 1 else ""
    table = Table(title=f"When to stop{some}", title_justify="left", title_style="bold")
    for name in ("look", "trials", "stop if at most so many held, or at most so many failed"):
        table.add_column(name, justify="right")
    for i in sorted({*range(0, last, step), last}):
        limit = "in any case" if i == last else f"{made.few[i]:,}"
        table.add_row(str(i + 1), f"{made.looks[i]:,}", limit)
    return table


def _ordinal(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")


def _expected(made: Design, bill: Cost) -> Table:
    from rich.table import Table

    table = Table(title="Trials to expect", title_justify="left", title_style="bold")
    for name in ("p or 1 - p", "expected trials", "of Okamoto's number", "limit"):
        table.add_column(name, justify="right")
    for row in bill.expected:
        table.add_row(
            f"{row.p:g}",
            f"{row.trials:,.0f}",
            f"{100 * row.trials / bill.okamoto:.1f} %",
            f"{row.limit:,.0f}",
        )
    return table
