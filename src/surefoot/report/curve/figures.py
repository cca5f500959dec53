"""Figures of curves: levels evaluated, bands, thresholds and crossings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.report.curve_quantity import curve_quantity, levels_name, perturbation_name
from surefoot.report.figures import INK, STEADY, WEAK, svg
from surefoot.report.formatting import four_digits, radius_range
from surefoot.results import Crossing, Curve, Interval
from surefoot.store.records import Curves, Record

_COLOURS = (
    STEADY, WEAK, "#6b8e23", "#8a5a9e", "#c48a1a", "#1b9e9e", "#7a5230", "#d0709a", "#5b6fd6",
    "#9aa5b1",
)  # fmt: skip
_WIDTH, _HEIGHT = 620, 300
_MOST_DOTS = 100
"""Levels of a curve whose dots are drawn: more of them hide the curve."""
_FIGURES = 0.25
"""Share of the width that the figures of a crossing need."""
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
    x = alt.X("level:Q", title=f"level of {_levels(record)}")
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


def _levels(record: Record) -> str:
    return levels_name(record.study.perturbation, record.study.words.perturbation)


def _chart(records: Mapping[str, Record], title: str = "") -> Any:  # noqa: ANN401
    """All curves of one perturbation; a title where the chart stands without a page."""
    first = next(iter(records.values()))
    curves = {name or "the curve": curve_in(r) for name, r in records.items()}
    name = _levels(first)
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
        height: dict[str, Any] = {
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
    area = alt.Scale(domain=[0, 1], range=[10, 40] if len(curves) == 1 else [6, 20])
    size = alt.Size("share:Q", scale=area, legend=None)
    firm = [row for row in rows if row["firm"]]
    checks = [row for row in rows if not row["firm"]]
    shaded = {name for name, curve in curves.items() if curve.between}
    # inside a shade, which reaches further, a bar at each level would only hide the curve
    open_ = [row for row in firm if row["high"] > row["low"] and row["name"] not in shaded]
    whisker = {"strokeWidth": 1, "opacity": 0.35}
    crowded = {name for name, curve in curves.items() if len(curve.points) > _MOST_DOTS}
    layers = [
        _layer(open_).mark_rule(**whisker).encode(x=x, y=axes.low, y2="high:Q", color=colour),
        _layer(checks)
        .mark_point(opacity=0.4, strokeWidth=1)
        .encode(x=x, y=y, color=colour, size=size),
        _layer(firm).mark_line(strokeWidth=1.6, opacity=0.9).encode(x=x, y=y, color=colour),
        _layer([row for row in firm if row["name"] not in crowded])
        .mark_point(filled=True, opacity=1)
        .encode(x=x, y=y, color=colour, size=size),
    ]
    return [layer for layer in layers if layer.data.values]


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
    alone = len(curves) == 1
    span = next(iter(curves.values())).span
    rows = [
        _crossing_row(name, reading.threshold, c, span)
        for name, reading in readings
        for c in reading.crossings
    ]
    return [lines, *(_crossings(rows, axes, alone=alone) if rows else []), texts]


def _crossing_row(
    name: str, threshold: float, crossing: Crossing, span: Interval
) -> dict[str, Any]:
    """A crossing; its figures stand where the curve is not: above and outwards, if they fit."""
    share = (crossing.level - span.low) / span.width
    above = share < 1 - _FIGURES if crossing.falls else share > _FIGURES
    right = above == crossing.falls
    ends = radius_range(crossing.interval)
    return {
        "name": name,
        "level": crossing.interval.low,
        "to": crossing.interval.high,
        "at": crossing.level,
        "value": 100 * threshold,
        "low": 0,
        "right": right,
        "above": above,
        "text": f"{four_digits(crossing.level)} ({ends})",
    }


def _crossings(rows: list[dict[str, Any]], axes: _Axes, *, alone: bool) -> list[Any]:
    """A bar over the interval, a diamond at the best guess; of a single curve also in figures."""
    import altair as alt

    colour = alt.value(WEAK) if alone else axes.colour
    x, y = alt.X("at:Q", title=axes.x.to_dict()["title"]), axes.y
    drop = {"strokeWidth": 1, "opacity": 0.4, "strokeDash": [2, 3]}
    diamond = {"shape": "diamond", "size": 80, "filled": True, "stroke": "white", "opacity": 1}
    layers = [
        _layer(rows)
        .mark_rule(strokeWidth=7, opacity=0.5)
        .encode(x=axes.x, x2="to:Q", y=y, color=colour),
        _layer(rows).mark_point(**diamond).encode(x=x, y=y, color=colour),
    ]
    if not alone:
        return layers
    layers.insert(
        0, _layer(rows).mark_rule(**drop).encode(x=x, y=axes.low, y2="value:Q", color=colour)
    )
    for right, above in product((True, False), repeat=2):
        here = [row for row in rows if (row["right"], row["above"]) == (right, above)]
        place = {"align": "left", "dx": 8} if right else {"align": "right", "dx": -8}
        style = {"dy": -11 if above else 13, "fontSize": 11, "fontWeight": "bold"}
        if here:
            text = _layer(here).mark_text(**place, **style)
            layers.append(text.encode(x=x, y=y, text="text:N", color=colour))
    return layers


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
