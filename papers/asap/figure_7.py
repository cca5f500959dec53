"""Figure 7: how far robustness from random levels scatters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.asap.runs import whole_number
from papers.asap.whole_curve import WholeCurve, note_on, whole_curves
from papers.exhibit import Column, Exhibit, Row, Sheet
from papers.request import Request
from surefoot.core.counts import Counts
from surefoot.core.results import Interval
from surefoot.curves.published import RandomCurve
from surefoot.report.formatting import percent, percent_range
from surefoot.report.series_chart import Axis, SeriesChart
from surefoot.statistics.bounds import clopper_pearson

_ERROR = 0.05
"""Of the interval of a single run."""


def make(request: Request) -> Exhibit:
    """A row for each curve, threshold and n; `repeats` seeds each."""
    rows: list[Row] = []
    curves, results = list(whole_curves(request)), {}
    for whole in curves:
        results[f"{whole.model}, {whole.perturb}"] = whole.run.result
        for threshold in request.options["threshold"]:
            for n in request.options["points"]:
                rows.append(_row(request, whole, threshold, whole_number(n, "points", 2)))
    return Exhibit(
        name=request.part.name,
        title=f"Figure 7: {request.part.title}",
        lines=(_summary(rows), note_on(curves), *_DEPARTURES),
        sheets=(Sheet("Random levels", _COLUMNS, tuple(rows), note=_NOTE),),
        charts=_charts(rows),
        results=results,
    )


def _row(request: Request, whole: WholeCurve, threshold: float, n: int) -> Row:
    real = whole.robustness(threshold)
    values, intervals = [], []
    for i in range(request.options["repeats"]):
        method = RandomCurve(*whole.span, (threshold,), n, seed=request.seed + i, size=whole.size)
        curve = whole.by(method)
        levels, value = len(curve.points), curve.readings[0].value
        values.append(value)
        intervals.append(clopper_pearson(Counts(levels, round(value * levels)), _ERROR))
    return {
        "perturbation": whole.name,
        "model": whole.model,
        "threshold": threshold,
        "points": n,
        "repeats": len(values),
        "real": real,
        "mean": float(np.mean(values)),
        "deviation": float(np.std(values)),
        "expected": float(np.sqrt(real * (1 - real) / n)),
        "spread": Interval(min(values), max(values)),
        "width": float(np.mean([interval.width for interval in intervals])),
        "holds": sum(real in interval for interval in intervals),
    }


def _charts(rows: Sequence[Row]) -> dict[str, object]:
    charts: dict[str, object] = {}
    for name, threshold in dict.fromkeys((r["perturbation"], r["threshold"]) for r in rows):
        own = [
            {
                "n": row["points"],
                "value": 100 * row["mean"],
                "low": 100 * row["spread"].low,
                "high": 100 * row["spread"].high,
                "name": row["model"],
            }
            for row in rows
            if (row["perturbation"], row["threshold"]) == (name, threshold)
        ]
        caption = (
            f"{name}, threshold {percent(threshold)}: the mean of the repetitions, and their "
            "smallest and largest value"
        )
        charts[caption] = SeriesChart(
            rows=own,
            x=Axis("n", "random levels", log=True),
            y=Axis("value", "robustness (%)"),
            series="name",
            band=("low", "high"),
            marks=True,
        ).chart()
    return charts


def _summary(rows: Sequence[Row]) -> str:
    few, many = (
        max(row["spread"].width for row in rows if row["points"] == n)
        for n in (min(row["points"] for row in rows), max(row["points"] for row in rows))
    )
    held = sum(row["holds"] for row in rows)
    return (
        f"The repetitions differ by up to {100 * few:.1f} points with the fewest levels and "
        f"{100 * many:.1f} with the most; the exact interval of a run holds the robustness of the "
        f"whole curve in {held:,} of {sum(row['repeats'] for row in rows):,} runs."
    )


_COLUMNS = (
    Column("perturbation", "perturbation", is_name=True),
    Column("model", "model", is_name=True),
    Column("threshold", "threshold", percent),
    Column("n", "points"),
    Column("repetitions", "repeats"),
    Column("whole curve", "real", percent),
    Column("mean", "mean", percent),
    Column("deviation (points)", "deviation", lambda v: f"{100 * v:.2f}"),
    Column("√(p(1−p)/n)", "expected", lambda v: f"{100 * v:.2f}"),
    Column("smallest to largest", "spread", percent_range),
    Column("width of a run's interval", "width", lambda v: f"{100 * v:.2f}"),
    Column("intervals that hold it", "holds"),
)
_NOTE = (
    "Interval: exact (Clopper-Pearson), confidence 95 %, from the levels of one run alone. Random "
    "levels are independent, so it needs no assumption on the curve."
)
_DEPARTURES = (
    "The interval is ours: how far a run may be off follows from the run itself, where the paper "
    "repeats it 100 times to see it.",
    "The spread is that of levels alone: the images are the same in every run.",
)
