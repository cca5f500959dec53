"""Table 1: sampling numbers over Okamoto's number, for six pairs of width and error.

The published numbers are those of Table I of the paper. Its third Okamoto number is a misprint:
⌈ln(2/0.01) / (2 · 0.01²)⌉ is 26,492, as the text of the paper says too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from papers.bu_sun.pairs import Pair, read_pairs
from papers.bu_sun.sampling_numbers import (
    LARGE_DESIGN,
    expected,
    limits,
    simulated,
    words_of_simulation,
)
from papers.exhibit import Column, Exhibit, Row, Sheet
from papers.request import Request
from surefoot.statistics import okamoto


@dataclass(frozen=True)
class Published:
    """A row of the paper's Table I: Okamoto's number, and ratios to it over the values of p."""

    okamoto: int
    average: float
    largest: float
    smallest: float


PUBLISHED = {
    (0.05, 0.05): Published(738, 0.946, 1.048, 0.392),
    (0.03, 0.03): Published(2334, 0.877, 1.029, 0.238),
    (0.01, 0.01): Published(24692, 0.774, 1.011, 0.080),
    (0.003, 0.001): Published(422273, 0.716, 1.004, 0.023),
    (0.002, 0.001): Published(950113, 0.706, 1.005, 0.016),
    (0.001, 0.001): Published(3800452, 0.693, 1.004, 0.012),
}
"""Bu & Sun, Table I, as printed."""


def make(request: Request) -> Exhibit:
    """One row for each pair of width and error."""
    repeats = request.options["repeats"]
    rows = []
    for pair in read_pairs(request.options["pairs"]):
        request.caller.announce(str(pair))
        rows.append(_row(pair, repeats, request.seed))
    return Exhibit(
        name=request.part.name,
        title="Table 1: trials of an estimate, relative to Okamoto's number",
        lines=(_summary(rows), *_departures(repeats)),
        sheets=(
            Sheet(
                "Trials over Okamoto's number, for p = 0, 0.002, …, 1: Bu & Sun's method as "
                "published and recomputed, and the exact sequential method; average, max and min",
                _COLUMNS,
                tuple(rows),
            ),
        ),
    )


def _row(pair: Pair, repeats: int, seed: int) -> Row:
    number = okamoto(pair.width, pair.error)
    theirs = simulated(pair, repeats, seed) / number
    ours = np.array([trials for _, trials in expected(pair)]) / number
    printed = PUBLISHED.get((pair.width, pair.error))
    published = (
        {}
        if printed is None
        else {f"published_{name}": value for name, value in vars(printed).items()}
    )
    return {
        "width": pair.width,
        "error": pair.error,
        "okamoto": number,
        **published,
        **_ratios("bu_sun", theirs),
        **_ratios("ours", ours),
        "limit": float(limits(pair).mean()) / number,
    }


def _ratios(name: str, ratios: NDArray[np.float64]) -> dict[str, float]:
    return {
        f"{name}_average": float(ratios.mean()),
        f"{name}_largest": float(ratios.max()),
        f"{name}_smallest": float(ratios.min()),
    }


def _three(value: float) -> str:
    return f"{value:.3f}"


_COLUMNS = (
    Column("width", "width", is_name=True),
    Column("error", "error", is_name=True),
    Column("Okamoto", "okamoto"),
    Column("published", "published_average", _three),
    Column("max", "published_largest", _three),
    Column("min", "published_smallest", _three),
    Column("recomputed", "bu_sun_average", _three),
    Column("max", "bu_sun_largest", _three),
    Column("min", "bu_sun_smallest", _three),
    Column("exact", "ours_average", _three),
    Column("max", "ours_largest", _three),
    Column("min", "ours_smallest", _three),
    Column("limit", "limit", _three),
)


def _summary(rows: Sequence[Row]) -> str:
    theirs, ours = (_span([row[f"{who}_average"] for row in rows]) for who in ("bu_sun", "ours"))
    return (
        f"Averaged over p, Bu & Sun's method takes {theirs} of Okamoto's number of trials, and the "
        f"exact sequential method {ours}."
    )


def _span(values: Sequence[float]) -> str:
    low, high = (f"{100 * value:.1f} %" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _departures(repeats: int) -> tuple[str, ...]:
    return (
        words_of_simulation(repeats),
        "Exact sequential: expected trials by an exact recursion, nothing simulated; where its "
        f"design has more than {LARGE_DESIGN:,} trials, at every tenth p.",
        "Limit: what any sound method needs on average as the width goes to 0, averaged over p; "
        "for a single p near 0 or 1 and a finite width it is not a bound.",
        "The paper prints 24692 for Okamoto's number at 0.01, 0.01; the right value, which its "
        "text has, is 26492.",
    )
