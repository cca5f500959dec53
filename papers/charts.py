"""The figures of the papers, with Altair: lines, bars, panels, intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from papers import words
from papers.words import Interval

Chart = Any
"""An object of Altair: of which class depends on what was layered."""
Points = Sequence[tuple[float, float]]
INK, GRID, STEADY, WEAK, QUIET = "#1f2933", "#e4e7eb", "#1d5b7a", "#d9693f", "#7b8794"
SERIES = (
    STEADY, WEAK, "#6b8e23", "#8a5a9e", "#c48a1a", "#1b9e9e", "#7a5230", "#d0709a", "#5b6fd6",
    QUIET,
)  # fmt: skip
"""Colours of lines side by side, in this order."""
_SIZE = {"width": 480, "height": 240}
_PANEL = {"width": 190, "height": 120}
"""Three fit on a page."""
_THIN, _THICK = 1.4, 4.0
"""Widths of the last and of the first line: lines that coincide all stay visible."""
_LONG_NAME = 24
"""Characters of a name beyond which names stand below each other: two would not fit on a phone."""
_REACH, _FAR = 4.0, 3.0
"""Deviations to both sides over which a fitted normal is drawn; a limit farther away than so many
times the width of the curve is named, not drawn."""


def line_chart(
    lines: Mapping[str, Points],
    x: str,
    y: str,
    *,
    title: str = "",
    dots: Mapping[str, Points] | None = None,
    bands: Mapping[str, Sequence[tuple[float, float, float]]] | None = None,
    level: float | None = None,
    dashed: Sequence[str] = (),
    marks: bool = False,
    step: bool = False,
    log: bool = False,
    span: tuple[float, float] | None = None,
) -> Chart:
    """Lines by name; `dots` stand by themselves, `bands` (x, low, high) lie around a line.

    `level`: a value of y with a dashed rule. `marks`: a dot at every point of a line. `step`: lines
    that stay until the next point. `log`: x is doubled from tick to tick. `span` is the range of
    x, where it is not that of the points.
    """
    names = list(dict.fromkeys([*lines, *(dots or {})]))
    columns = 1 if max(map(len, names), default=0) > _LONG_NAME else 2
    legend = alt.Legend(title=None, orient="top", offset=32, columns=columns, labelLimit=400)
    several = legend if len(names) > 1 else None
    many = len(names) > len(SERIES)
    shades = {"scheme": "tableau20"} if many else {"range": SERIES[: len(names)]}
    widths = np.linspace(_THICK, _THIN, len(names)).tolist() if len(names) > 1 else [_THIN]
    strokes = [[4, 3] if name in dashed else [1, 0] for name in names]
    encoded = {
        "x": alt.X("x:Q", title=x, scale=_scale(span, log)),
        "y": alt.Y("y:Q", title=y, scale=_scale(None)),
        "color": alt.Color("name:N", scale=alt.Scale(domain=names, **shades), legend=several),
    }
    width = alt.StrokeWidth("name:N", scale=alt.Scale(domain=names, range=widths), legend=None)
    dash = alt.StrokeDash("name:N", scale=alt.Scale(domain=names, range=strokes), legend=None)
    mark = {"point": marks, **({"interpolate": "step-after"} if step else {})}
    layers = [_named(lines).mark_line(**mark).encode(**encoded, strokeWidth=width, strokeDash=dash)]
    if bands:
        ends = {"y": alt.Y("y:Q", title=y), "y2": "high:Q"}
        layers.insert(0, _named(bands).mark_area(opacity=0.15).encode(**{**encoded, **ends}))
    if level is not None:
        rule = _data([{"y": level}]).mark_rule(strokeDash=[5, 4], color=INK, opacity=0.7)
        layers.append(rule.encode(y=encoded["y"]))
    if dots:
        drawn = _named(dots).mark_point(filled=True, size=30, opacity=1)
        layers.append(drawn.encode(**encoded))
    return alt.layer(*layers).properties(title=title, **_SIZE)


def histogram(counts: Sequence[int], edges: Sequence[float], x: str, title: str) -> Chart:
    """Bars between neighbouring edges, each as high as its number of images."""
    bars = _bars(counts, edges, x, "images", (edges[0], edges[-1]))
    return bars.properties(title=title, **_SIZE)


def interval_chart(rows: Sequence[Mapping[str, Any]], x: str) -> Chart:
    """Names below each other: `value` with `low` and `high`, and `extrapolated` as a diamond."""
    base = _data(rows)
    y = alt.Y("name:N", sort=[row["name"] for row in rows], title=None)
    low = alt.X("low:Q", title=x, scale=alt.Scale(zero=False))
    lines = base.mark_rule(strokeWidth=3, color=STEADY, opacity=0.5).encode(y=y, x=low, x2="high:Q")
    dots = base.mark_circle(size=70, color=STEADY, opacity=1).encode(y=y, x="value:Q")
    known = base.transform_filter("datum.extrapolated != null")
    diamonds = known.mark_point(shape="diamond", size=60, color=WEAK, strokeWidth=2)
    layers = lines + dots + diamonds.encode(y=y, x="extrapolated:Q")
    return layers.properties(width=280, height=alt.Step(26))


def step_panels(networks: Mapping[str, tuple[Points, Interval]], x: str, y: str) -> Chart:
    """A panel a network: steps from each point to the next, and lines at the ends of the truth."""
    panels, style = [], {"interpolate": "step-after", "color": STEADY, "opacity": 0.7, "line": True}
    for name, (steps, truth) in networks.items():
        shape = (
            _named({name: steps})
            .mark_area(**style)
            .encode(x=alt.X("x:Q", title=x), y=alt.Y("y:Q", title=y))
        )
        ends = _data([{"x": end} for end in (truth.low, truth.high)])
        lines = ends.mark_rule(color=WEAK, strokeWidth=2).encode(x="x:Q")
        panels.append((shape + lines).properties(title=name, **_PANEL))
    return alt.concat(*panels, columns=3)


def score_chart(fits: Sequence[Any]) -> Chart:
    """One panel a fit of a normal, side by side: raw first, then after each transform tried."""
    panels = [_score_panel(fit) for fit in fits if fit.scores is not None]
    return alt.hconcat(*panels, spacing=30) if len(panels) > 1 else panels[0]


def _score_panel(fit: Any) -> Chart:
    """A histogram of the scores, the fitted normal, and the limit with its z."""
    scores, reach = fit.scores, _REACH * fit.deviation
    low, high = min(scores.low, fit.mean - reach), max(scores.high, fit.mean + reach)
    drawn = low - _FAR * (high - low) <= fit.limit <= high + _FAR * (high - low)
    ends = (min(low, fit.limit), max(high, fit.limit)) if drawn else (low, high)
    margin = 0.02 * (ends[1] - ends[0])
    domain = (ends[0] - margin, ends[1] + margin)
    name = "score" if fit.transform == "none" else f"score after {words.transform(fit)}"
    name += "" if fit.power is None else f" (λ = {fit.power:.3g})"
    # the curve is what is expected in a bin, so that it has the scale of the bars
    width = (scores.high - scores.low) / len(scores.counts)
    top = sum(scores.counts) * width / (fit.deviation * math.sqrt(2 * math.pi))
    z = np.linspace(-_REACH, _REACH, 121)
    at, heights = fit.mean + z * fit.deviation, top * np.exp(-(z**2) / 2)
    edges = np.linspace(scores.low, scores.high, len(scores.counts) + 1).tolist()
    highest = 1.15 * max(*scores.counts, top)
    bars = _bars(scores.counts, edges, name, "trials", domain, highest)
    curve = _named({"": list(zip(at.tolist(), heights.tolist(), strict=True))}).mark_line(
        color=INK, strokeWidth=1.5
    )
    # a dashed line at the limit, with z beside it; words at the edge where it is far away
    right, text = fit.limit > fit.mean, f"limit, z = {fit.z:.3g}"
    if not drawn:
        text = f"{text} →" if right else f"← {text}"
    place = fit.limit if drawn else domain[1 if right else 0]
    left = place > sum(domain) / 2
    base, layers = _data([{"x": place, "text": text}]), bars + curve.encode(x="x:Q", y="y:Q")
    if drawn:
        rule = base.mark_rule(color=WEAK, strokeDash=[5, 4], strokeWidth=1.5)
        layers += rule.encode(x="x:Q")
    side = {"align": "right", "dx": -5} if left else {"align": "left", "dx": 5}
    label = base.mark_text(**side, fontSize=12, color=WEAK if drawn else QUIET)
    layers += label.encode(x="x:Q", y=alt.value(8), text="text:N")
    return layers.properties(width=240, height=180)


def _bars(
    counts: Sequence[int],
    edges: Sequence[float],
    x: str,
    y: str,
    domain: tuple[float, float],
    highest: float | None = None,
) -> Chart:
    rows = [
        {"low": a, "high": b, "y": n} for n, (a, b) in zip(counts, pairwise(edges), strict=True)
    ]
    whole = alt.Axis(format="d", tickMinStep=1)
    scale = alt.Scale(domain=[0, highest]) if highest is not None else alt.Undefined
    return (
        _data(rows)
        .mark_rect(color=STEADY, opacity=0.7, stroke="white")
        .encode(
            x=alt.X("low:Q", title=x, scale=alt.Scale(domain=list(domain), nice=False)),
            x2="high:Q",
            y=alt.Y("y:Q", title=y, axis=whole, scale=scale),
            y2=alt.datum(0),
        )
    )


def _named(lines: Mapping[str, Sequence[tuple[float, ...]]]) -> Chart:
    """Rows with x, y, the high end of a band, and the name of the line."""
    keys = ("x", "y", "high")
    return _data(
        [
            dict(zip(keys, p, strict=False)) | {"name": name}
            for name, points in lines.items()
            for p in points
        ]
    )


def _data(rows: Sequence[Mapping[str, Any]]) -> Chart:
    return alt.Chart(alt.InlineData(values=tuple(dict(row) for row in rows)))


def _scale(span: tuple[float, float] | None, log: bool = False) -> Any:
    if span is not None:
        return alt.Scale(domain=list(span), nice=False)
    doubling: dict[str, Any] = {"type": "log", "base": 2, "nice": False} if log else {}
    return alt.Scale(zero=False, **doubling)


def svg(chart: Chart) -> str:
    """The chart drawn as SVG, in the style that all figures share."""
    letters = {"labelColor": INK, "labelFontSize": 12}
    lines = {"gridColor": GRID, "domainColor": GRID, "tickColor": GRID, "ticks": False}
    titles = {"titleColor": INK, "titleFontSize": 12, "titleFontWeight": "normal"}
    styled = (
        chart.configure(padding={"left": 18, "right": 8, "top": 4, "bottom": 4})
        .configure_view(stroke=None)
        .configure_title(anchor="start", frame="group", fontSize=12, color=INK)
        .configure_axis(
            **letters, **lines, **titles, titlePadding=8, labelPadding=5, labelFlush=False,
            labelLimit=140,
        )
        .configure_axisX(labelPadding=8, tickCount=5)
        .configure_axisY(  # the title lies above the axis, where it is read without turning
            titleAngle=0, titleAlign="left", titleAnchor="end", titleX=-28, titleY=-14
        )
        .configure_legend(**letters, columnPadding=48)
    )  # fmt: skip
    drawing: str = vl_convert.vegalite_to_svg(styled.to_dict())
    return drawing


def drawn_as(chart: Chart, ending: str) -> bytes:
    """The content of a file with this ending: .svg, .png, .pdf, or Vega-Lite as .json."""
    if ending == ".json":
        return json.dumps(chart.to_dict()).encode()
    drawing = svg(chart)
    if ending == ".svg":
        return drawing.encode()
    as_pdf = ending == ".pdf"
    made: bytes = (
        vl_convert.svg_to_pdf(drawing) if as_pdf else vl_convert.svg_to_png(drawing, scale=2)
    )
    return made
