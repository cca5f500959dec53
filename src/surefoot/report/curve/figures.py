"""Figures of curves: levels evaluated, bands, thresholds and crossings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from surefoot.core.results import Crossing, Curve, Interval
from surefoot.errors import InvalidArgument
from surefoot.records.record import Curves, Record
from surefoot.report.curve_quantity import curve_quantity, levels_name, perturbation_name
from surefoot.report.figures import ABOVE, INK, QUIET, SERIES, TEXT, WEAK, WIDTH, svg
from surefoot.report.formatting import four_digits, radius_range

_HEIGHT = 260
_MOST_DOTS = 100
"""Levels of a curve whose dots are drawn: more of them hide the curve."""
_DOT, _CHECK = 34, 14
"""Areas of the dots of a curve in square pixels, and of levels with few inputs."""
_MOST_LABELS = 4
"""Crossings in figures: of more, the figures would hide the curve."""
_FIGURES = 0.42
"""Share of the width that the figures of a crossing need."""
_SUBTITLE = "Shade: what the curve can do between the levels, if what is assumed is true"


def curve_figures(records: Mapping[str, Record]) -> dict[str, Callable[[], str]]:
    """How to draw a figure for each perturbation, by its name, with every curve of it."""
    return {title: partial(_figure, group) for title, group in grouped(records).items()}


def _figure(group: Mapping[str, Record]) -> str:
    return svg(_chart(group))


def curves_chart(records: Mapping[str, Record]) -> Any:  # noqa: ANN401  an object of Altair
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
        raise InvalidArgument(
            f"run {record.digest[:12]} is not a curve: name one of surefoot curve"
        )
    return record.details.curve


def levels_of(record: Record) -> str:
    """What the levels are of, and their unit."""
    return levels_name(record.study.perturbation, record.study.words.perturbation)


def _chart(records: Mapping[str, Record], title: str = "") -> Any:  # noqa: ANN401  an object of Altair
    """All curves of one perturbation; a title where the chart stands without a page."""
    first = next(iter(records.values()))
    curves = {name or "the curve": curve_in(r) for name, r in records.items()}
    name = levels_of(first)
    axes = _Axes.around(curves, curve_quantity(first.study.property.kind), name)
    layers = [*_between(curves, axes), *_lines(curves, axes), *_marks(curves, axes)]
    import altair as alt

    chart = alt.layer(*layers).properties(width=WIDTH, height=_HEIGHT)
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
        shades = [SERIES[i % len(SERIES)] for i in range(len(names))]
        above = alt.Legend(
            title=None, orient="top", offset=ABOVE, columns=1, labelLimit=500, symbolOpacity=1
        )
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
        axis = alt.Axis(grid=False, tickCount=5)
        x = alt.X("level:Q", title=f"level of {kind}", scale=scale, axis=axis)
        height: dict[str, Any] = {
            "title": f"{what} (%)",
            "scale": alt.Scale(domain=[0, 100]),
            "axis": alt.Axis(values=[0, 25, 50, 75, 100], domain=False),
        }
        return cls(x, alt.Y("value:Q", **height), alt.Y("low:Q", **height), colour, right)


def _layer(rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401  an object of Altair
    import altair as alt

    return alt.Chart(alt.InlineData(values=rows))


def _between(curves: Mapping[str, Curve], axes: _Axes) -> list[Any]:
    """Where each curve can be: from level to level, or at the levels alone, then paler."""
    shaded = {name: curve for name, curve in curves.items() if curve.between}
    boxes = [
        {
            "name": name,
            "level": gap.low,
            "to": gap.high,
            "low": 100 * min(max(gap.lowest, 0.0), 1.0),
            "high": 100 * min(max(gap.highest, 0.0), 1.0),
        }
        for name, curve in shaded.items()
        for gap in curve.between
    ]
    ends = [
        row
        for name, curve in curves.items()
        if name not in shaded
        for row in curve_rows(name, curve)
    ]
    strong, pale = (0.2, 0.12) if len(curves) == 1 else (0.12, 0.07)
    x, y, colour = axes.x, axes.low, axes.colour
    band, joined = _layer(boxes).mark_rect(opacity=strong), _layer(ends).mark_area(opacity=pale)
    layers = [
        band.encode(x=x, x2="to:Q", y=y, y2="high:Q", color=colour),
        joined.encode(x=x, y=y, y2="high:Q", color=colour),
    ]
    return [layer for layer in layers if layer.data.values]


def _lines(curves: Mapping[str, Curve], axes: _Axes) -> list[Any]:
    """The levels evaluated; a line through those that bound what the curve does in between."""
    rows = [row for name, curve in curves.items() for row in curve_rows(name, curve)]
    x, y, colour = axes.x, axes.y, axes.colour
    crowded = {name for name, curve in curves.items() if len(curve.points) > _MOST_DOTS}
    firm = [row for row in rows if row["firm"]]
    dots = [row for row in firm if row["name"] not in crowded]
    checks = [row for row in rows if not row["firm"]]
    size = _DOT if len(curves) == 1 else _DOT / 2
    layers = [
        _layer(checks).mark_circle(size=_CHECK, opacity=0.6, color=QUIET).encode(x=x, y=y),
        _layer(firm).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        _layer(dots).mark_circle(size=size, opacity=1).encode(x=x, y=y, color=colour),
    ]
    return [layer for layer in layers if layer.data.values]


def _marks(curves: Mapping[str, Curve], axes: _Axes) -> list[Any]:
    """Thresholds, and where they are crossed."""
    readings = [(name, reading) for name, curve in curves.items() for reading in curve.readings]
    one = next(iter(curves.values()))
    thresholds = [
        {"value": 100 * t, "level": axes.right, "text": f"{100 * t:g} %"}
        for t in dict.fromkeys(reading.threshold for _, reading in readings)
    ]
    line = _layer(thresholds).mark_rule(strokeDash=[5, 4], color=QUIET)
    words = _layer(thresholds).mark_text(align="left", dx=6, color=INK, fontSize=TEXT)
    layers = [line.encode(y=axes.y), words.encode(x=axes.x, y=axes.y, text="text:N")]
    rows = [
        _crossing_row(name, reading.threshold, c, one.span)
        for name, reading in readings
        for c in reading.crossings
    ]
    return [*layers, *(_crossings(rows, axes, alone=len(curves) == 1) if rows else [])]


def _crossing_row(
    name: str, threshold: float, crossing: Crossing, span: Interval
) -> dict[str, Any]:
    """A crossing; its figures stand where the curve is not: above and outwards, if they fit."""
    share = (crossing.level - span.low) / span.width
    above = share < 1 - _FIGURES if crossing.falls else share > _FIGURES
    right = above == crossing.falls
    return {
        "name": name,
        "level": crossing.interval.low,
        "to": crossing.interval.high,
        "at": crossing.level,
        "value": 100 * threshold,
        "right": right,
        "above": above,
        "text": f"{four_digits(crossing.level)} ({radius_range(crossing.interval)})",
    }


def _crossings(rows: list[dict[str, Any]], axes: _Axes, *, alone: bool) -> list[Any]:
    """A bar over the interval, a diamond at the best guess; of a single curve also in figures."""
    import altair as alt

    colour = alt.value(WEAK) if alone else axes.colour
    x, y = alt.X("at:Q", title=axes.x.to_dict()["title"]), axes.y
    diamond = {"shape": "diamond", "size": 110, "filled": True, "stroke": "white", "opacity": 1}
    bar = _layer(rows).mark_rule(strokeWidth=5, opacity=1 if alone else 0.6, strokeCap="round")
    layers = [
        bar.encode(x=axes.x, x2="to:Q", y=y, color=colour),
        _layer(rows).mark_point(**diamond).encode(x=x, y=y, color=colour),
    ]
    if not alone or len(rows) > _MOST_LABELS:
        return layers
    for right, above in product((True, False), repeat=2):
        here = [row for row in rows if (row["right"], row["above"]) == (right, above)]
        place = {"align": "left", "dx": 4} if right else {"align": "right", "dx": -4}
        style = {"dy": -15 if above else 17, "fontSize": TEXT, "fontWeight": "bold", "color": INK}
        if here:
            text = _layer(here).mark_text(**place, **style)
            layers.append(text.encode(x=x, y=y, text="text:N"))
    return layers


def curve_rows(name: str, curve: Curve) -> list[dict[str, Any]]:
    """The rows of a curve; `firm` are those that bound what it can do between the levels."""
    ends = {end for gap in curve.between for end in (gap.low, gap.high)}
    return [
        {
            "name": name,
            "level": p.level,
            "value": 100 * p.value,
            "low": 100 * p.interval.low,
            "high": 100 * p.interval.high,
            "firm": not ends or p.level in ends,
        }
        for p in curve.points
    ]
