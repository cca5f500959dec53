"""A result as a notebook shows it: one line, or headline, figure and a small table as HTML."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from surefoot.report.page import html_of
from surefoot.report.tables import Table
from surefoot.report.view import Figure, View

LINE = 190
"""Characters of the one line: what fits into a cell without a bar to scroll."""
ROWS = 12
"""Rows of a table in a notebook: a screen has room for them below the figure."""
FIGURE_BYTES = 120_000
"""Of all figures: with words and tables a result stays below 200 kB in the notebook's file."""


def short_line(view: View, trials: int) -> str:
    """The verdicts, the first claim as far as it fits, and how many trials it took."""
    verdicts = "; ".join(str(claim.verdict) for claim in view.verdicts[:3])
    claim = " ".join((view.headings or [view.title])[0].split())
    before = "<Result " + (f"{verdicts}: " if verdicts else "")
    after = f" {trials:,} trials>"
    room = LINE - len(before) - len(after)
    if len(claim) > room:
        claim = claim[: room - 2].rpartition(" ")[0] + " …"
    return before + claim + after


def notebook_html(view: View, store: str = "") -> str:
    """A fragment without scripts and without ids, everything escaped; `store`: where it is from."""
    figures = [figure for section in view.sections[:2] for figure in section.figures]
    return html_of(
        view,
        "notebook.html.j2",
        images=[_image(figure) for figure in _that_fit(figures)],
        tables=[_shortened(table) for table in view.tables[:2]],
        store=store,
    )


def _that_fit(figures: Sequence[Figure]) -> list[Figure]:
    """The first figures, as many as are light enough together."""
    sizes = accumulate(len(figure.svg.encode()) for figure in figures)
    return [figure for figure, size in zip(figures, sizes, strict=True) if size <= FIGURE_BYTES]


def _image(figure: Figure) -> tuple[str, str, str]:
    """The drawing as the address of an image: no style or id of the notebook's page meets it."""
    return base64.b64encode(figure.svg.encode()).decode(), figure.caption, figure.description


def _shortened(table: Table) -> Table:
    if len(table.rows) <= ROWS:
        return table
    left_out = f"{len(table.rows) - ROWS:,} more rows: report() and to_frame() have them. "
    return replace(table, rows=table.rows[:ROWS], note=left_out + table.note)
