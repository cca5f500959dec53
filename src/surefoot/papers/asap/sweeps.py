"""Figures 8, 9 and 10: ASAP for several n and â, the levels it uses and how far it is off."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.curves.published.asap import AdaptiveCurve
from surefoot.papers.asap.runs import whole_number
from surefoot.papers.asap.whole_curve import WholeCurve, note_on, whole_curves
from surefoot.papers.exhibit import Column, Exhibit, Row, Sheet
from surefoot.papers.request import Request
from surefoot.report.formatting import percent, percent_range, points
from surefoot.report.line_chart import Axis, LineChart
from surefoot.results import Footing

_DIGITS = 12
"""Of a share: sums of steps are rounded in binary."""


def figure_8(request: Request) -> Exhibit:
    """Levels used against n, one line a perturbation."""
    return _levels_used(request, "perturbation")


def figure_9(request: Request) -> Exhibit:
    """Levels used against n, one line an â."""
    return _levels_used(request, "depth")


def figure_10(request: Request) -> Exhibit:
    """Robustness against n, one line an â, and the whole curve's."""
    rows, note, results = _swept(request)
    largest = max(row["points"] for row in rows), max(row["curvature"] for row in rows)
    best = [row for row in rows if (row["points"], row["curvature"]) == largest]
    failed = sum(not row["held"] for row in rows)
    ours = sum(not row["held_corrected"] for row in rows)
    first = (
        f"With n = {largest[0]:,} and â = {largest[1]:g} ASAP is at most "
        f"{100 * max(abs(row['error']) for row in best):.2f} points from the whole curve, over all "
        f"settings {100 * max(abs(row['error']) for row in rows):.2f}; its printed bound failed in "
        f"{failed} of {len(rows)} settings, the corrected one in {ours}."
    )
    real = [{**row, "value": row["real"], "depth": "whole curve"} for row in rows]
    charts = _charts([*rows, *real], "value", "robustness (%)", "depth", 100)
    return _exhibit(request, (first, note, _CONDITIONAL), rows, charts, results)


def _levels_used(request: Request, series: str) -> Exhibit:
    rows, note, results = _swept(request)
    few, many = (
        [row["used"] for row in rows if row["points"] == n]
        for n in (min(row["points"] for row in rows), max(row["points"] for row in rows))
    )
    bends = sorted({row["curvature"] for row in rows})
    first = (
        f"ASAP used {_range(few)} levels with the smallest n and {_range(many)} with the largest, "
        f"for â = {', '.join(f'{bend:g}' for bend in bends)}."
    )
    failed = sum(not row["held"] for row in rows)
    price = (
        f"Few levels have a price: the printed bound failed against the whole curve in {failed} of "
        f"{len(rows)} settings."
    )
    charts = _charts(rows, "used", "levels used", series, 1)
    return _exhibit(request, (first, price, note), rows, charts, results)


def _exhibit(request, lines, rows, charts, results) -> Exhibit:  # type: ignore[no-untyped-def]  # noqa: ANN001
    return Exhibit(
        name=request.part.name,
        title=f"{request.part.name.capitalize()}: {request.part.title}",
        lines=lines,
        sheets=(Sheet("ASAP by n and â", _COLUMNS, tuple(rows), note=_NOTE),),
        charts=charts,
        results=results,
    )


def _swept(request: Request) -> tuple[list[Row], str, dict[str, object]]:
    """A row for each curve, threshold, â and n."""
    options, curves = request.options, list(whole_curves(request))
    results: dict[str, object] = {f"{w.model}, {w.perturb}": w.run.result for w in curves}
    rows = [
        _row(whole, threshold, bend, whole_number(n, "points", 2))
        for whole in curves
        for threshold in options["threshold"]
        for bend in options["curvature"]
        for n in options["points"]
    ]
    return rows, note_on(curves), results


def _row(whole: WholeCurve, threshold: float, bend: float, n: int) -> Row:
    at = (*whole.span, (threshold,), bend, n)
    printed = whole.by(AdaptiveCurve(*at, as_printed=True, size=whole.size))
    corrected = whole.by(AdaptiveCurve(*at, size=whole.size)).readings[0]
    reading, real = printed.readings[0], whole.robustness(threshold)
    ends = reading.interval
    bound = round(max(reading.value - ends.low, ends.high - reading.value), _DIGITS)
    return {
        "perturbation": whole.name,
        "model": whole.model,
        "threshold": threshold,
        "curvature": bend,
        "depth": f"â = {bend:g}",
        "points": n,
        "used": len(printed.points),
        "real": real,
        "value": reading.value,
        "error": reading.value - real,
        "bound": bound,
        "held": abs(reading.value - real) <= bound + 10**-_DIGITS,
        "tie": reading.guarantee.footing is Footing.NONE,
        "corrected": corrected.value,
        "interval": corrected.interval,
        "held_corrected": (
            corrected.interval.low - 10**-_DIGITS
            <= real
            <= corrected.interval.high + 10**-_DIGITS
        ),
    }


def _charts(
    rows: Sequence[Row], key: str, title: str, series: str, unit: float
) -> dict[str, object]:
    """One for each model and threshold, and each of what is not a line."""
    other = "depth" if series == "perturbation" else "perturbation"
    charts: dict[str, object] = {}
    groups = [(row["model"], row["threshold"], row[other]) for row in rows]
    for group in dict.fromkeys(groups):
        own = [
            {"n": row["points"], "value": unit * row[key], "name": row[series]}
            for row, of in zip(rows, groups, strict=True)
            if of == group
        ]
        model, threshold, rest = group
        charts[f"{model}, threshold {percent(threshold)}, {rest}"] = LineChart(
            rows=own,
            x=Axis("n", "n, the largest number of levels", log=True),
            y=Axis("value", title),
            series="name",
            marks=True,
        ).chart()
    return charts


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


_COLUMNS = (
    Column("perturbation", "perturbation", is_name=True),
    Column("model", "model", is_name=True),
    Column("threshold", "threshold", percent),
    Column("â", "curvature"),
    Column("n", "points"),
    Column("levels used", "used"),
    Column("whole curve", "real", percent),
    Column("ASAP", "value", percent),
    Column("Δ (points)", "error", points),
    Column("ε (points)", "bound", lambda v: f"{100 * v:.2f}"),
    Column("bound held", "held"),
    Column("tie", "tie"),
    Column("corrected", "corrected", percent),
    Column("its interval", "interval", percent_range),
    Column("it held", "held_corrected"),
)
_NOTE = (
    "n and â as in the paper, with levels as shares of the range. Bound held: |Δ| ≤ ε of theorem 1, "
    "against the whole curve. Tie: an accuracy equals the threshold, and the printed bound is "
    "wrong. Corrected: ties above, crossings interpolated, the same levels and bound otherwise."
)
_CONDITIONAL = (
    "Theorem 1 is conditional on â. Where the bound failed, the curve bends more than that: a "
    "small â looks at few levels and states a small error that is not true."
)
