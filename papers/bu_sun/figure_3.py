"""Figure 3: sampling numbers against p, for two pairs of width and error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from papers.bu_sun.pairs import read_pairs
from papers.bu_sun.sampling_numbers import (
    GRID,
    expected,
    limits,
    simulated,
    words_of_simulation,
)
from papers.exhibit import Column, Exhibit, Row, Sheet
from papers.request import Request
from surefoot.report.figures import INK, STEADY
from surefoot.report.line_chart import ORANGE, Curve, line_chart
from surefoot.statistics import okamoto

_EVERY = 50
"""Of the 501 values of p, the table has every fiftieth."""
OURS = "#0f766e"


def make(request: Request) -> Exhibit:
    """Trials against p, one panel for each pair."""
    pairs, repeats = read_pairs(request.options["pairs"]), request.options["repeats"]
    charts, rows = {}, []
    for pair in pairs:
        number, theirs, ours = (
            okamoto(pair.width, pair.error), simulated(pair, repeats, request.seed), expected(pair),
        )  # fmt: skip
        curves = {
            "Bu & Sun": Curve(_points(theirs), STEADY),
            "Okamoto": Curve([(0.0, number), (1.0, number)], ORANGE),
            "exact sequential": Curve(ours, OURS),
            "limit for small widths": Curve(_points(limits(pair)), INK, dashed=True),
        }  # fmt: skip
        charts[f"Trials against p: {pair}."] = line_chart(
            curves, "true probability of being kept, p", "trials", title=str(pair)
        )
        exact = dict(ours)
        rows += [
            {"width": pair.width, "error": pair.error, "p": p, "okamoto": number,
             "bu_sun": float(theirs[i]), "ours": exact[p]}
            for i, p in enumerate(GRID.tolist())
            if i % _EVERY == 0
        ]  # fmt: skip
    return Exhibit(
        name=request.part.name,
        title="Figure 3: trials of an estimate against the probability that is estimated",
        lines=(_summary_of_figure(rows), *_FIGURE_DEPARTURES, words_of_simulation(repeats)),
        sheets=(Sheet("Trials at some p", _FIGURE_COLUMNS, tuple(rows)),),
        charts=charts,
    )


def _points(values: NDArray[np.float64]) -> list[tuple[float, float]]:
    return list(zip(GRID.tolist(), values.tolist(), strict=True))


def _summary_of_figure(rows: Sequence[Row]) -> str:
    parts = []
    for width, error in dict.fromkeys((row["width"], row["error"]) for row in rows):
        own = [row for row in rows if (row["width"], row["error"]) == (width, error)]
        ends, middle = own[0], next(row for row in own if row["p"] == 0.5)
        parts.append(
            f"at width {width:g} and error {error:g}, Bu & Sun's method takes "
            f"{ends['bu_sun']:,.0f} trials at p = 0 and {middle['bu_sun']:,.0f} at p = 0.5, the "
            f"exact sequential method {ends['ours']:,.0f} and {middle['ours']:,.0f}, Okamoto "
            f"{ends['okamoto']:,}"
        )
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


_FIGURE_DEPARTURES = (
    "Added: the exact sequential method (exact expectation) and the limit for any sound method as "
    "the width goes to 0. The text does not name the second pair of the paper's figure.",
)
_FIGURE_COLUMNS = (
    Column("width", "width", is_name=True),
    Column("error", "error", is_name=True),
    Column("p", "p"),
    Column("Okamoto", "okamoto"),
    Column("Bu & Sun", "bu_sun", lambda value: f"{value:,.0f}"),
    Column("exact sequential", "ours", lambda value: f"{value:,.0f}"),
)
