"""Figures of curves: levels evaluated, bands, thresholds and crossings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.report.curve.quantity import curve_quantity, perturbation_name
from surefoot.report.figures import INK, STEADY, WEAK, svg
from surefoot.results import Curve
from surefoot.store.records import Curves, Record

_COLOURS = (
    STEADY, WEAK, "#6b8e23", "#8a5a9e", "#c48a1a", "#1b9e9e", "#7a5230", "#d0709a", "#5b6fd6",
    "#9aa5b1",
)  # fmt: skip
_WIDTH, _HEIGHT = 620, 300
_SUBTITLE = "Shade: what the curve can do between the levels, if what is assumed is true"


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
        title = (
            f"{perturbation_name(record.study.perturbation)}, level {span.low:g} to {span.high:g}"
        )
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
    x = alt.X("level:Q", title=f"level of {perturbation_name(record.study.perturbation)}")
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
    """All curves of one perturbation; a title where the chart stands without a page."""
    first = next(iter(records.values()))
    curves = {name or "the curve": curve_in(r) for name, r in records.items()}
    name = perturbation_name(first.study.perturbation)
    axes = _Axes.around(curves, curve_quantity(first.study.property.kind), name)
    layers = [*_between(curves, axes), *_lines(curves, axes), *_marks(curves, axes)]
    import altair as alt

    chart = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    if not title:
        return chart
    below = _SUBTITLE if any(curve.between for curve in curves.values()) else ""
    return chart.properties(title=alt.Title(title, subtitle=below, anchor="start", fontSize=13))


@dataclass(frozen=True)
class _Axes:
    """The channels that all layers share."""

    x: Any
    y: Any
    low: Any
    colour: Any
    right: float

    @classmethod
    def around(cls, curves: Mapping[str, Curve], what: str, kind: str) -> _Axes:
        import altair as alt

        names = list(curves)
        shades = [_COLOURS[i % len(_COLOURS)] for i in range(len(names))]
        above = alt.Legend(title=None, orient="top", columns=1, labelLimit=500, symbolOpacity=1)
        colour = alt.Color(
            "name:N",
            scale=alt.Scale(domain=names, range=shades),
            legend=above if len(names) > 1 else None,
        )
        left, right = (
            min(curve.span.low for curve in curves.values()),
            max(curve.span.high for curve in curves.values()),
        )
        scale = alt.Scale(domain=[left, right], nice=False)
        axis = alt.Axis(grid=False, tickCount=8)
        x = alt.X("level:Q", title=f"level of {kind}", scale=scale, axis=axis)
        height = {
            "title": f"{what} (%)",
            "scale": alt.Scale(domain=[0, 100]),
            "axis": alt.Axis(values=list(range(0, 101, 20)), domain=False, ticks=False),
        }
        return cls(x, alt.Y("value:Q", **height), alt.Y("low:Q", **height), colour, right)


def _layer(rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401
    import altair as alt

    return alt.Chart(alt.InlineData(values=rows))


def _between(curves: Mapping[str, Curve], axes: _Axes) -> list[Any]:
    """A light band from each level to the next."""
    rows = [
        {
            "name": name,
            "level": gap.low,
            "to": gap.high,
            "low": 100 * min(max(gap.lowest, 0.0), 1.0),
            "high": 100 * min(max(gap.highest, 0.0), 1.0),
        }
        for name, curve in curves.items()
        for gap in curve.between
    ]
    if not rows:
        return []
    band = _layer(rows).mark_rect(opacity=0.2 if len(curves) == 1 else 0.12)
    return [band.encode(x=axes.x, x2="to:Q", y=axes.low, y2="high:Q", color=axes.colour)]


def _lines(curves: Mapping[str, Curve], axes: _Axes) -> list[Any]:
    """The levels evaluated; a line through those that bound what the curve does in between."""
    import altair as alt

    rows = [row for name, curve in curves.items() for row in _points(name, curve)]
    if not rows:
        return []
    x, y, colour = axes.x, axes.y, axes.colour
    area = alt.Scale(domain=[0, 1], range=[10, 40])
    size = alt.Size("share:Q", scale=area, legend=None)
    open_ = [row for row in rows if row["high"] > row["low"]]
    layers = [
        _layer(open_)
        .mark_rule(strokeWidth=1, opacity=0.3)
        .encode(x=x, y=axes.low, y2="high:Q", color=colour)
    ] * bool(open_)
    on_line = [row for row in rows if row["firm"]]
    layers.append(
        _layer(on_line).mark_line(strokeWidth=1.6, opacity=0.9).encode(x=x, y=y, color=colour)
    )
    dots = _layer(rows).mark_point(filled=True, opacity=1)
    return [*layers, dots.encode(x=x, y=y, color=colour, size=size)]


def _marks(curves: Mapping[str, Curve], axes: _Axes) -> list[Any]:
    """Thresholds, and where they are crossed."""
    readings = [(name, reading) for name, curve in curves.items() for reading in curve.readings]
    thresholds = [
        {"value": 100 * t, "level": axes.right, "text": f"{100 * t:g} %"}
        for t in dict.fromkeys(reading.threshold for _, reading in readings)
    ]
    dashed = {"strokeDash": [5, 4], "color": INK, "opacity": 0.7}
    lines = _layer(thresholds).mark_rule(**dashed).encode(y=axes.y)
    label = {"align": "left", "dx": 6, "color": INK, "fontSize": 11}
    texts = _layer(thresholds).mark_text(**label).encode(x=axes.x, y=axes.y, text="text:N")
    crossings = [
        {
            "name": name,
            "level": c.interval.low,
            "to": c.interval.high,
            "at": c.level,
            "value": 100 * reading.threshold,
            "low": 0,
            "text": f"{c.level:.3g}",
        }
        for name, reading in readings
        for c in reading.crossings
    ]
    if not crossings:
        return [lines, texts]
    return [lines, *_crossings(crossings, axes, alone=len(curves) == 1), texts]


def _crossings(rows: list[dict[str, Any]], axes: _Axes, *, alone: bool) -> list[Any]:
    """A bar over the interval, a diamond at the best guess, and its level in figures."""
    import altair as alt

    colour = alt.value(WEAK) if alone else axes.colour
    x, y = alt.X("at:Q", title=axes.x.to_dict()["title"]), axes.y
    drop = {"strokeWidth": 1, "opacity": 0.35, "strokeDash": [2, 3]}
    diamond = {"shape": "diamond", "size": 80, "filled": True, "stroke": "white", "opacity": 1}
    text = {"dx": 8, "dy": -11, "align": "left", "fontSize": 12, "fontWeight": "bold"}
    return [
        _layer(rows).mark_rule(**drop).encode(x=x, y=axes.low, y2="value:Q", color=colour),
        _layer(rows)
        .mark_rule(strokeWidth=6, opacity=0.45)
        .encode(x=axes.x, x2="to:Q", y=y, color=colour),
        _layer(rows).mark_point(**diamond).encode(x=x, y=y, color=colour),
        _layer(rows).mark_text(**text).encode(x=x, y=y, text="text:N", color=colour),
    ]


def _points(name: str, curve: Curve) -> list[dict[str, Any]]:
    """The rows of a curve; `firm` are those that bound what it can do between the levels."""
    ends = {end for gap in curve.between for end in (gap.low, gap.high)}
    return [
        {
            "name": name,
            "level": p.level,
            "value": 100 * p.value,
            "low": 100 * p.interval.low,
            "high": 100 * p.interval.high,
            "share": min(1.0, p.trials / curve.size),
            "firm": not ends or p.level in ends,
        }
        for p in curve.points
    ]
