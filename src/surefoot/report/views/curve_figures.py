"""Robustness curves as figures, of all inputs and by class, and what is seen in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING

from surefoot.core.results import Crossing, Curve, Footing, Interval
from surefoot.errors import InvalidArgument
from surefoot.records.record import CurveRow, Curves, Record
from surefoot.report.clauses import curve_quantity, levels_name, perturbation_name
from surefoot.report.figures import (
    INK,
    QUIET,
    SERIES,
    TEXT,
    WEAK,
    WIDTH,
    Row,
    interval_chart,
    interval_row,
    legend_above,
    marks,
)
from surefoot.report.formatting import four_digits, percent, radius_range

if TYPE_CHECKING:
    import altair as alt
    from altair.typing import ChartType

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


def curve_figures(records: Mapping[str, Record]) -> dict[str, Callable[[], ChartType]]:
    """How to draw a figure for each perturbation, by its name, with every curve of it."""
    return {title: partial(_chart, group) for title, group in grouped(records).items()}


def curves_chart(records: Mapping[str, Record]) -> ChartType:
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


def _chart(records: Mapping[str, Record], title: str = "") -> ChartType:
    """All curves of one perturbation; a title where the chart stands without a page."""
    import altair as alt

    curves = {name or "the curve": curve_in(r) for name, r in records.items()}
    axes = _Axes.around(curves, next(iter(records.values())))
    layers = [*_between(curves, axes), *_lines(curves, axes), *_marks(curves, axes)]
    chart = alt.layer(*layers).properties(width=WIDTH, height=_HEIGHT)
    if not title:
        return chart
    below = _SUBTITLE if any(curve.between for curve in curves.values()) else ""
    return chart.properties(title=alt.Title(title, subtitle=below, anchor="start", fontSize=13))


@dataclass(frozen=True)
class _Axes:
    """The channels that all layers share."""

    level: str
    x: alt.X
    y: alt.Y
    low: alt.Y
    colour: alt.Color
    right: float

    @classmethod
    def around(cls, curves: Mapping[str, Curve], record: Record) -> _Axes:
        import altair as alt

        names = list(curves)
        shades = [SERIES[i % len(SERIES)] for i in range(len(names))]
        above = legend_above(columns=1, labelLimit=500, symbolOpacity=1)
        colour = alt.Color(
            "name:N",
            scale=alt.Scale(domain=names, range=shades),
            legend=above if len(names) > 1 else None,
        )
        left = min(curve.span.low for curve in curves.values())
        right = max(curve.span.high for curve in curves.values())
        level, x = f"level of {levels_name(record.study)}", _levels_axis(record, left, right)
        y, low = _height_axis(record, "value"), _height_axis(record, "low")
        return cls(level, x, y, low, colour, right)


def _levels_axis(record: Record, left: float, right: float) -> alt.X:
    import altair as alt

    scale = alt.Scale(domain=[left, right], nice=False)
    axis = alt.Axis(grid=False, tickCount=5)
    return alt.X("level:Q", title=f"level of {levels_name(record.study)}", scale=scale, axis=axis)


def _height_axis(record: Record, channel: str) -> alt.Y:
    import altair as alt

    axis = alt.Axis(values=[0, 25, 50, 75, 100], domain=False)
    title = f"{curve_quantity(record.study.property.kind)} (%)"
    return alt.Y(f"{channel}:Q", title=title, scale=alt.Scale(domain=[0, 100]), axis=axis)


def _between(curves: Mapping[str, Curve], axes: _Axes) -> list[alt.Chart]:
    """Where each curve can be: from level to level, or at the levels alone, then paler."""
    shaded = {name: curve for name, curve in curves.items() if curve.between}
    boxes: list[Row] = [
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
    band, joined = marks(boxes).mark_rect(opacity=strong), marks(ends).mark_area(opacity=pale)
    layers = [
        (boxes, band.encode(x=x, x2="to:Q", y=y, y2="high:Q", color=colour)),
        (ends, joined.encode(x=x, y=y, y2="high:Q", color=colour)),
    ]
    return [layer for rows, layer in layers if rows]


def _lines(curves: Mapping[str, Curve], axes: _Axes) -> list[alt.Chart]:
    """The levels evaluated; a line through those that bound what the curve does in between."""
    rows = [row for name, curve in curves.items() for row in curve_rows(name, curve)]
    x, y, colour = axes.x, axes.y, axes.colour
    crowded = {name for name, curve in curves.items() if len(curve.points) > _MOST_DOTS}
    firm = [row for row in rows if row["firm"]]
    dots = [row for row in firm if row["name"] not in crowded]
    checks = [row for row in rows if not row["firm"]]
    size = _DOT if len(curves) == 1 else _DOT / 2
    few = marks(checks).mark_circle(size=_CHECK, opacity=0.6, color=QUIET)
    line, dot = marks(firm).mark_line(strokeWidth=2), marks(dots).mark_circle(size=size, opacity=1)
    layers = [
        (checks, few.encode(x=x, y=y)),
        (firm, line.encode(x=x, y=y, color=colour)),
        (dots, dot.encode(x=x, y=y, color=colour)),
    ]
    return [layer for rows, layer in layers if rows]


def _marks(curves: Mapping[str, Curve], axes: _Axes) -> list[alt.Chart]:
    """Thresholds, and where they are crossed."""
    readings = [(name, reading) for name, curve in curves.items() for reading in curve.readings]
    one = next(iter(curves.values()))
    thresholds: list[Row] = [
        {"value": 100 * t, "level": axes.right, "text": f"{100 * t:g} %"}
        for t in dict.fromkeys(reading.threshold for _, reading in readings)
    ]
    line = marks(thresholds).mark_rule(strokeDash=[5, 4], color=QUIET)
    words = marks(thresholds).mark_text(align="left", dx=6, color=INK, fontSize=TEXT)
    layers = [line.encode(y=axes.y), words.encode(x=axes.x, y=axes.y, text="text:N")]
    rows = [
        _crossing_row(name, reading.threshold, c, one.span)
        for name, reading in readings
        for c in reading.crossings
    ]
    return [*layers, *(_crossings(rows, axes, alone=len(curves) == 1) if rows else [])]


def _crossing_row(name: str, threshold: float, crossing: Crossing, span: Interval) -> Row:
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


def _crossings(rows: list[Row], axes: _Axes, *, alone: bool) -> list[alt.Chart]:
    """A bar over the interval, a diamond at the best guess; of a single curve also in figures."""
    import altair as alt

    colour = alt.value(WEAK) if alone else axes.colour
    x, y = alt.X("at:Q", title=axes.level), axes.y
    diamond = marks(rows).mark_point(
        shape="diamond", size=110, filled=True, stroke="white", opacity=1
    )
    bar = marks(rows).mark_rule(strokeWidth=5, opacity=1 if alone else 0.6, strokeCap="round")
    layers = [
        bar.encode(x=axes.x, x2="to:Q", y=y, color=colour),
        diamond.encode(x=x, y=y, color=colour),
    ]
    if not alone or len(rows) > _MOST_LABELS:
        return layers
    for right, above in product((True, False), repeat=2):
        here = [row for row in rows if (row["right"], row["above"]) == (right, above)]
        if here:
            text = marks(here).mark_text(
                align="left" if right else "right", dx=4 if right else -4, dy=-15 if above else 17,
                fontSize=TEXT, fontWeight="bold", color=INK,
            )  # fmt: skip
            layers.append(text.encode(x=x, y=y, text="text:N"))
    return layers


def curve_rows(name: str, curve: Curve) -> list[Row]:
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


def class_chart(record: Record, curves: Curves) -> ChartType:
    """The curves of all classes where these are few, else what the weakest came to."""
    if len(curves.classes) <= MOST_CLASSES:
        return _lines_of_classes(record, curves)
    return _weakest_below_each_other(curves)


def _weakest_below_each_other(curves: Curves) -> ChartType:
    import altair as alt

    evaluated = [row for row in weakest_classes(curves) if row.curve.points]
    parts = [*evaluated[:MOST_CLASSES], CurveRow("all inputs", 0, curves.curve)]
    readings = [(row.name, row.curve.readings[0]) for row in parts]
    rows = []
    for name, reading in readings:
        alone = Interval(reading.value, reading.value)
        around = alone if reading.guarantee.footing is Footing.NONE else reading.interval
        rows.append(interval_row("class", name, reading.value, around))
    title = f"share of levels at {percent(readings[0][1].threshold)} or above (%)"
    return interval_chart(rows, "class", title, alt.Scale(domainMin=0), 22)


def _lines_of_classes(record: Record, curves: Curves) -> ChartType:
    """All inputs as a thick line, the weakest classes in colours, the others in grey."""
    import altair as alt

    ordered, span = weakest_classes(curves), curves.curve.span
    colours, others = ordered[:_WEAKEST], ordered[_WEAKEST:]
    names = ["all inputs", *(row.name for row in colours)]
    shades = [INK, *(SERIES[i + 1] for i in range(len(colours)))]
    if others:
        names, shades = [*names, "other classes"], [*shades, QUIET]
    colour = alt.Color(
        "part:N",
        scale=alt.Scale(domain=names, range=shades),
        legend=legend_above(columns=2, labelLimit=220, symbolOpacity=1),
    )
    x, y = _levels_axis(record, span.low, span.high), _height_axis(record, "value")
    thresholds: list[Row] = [{"value": 100 * r.threshold} for r in curves.curve.readings]
    layers = [marks(thresholds).mark_rule(strokeDash=[5, 4], color=QUIET).encode(y=y)]
    whole = [CurveRow("all inputs", 0, curves.curve)]
    for part, width, strength in ((others, 1, 0.45), (colours, 1.8, 1), (whole, 3, 1)):
        rows: list[Row] = [
            {**row, "part": "other classes" if part is others else one.name}
            for one in part
            for row in curve_rows(one.name, one.curve)
        ]
        if rows:
            line = marks(rows).mark_line(strokeWidth=width, opacity=strength)
            layers.append(line.encode(x=x, y=y, color=colour, detail="name:N"))
    return alt.layer(*layers).properties(width=WIDTH, height=240)


_MOST_CURVES, _MOST_CROSSINGS = 6, 3
"""Curves and crossings in words: a description is listened to."""


def describe_curves(records: Mapping[str, Record]) -> str:
    """Where each curve begins and ends, its band there, and where it crosses the thresholds."""
    lines = [
        _describe(name, curve_quantity(record.study.property.kind), curve_in(record))
        for name, record in list(records.items())[:_MOST_CURVES]
    ]
    more = len(records) - _MOST_CURVES
    return " ".join([*lines, *([f"{more} more curves."] if more > 0 else [])])


def describe_classes(curves: Curves) -> str:
    """The weakest and the strongest class at the highest level."""
    ends = [(row.name, _last(row.curve)) for row in weakest_classes(curves) if row.curve.points]
    if not ends:
        return "No level was evaluated."
    low_name, low = min(ends, key=itemgetter(1))
    high_name, high = max(ends, key=itemgetter(1))
    return (
        f"Curves of {len(curves.classes):,} classes and of all inputs. At the highest level they "
        f"lie between {percent(low)} ({low_name}) and {percent(high)} ({high_name})."
    )


def _describe(name: str, quantity: str, curve: Curve) -> str:
    head = f"{name}: {quantity}" if name else quantity.capitalize()
    if not curve.points:
        return f"{head}: no level was evaluated."
    points = sorted(curve.points, key=lambda point: point.level)
    first, last = points[0], points[-1]
    verb = "falls" if last.value < first.value else "rises"
    change = f"{verb} from {percent(first.value)}" if first.value != last.value else "is"
    line = f"{head} {change} {'' if change == 'is' else f'at level {four_digits(first.level)} to '}"
    line += f"{percent(last.value)} at level {four_digits(last.level)}."
    if curve.between:
        gap = max(curve.between, key=lambda between: between.high)
        low, high = max(gap.lowest, 0.0), min(gap.highest, 1.0)
        line += f" There the band reaches from {percent(low)} to {percent(high)}."
    for reading in curve.readings:
        for crossing in reading.crossings[:_MOST_CROSSINGS]:
            line += (
                f" It crosses {percent(reading.threshold)} at {four_digits(crossing.level)} "
                f"({radius_range(crossing.interval)})."
            )
    return line


def _last(curve: Curve) -> float:
    return max(curve.points, key=lambda point: point.level).value
