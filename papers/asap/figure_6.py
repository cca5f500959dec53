"""Figure 6: the levels that numerical integration takes."""

from __future__ import annotations

from typing import Any

from papers.asap.runs import only, whole_number
from papers.asap.whole_curve import WholeCurve, note_on, whole_curves
from papers.exhibit import Column, Exhibit, Row, Sheet
from papers.request import Request
from surefoot.core.results import Curve
from surefoot.curves.published import AdaptiveCurve, QuadCurve
from surefoot.report.formatting import percent, points
from surefoot.report.series_chart import Axis, SeriesChart

_NEAR = 1 / 64
"""Share of the range around a crossing in which a level is called near."""


def make(request: Request) -> Exhibit:
    """A figure for each curve and threshold."""
    n = whole_number(only(request.options["points"], "points"), "points", 21)
    bend = only(request.options["curvature"], "curvature")
    rows: list[Row] = []
    charts, curves, results = {}, list(whole_curves(request)), {}
    for whole in curves:
        results[f"{whole.model}, {whole.perturb}"] = whole.run.result
        for threshold in request.options["threshold"]:
            at = (*whole.span, (threshold,))
            quad = whole.by(QuadCurve(*at, n, size=whole.size))
            asap = whole.by(AdaptiveCurve(*at, bend, n, as_printed=True, size=whole.size))
            rows += [
                _row(whole, threshold, "numerical integration", quad),
                _row(whole, threshold, "ASAP", asap),
            ]
            caption = (
                f"{whole.name}, {whole.model}, threshold {percent(threshold)}: the "
                f"{len(quad.points)} levels of numerical integration"
            )
            charts[caption] = _chart(whole, threshold, quad)
    return Exhibit(
        name=request.part.name,
        title=f"Figure 6: {request.part.title}",
        lines=(_summary(rows), note_on(curves), _DEPARTURE),
        sheets=(Sheet("Levels by method", _COLUMNS, tuple(rows), note=_NOTE),),
        charts=charts,
        results=results,
    )


def _row(whole: WholeCurve, threshold: float, method: str, curve: Curve) -> Row:
    width = whole.span[1] - whole.span[0]
    crossings = whole.run.reading(threshold).crossings
    near = [
        p for p in curve.points if any(abs(p.level - c.level) <= _NEAR * width for c in crossings)
    ]
    real = whole.robustness(threshold)
    timeout = bool(curve.notes)
    value = None if timeout else curve.readings[0].value
    return {
        "perturbation": whole.name,
        "model": whole.model,
        "threshold": threshold,
        "method": method,
        "points": len(curve.points),
        "near": len(near),
        "real": real,
        "value": value,
        "error": None if value is None else value - real,
        "timeout": timeout,
    }


def _chart(whole: WholeCurve, threshold: float, quad: Curve) -> Any:  # noqa: ANN401  an object of Altair
    line = [
        {"level": p.level, "value": 100 * p.value, "name": "accuracy"}
        for p in whole.run.curve.points
    ]
    dots = [{"level": p.level, "value": 100 * p.value, "name": "levels taken"} for p in quad.points]
    return SeriesChart(
        rows=line,
        x=Axis("level", f"level of {whole.perturb.partition(':')[0]}", domain=whole.span),
        y=Axis("value", "accuracy (%)", domain=(0, 100)),
        series="name",
        dots=dots,
        levels=(100 * threshold,),
    ).chart()


def _summary(rows: list[Row]) -> str:
    quad = [row for row in rows if row["method"] != "ASAP"]
    asap = [row for row in rows if row["method"] == "ASAP"]
    stopped = sum(row["timeout"] for row in quad)
    end = (
        "its error estimate had settled"
        if not stopped
        else f"in {stopped} of {len(quad)} curves its levels ran out first (timeout)"
    )
    return (
        f"Numerical integration took {_spread(quad)} levels, ASAP {_spread(asap)} on the same "
        f"{'curve' if len(quad) == 1 else 'curves'}; {end}."
    )


def _spread(rows: list[Row]) -> str:
    low, high = min(row["points"] for row in rows), max(row["points"] for row in rows)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


_COLUMNS = (
    Column("perturbation", "perturbation", is_name=True),
    Column("model", "model", is_name=True),
    Column("method", "method", is_name=True),
    Column("threshold", "threshold", percent),
    Column("levels", "points"),
    Column("near a crossing", "near"),
    Column("whole curve", "real", percent),
    Column("robustness", "value", percent),
    Column("Δ (points)", "error", points),
    Column("timeout", "timeout"),
)
_NOTE = "Near: within 1/64 of the range of a level at which the whole curve crosses the threshold."
_DEPARTURE = (
    "The integrator sees only whether a level is above the threshold, as in the paper; it has no "
    "bound on its error, so that no interval stands beside it."
)
