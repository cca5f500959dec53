"""The curves of the classes beside that of all inputs."""

from __future__ import annotations

from typing import Any

from surefoot.core.results import Footing
from surefoot.records.record import CurveRow, Curves, Record
from surefoot.report.curve.figures import curve_rows, levels_of
from surefoot.report.curve_quantity import curve_quantity
from surefoot.report.figures import ABOVE, INK, NARROW, QUIET, SERIES, STEADY, WIDTH, svg
from surefoot.report.formatting import percent

_WEAKEST = 3
"""Classes with a colour of their own: more colours are not kept apart."""
MOST_CLASSES = 20
"""Classes whose curves are drawn: lines of more are one grey area, so that of more the weakest are
drawn as intervals, below each other. The table has all."""


def weakest_classes(curves: Curves) -> list[CurveRow]:
    """All classes, those that are below the threshold at most levels first; last those of which a
    time limit left nothing evaluated.
    """
    return sorted(curves.classes, key=lambda row: (not row.curve.points, _robustness(row)))


def _robustness(row: CurveRow) -> float:
    readings = [reading.value for reading in row.curve.readings]
    values = readings or [point.value for point in row.curve.points]
    return sum(values) / max(len(values), 1)


def class_caption(curves: Curves) -> str:
    """What the marks of the figure of the classes mean."""
    if len(curves.classes) <= MOST_CLASSES:
        return "Thick line: all inputs. In colours: the weakest classes. Dashed: the thresholds."
    threshold = percent(curves.curve.readings[0].threshold)
    evaluated = sum(bool(row.curve.points) for row in curves.classes)
    drawn = f"The {MOST_CLASSES} weakest of {len(curves.classes):,} classes, and all inputs."
    if evaluated < len(curves.classes):
        few = f"{evaluated:,} of {len(curves.classes):,} classes were evaluated"
        drawn = f"{few}. At most {MOST_CLASSES} of them, the weakest first, and all inputs."
    return (
        f"{drawn} Dot: the "
        f"share of the levels at which the curve is at or above {threshold}. Line: its interval, "
        "where there is a guarantee. The table has all classes."
    )


def class_figure(record: Record, curves: Curves) -> str:
    """The curves of all classes where these are few, else what the weakest came to."""
    if len(curves.classes) <= MOST_CLASSES:
        return _lines_of_classes(record, curves)
    return _weakest_below_each_other(curves)


def _weakest_below_each_other(curves: Curves) -> str:
    import altair as alt

    evaluated = [row for row in weakest_classes(curves) if row.curve.points]
    parts = [*evaluated[:MOST_CLASSES], CurveRow("all inputs", 0, curves.curve)]
    readings = [(row.name, row.curve.readings[0]) for row in parts]
    rows = [
        {
            "class": name,
            "value": 100 * reading.value,
            "low": 100 * (reading.interval.low if known else reading.value),
            "high": 100 * (reading.interval.high if known else reading.value),
        }
        for name, reading in readings
        for known in (reading.guarantee.footing is not Footing.NONE,)
    ]
    y = alt.Y("class:N", sort=[name for name, _ in readings], title=None)
    x = alt.X(
        "low:Q",
        title=f"share of levels at {percent(readings[0][1].threshold)} or above (%)",
        scale=alt.Scale(domainMin=0),
    )
    base: Any = alt.Chart(alt.InlineData(values=rows))
    lines = base.mark_rule(strokeWidth=3, color=STEADY, opacity=0.5).encode(y=y, x=x, x2="high:Q")
    dots = base.mark_circle(size=70, color=STEADY, opacity=1).encode(y=y, x="value:Q")
    return svg((lines + dots).properties(width=NARROW, height=alt.Step(22)))


def _lines_of_classes(record: Record, curves: Curves) -> str:
    """All inputs as a thick line, the weakest classes in colours, the others in grey."""
    import altair as alt

    ordered = weakest_classes(curves)
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
