"""The curves of the classes beside that of all inputs."""

from __future__ import annotations

from typing import Any

from surefoot.report.curve.figures import curve_rows, levels_of
from surefoot.report.curve_quantity import curve_quantity
from surefoot.report.figures import ABOVE, INK, QUIET, SERIES, WIDTH, svg
from surefoot.store.records import CurveRow, Curves, Record

_WEAKEST = 3
"""Classes with a colour of their own: more colours are not kept apart."""
_MOST = 60
"""Classes that are drawn: lines of more are one grey area."""


def weakest_classes(curves: Curves) -> list[CurveRow]:
    """All classes, those that are below the threshold at most levels first."""
    return sorted(curves.classes, key=_robustness)


def _robustness(row: CurveRow) -> float:
    readings = [reading.value for reading in row.curve.readings]
    values = readings or [point.value for point in row.curve.points]
    return sum(values) / max(len(values), 1)


def class_figure(record: Record, curves: Curves) -> str:
    """All inputs as a thick line, the weakest classes in colours, the others in grey."""
    import altair as alt

    ordered = weakest_classes(curves)[:_MOST]
    colours, others = ordered[:_WEAKEST], ordered[_WEAKEST:]
    names = ["all inputs", *(row.name for row in colours)]
    shades = [INK, *(SERIES[i + 1] for i in range(len(colours)))]
    if others:
        names, shades = [*names, "other classes"], [*shades, QUIET]
    colour = alt.Color(
        "part:N",
        scale=alt.Scale(domain=names, range=shades),
        legend=alt.Legend(
            title=None, orient="top", offset=ABOVE, columns=2, labelLimit=220, symbolOpacity=1
        ),
    )
    x, y = _axes(record, curves)
    marks = [{"value": 100 * reading.threshold} for reading in curves.curve.readings]
    lines = alt.Chart(alt.InlineData(values=marks)).mark_rule(strokeDash=[5, 4], color=QUIET)
    layers = [lines.encode(y=y)]
    whole = [CurveRow("all inputs", 0, curves.curve)]
    for part, width, strength in ((others, 1, 0.45), (colours, 1.8, 1), (whole, 3, 1)):
        rows = [
            {**row, "part": "other classes" if part is others else one.name}
            for one in part
            for row in curve_rows(one.name, one.curve)
        ]
        line: Any = alt.Chart(alt.InlineData(values=rows)).mark_line(
            strokeWidth=width, opacity=strength
        )
        if rows:
            layers.append(line.encode(x=x, y=y, color=colour, detail="name:N"))
    return svg(alt.layer(*layers).properties(width=WIDTH, height=240))


def _axes(record: Record, curves: Curves) -> tuple[Any, Any]:
    import altair as alt

    span = curves.curve.span
    x = alt.X(
        "level:Q",
        title=f"level of {levels_of(record)}",
        scale=alt.Scale(domain=[span.low, span.high], nice=False),
        axis=alt.Axis(grid=False, tickCount=5),
    )
    y = alt.Y(
        "value:Q",
        title=f"{curve_quantity(record.study.property.kind)} (%)",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 25, 50, 75, 100], domain=False),
    )
    return x, y
