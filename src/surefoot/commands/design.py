"""`design`: when an estimate of a given width stops, what is proved about it, what it costs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.commands import options as o
from surefoot.commands.caller import Answer, Caller
from surefoot.commands.methods import estimate_method
from surefoot.commands.output_files import check_figure_file
from surefoot.commands.values import Number
from surefoot.records.options import option

if TYPE_CHECKING:
    from surefoot.report.tables import Table
    from surefoot.report.views.design import Cost
    from surefoot.statistics.designs import Design

_FAILURE_PROBABILITIES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)
_ROWS = 12
"""Interim analyses that fit on a screen."""


@dataclass(frozen=True)
class DesignOptions:
    """Of which estimate, and how much of its design is shown."""

    width: Number = option(o.WIDTH, "How far each estimate may be from the truth.")
    confidence: Number = option(o.CONFIDENCE, "Confidence of the result.")
    every: bool = option(False, "Print every interim analysis.", names=("--all",))
    figure: str | None = option(None, "Write the figure here: design.svg, .png, .pdf or .json.")


def design(*, options: DesignOptions, caller: Caller) -> Answer:
    """The design of exact-sequential, in sentences and tables."""
    from surefoot.report.figures import write_figure
    from surefoot.report.views.design import cost, design_figure, design_sentences

    figure = options.figure
    check_figure_file(figure)
    made: Design = estimate_method(options.width, options.confidence).design
    costs = cost(made, _FAILURE_PROBABILITIES)
    if figure is not None:
        write_figure(design_figure(made), Path(figure))
        caller.remark(f"figure written to {figure}")
    lines: tuple[str | Table, ...] = (
        *design_sentences(made),
        *_tables(made, costs, len(made.looks) if options.every else _ROWS),
        f"Okamoto's number of trials is {costs.okamoto:,}; the smallest fixed number for every p "
        f"is {costs.fixed_size:,}. The limit is what any sound method needs on average when the "
        "width is small.",
    )
    return Answer(lines, json.dumps({"design": asdict(made), "cost": asdict(costs)}))


def _tables(made: Design, costs: Cost, rows: int) -> tuple[Table, Table]:
    """When to stop, at the first interim analysis, every few, and the last; and the cost."""
    from surefoot.report.tables import Table

    last, step = len(made.looks) - 1, math.ceil(len(made.looks) / rows)
    ordinal = {2: "2nd", 3: "3rd"}.get(step, f"{step}th")
    some = f" (every {ordinal} analysis; --all prints all)" if step > 1 else ""
    stops = [
        (str(i + 1), f"{made.looks[i]:,}", "always" if i == last else f"{made.few[i]:,}")
        for i in sorted({*range(0, last, step), last})
    ]
    few = "stop if at most this many are kept, or at most this many failed"
    expected = [
        (
            f"{row.p:g}",
            f"{row.trials:,.0f}",
            f"{100 * row.trials / costs.okamoto:.1f} %",
            f"{row.limit:,.0f}",
        )
        for row in costs.expected
    ]
    headings = ("p or 1 - p", "expected trials", "of Okamoto's number", "limit")
    return (
        Table(f"When to stop{some}", ("analysis", "trials", few), tuple(stops), 0),
        Table("Expected trials", headings, tuple(expected), 0),
    )
