"""Figures of curves: levels evaluated, bands, thresholds and crossings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.report.curve.quantity import curve_quantity
from surefoot.report.figures import INK, STEADY, WEAK, svg
from surefoot.results import Curve
from surefoot.store.records import Curves, Record

_COLOURS = (
    STEADY, WEAK, "#6b8e23", "#8a5a9e", "#c48a1a", "#1b9e9e", "#7a5230", "#d0709a", "#5b6fd6",
    "#9aa5b1",
)  # fmt: skip
_WIDTH, _HEIGHT = 620, 300


def curve_figures(records: Mapping[str, Record]) -> dict[str, Callable[[], str]]:
    """How to draw a figure for each perturbation, by its name, with every curve of it."""
    return {title: partial(_figure, group) for title, group in grouped(records).items()}


def _figure(group: Mapping[str, Record]) -> str:
    return svg(_chart(group))


def curves_chart(records: Mapping[str, Record]) -> Any:  # noqa: ANN401
    """All of them below each other, as one chart."""
    import altair as alt

    groups = grouped(records)
    charts = [_chart(group, title) for title, group in groups.items()]
    return charts[0] if len(charts) == 1 else alt.vconcat(*charts)


def grouped(records: Mapping[str, Record]) -> dict[str, dict[str, Record]]:
    """Curves by figure: those of the same perturbation over the same levels share one."""
    groups: dict[str, dict[str, Record]] = {}
    for name, record in records.items():
        span = curve_in(record).span
        title = f"{record.study.perturbation.kind}, level {span.low:g} to {span.high:g}"
        groups.setdefault(title, {})[name] = record
    return groups


def curve_in(record: Record) -> Curve:
    """The curve of all inputs."""
    if not isinstance(record.details, Curves):
        raise InvalidArgument(f"run {record.digest[:12]} is not a curve")
    return record.details.curve


def class_figure(record: Record, curves: Curves) -> str:
    """The curves of the classes, thin, over that of the whole set."""
    import altair as alt

    rows = [row for part in curves.classes for row in _points(part.name, part.curve)]
    whole = _points("all inputs", curves.curve)
    names = ["all inputs", *(part.name for part in curves.classes)]
    shades = [INK, *(_COLOURS[i % len(_COLOURS)] for i in range(len(curves.classes)))]
    colour = alt.Color(
        "name:N",
        scale=alt.Scale(domain=names, range=shades),
        legend=alt.Legend(title=None, orient="right"),
    )
    x = alt.X("level:Q", title=f"level of {record.study.perturbation.kind}")
    y = alt.Y(
        "value:Q",
        title=f"{curve_quantity(record.study.property.kind)} (%)",
        scale=alt.Scale(domain=[0, 100]),
    )
    thin = alt.Chart(alt.InlineData(values=rows)).mark_line(strokeWidth=1.3, opacity=0.85)
    thick = alt.Chart(alt.InlineData(values=whole)).mark_line(strokeWidth=3)
    marks = [{"value": 100 * reading.threshold} for reading in curves.curve.readings]
    lines = alt.Chart(alt.InlineData(values=marks)).mark_rule(strokeDash=[5, 4], color=INK)
    layers = (thin.encode(x=x, y=y, color=colour), thick.encode(x=x, y=y, color=colour))
    return svg(alt.layer(*layers, lines.encode(y=y)).properties(width=540, height=_HEIGHT))


def _chart(records: Mapping[str, Record], title: str = "") -> Any:  # noqa: ANN401
    first = next(iter(records.values()))
    curves = {name or "the curve": curve_in(r) for name, r in records.items()}
    return _curve_chart(
        curves, curve_quantity(first.study.property.kind), first.study.perturbation.kind, title
    )


def _curve_chart(curves: Mapping[str, Curve], what: str, kind: str, title: str) -> Any:  # noqa: ANN401
    import altair as alt

    names = list(curves)
    shades = [_COLOURS[i % len(_COLOURS)] for i in range(len(names))]
    above = alt.Legend(title=None, orient="top", columns=1, labelLimit=500)
    legend = above if len(names) > 1 else None
    colour = alt.Color("name:N", scale=alt.Scale(domain=names, range=shades), legend=legend)
    x = alt.X(
        "level:Q",
        title=f"level of {kind}",
        scale=alt.Scale(
            domain=[
                min(c.span.low for c in curves.values()),
                max(c.span.high for c in curves.values()),
            ],
            nice=False,
        ),
    )
    y = alt.Y("value:Q", title=f"{what} (%)", scale=alt.Scale(domain=[0, 100]))
    low, high = alt.Y("low:Q", title=f"{what} (%)"), "high:Q"

    def data(rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401
        return alt.Chart(alt.InlineData(values=rows))

    layers = []
    if rows := [row for name, curve in curves.items() for row in _band(name, curve)]:
        layers.append(data(rows).mark_area(opacity=0.16).encode(x=x, y=low, y2=high, color=colour))
    rows = [row for name, curve in curves.items() for row in _points(name, curve)]
    layers.append(data(rows).mark_line(strokeWidth=1.6).encode(x=x, y=y, color=colour))
    layers.append(
        data(rows)
        .mark_rule(strokeWidth=1.2, opacity=0.45)
        .encode(x=x, y=low, y2=high, color=colour)
    )
    layers.append(
        data(rows)
        .mark_point(filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            color=colour,
            size=alt.Size("share:Q", scale=alt.Scale(domain=[0, 1], range=[8, 46]), legend=None),
        )
    )
    layers += _marks(curves, data, x, y, colour)
    chart = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    return chart.properties(title=title) if title else chart


def _marks(curves: Mapping[str, Curve], data: Any, x: Any, y: Any, colour: Any) -> list[Any]:  # noqa: ANN401
    """Thresholds, and where they are crossed."""
    readings = [(name, reading) for name, curve in curves.items() for reading in curve.readings]
    right = max(curve.span.high for curve in curves.values())
    levels = [
        {"value": 100 * t, "level": right, "text": f"{100 * t:g} %"}
        for t in dict.fromkeys(reading.threshold for _, reading in readings)
    ]
    lines = data(levels).mark_rule(strokeDash=[5, 4], color=INK, opacity=0.7).encode(y=y)
    labels = (
        data(levels)
        .mark_text(align="right", dx=-4, dy=-7, color=INK, fontSize=11)
        .encode(x=x, y=y, text="text:N")
    )
    crossings = [
        {
            "name": name,
            "level": c.level,
            "from": c.interval.low,
            "to": c.interval.high,
            "value": 100 * reading.threshold,
            "text": f"{c.level:.3g}",
        }
        for name, reading in readings
        for c in reading.crossings
    ]
    if not crossings:
        return [lines, labels]
    spread = (
        data(crossings)
        .mark_rule(strokeWidth=5, opacity=0.5)
        .encode(x="from:Q", x2="to:Q", y=y, color=colour)
    )
    dots = (
        data(crossings)
        .mark_point(shape="diamond", size=90, filled=True, stroke="white", strokeWidth=1, opacity=1)
        .encode(x=x, y=y, color=colour)
    )
    texts = (
        data(crossings)
        .mark_text(dy=14, fontSize=11, fontWeight="bold")
        .encode(x=x, y=y, text="text:N", color=colour)
    )
    return [lines, labels, spread, dots, texts]


def _points(name: str, curve: Curve) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "level": p.level,
            "value": 100 * p.value,
            "low": 100 * p.interval.low,
            "high": 100 * p.interval.high,
            "share": min(1.0, p.trials / curve.size),
        }
        for p in curve.points
    ]


def _band(name: str, curve: Curve) -> list[dict[str, Any]]:
    """The band between neighbouring levels: a monotone curve stays between their outer bounds."""
    rows = []
    for a, b in pairwise(curve.points):
        if a.band is not None and b.band is not None:
            low, high = min(a.band.low, b.band.low), max(a.band.high, b.band.high)
            rows += [
                {"name": name, "level": p.level, "low": 100 * low, "high": 100 * high}
                for p in (a, b)
            ]
    return rows
