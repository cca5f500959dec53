"""What all figures share: colours, a bar chart, and drawing Vega-Lite to SVG without a browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.report import alt
from surefoot.system.text import escape_all_controls
from surefoot.system.whole_file import write_whole

Row = dict[str, float | str | None]
"""What one mark of a figure shows, by the names of its channels."""

INK, GRID, STEADY, WEAK, QUIET = "#1f2933", "#e4e7eb", "#1d5b7a", "#d9693f", "#7b8794"
"""Steady is much darker than weak: the two differ on grey paper too."""
SERIES = (
    STEADY, WEAK, "#6b8e23", "#8a5a9e", "#c48a1a", "#1b9e9e", "#7a5230", "#d0709a", "#5b6fd6",
    QUIET,
)  # fmt: skip
"""Colours of lines side by side, in this order."""
WIDTH, NARROW = 480, 280
"""Of a plot in pixels, and of one with names at its left, where nothing else says how wide."""
_LABELS = 64
"""Pixels of a panel at the left of its plot, for the labels of its axis."""
ABOVE = 32
"""From a plot to a legend above it: the title of the axis lies between them."""
_BESIDE = 48
"""From an entry of a legend to the one beside it: on a phone letters are a quarter larger."""
_PADDING = {"left": 18, "right": 8, "top": 4, "bottom": 4}
"""Pixels around a figure: the letters of a page may be wider than those it was measured with."""
TEXT = 12
"""Font size of a figure in pixels; a page shows figures a quarter larger."""


def number(row: Row, channel: str) -> float:
    """What a row has in a channel of numbers; 0 where it has none."""
    value = row[channel]
    return value if isinstance(value, int | float) else 0.0


def marks(rows: Sequence[Row]) -> alt.Chart:
    """A chart of these rows, as yet without a mark."""
    # Altair copies lists and dictionaries whenever charts are put together; a tuple stays one
    return alt.Chart(alt.InlineData(values=tuple(rows)))


def legend_above(**style: Any) -> alt.Legend:  # noqa: ANN401  as Altair takes them
    """Where no line crosses it, whatever the curves are."""
    return alt.Legend(title=None, orient="top", offset=ABOVE, **style)


def interval_chart(
    rows: Sequence[Row], names: str, title: str, scale: alt.Scale, step: int
) -> alt.LayerChart:
    """Names below each other, each with a dot in a line from low to high.

    `names` is the channel of the names. A diamond is where a row has something extrapolated.
    """
    base = marks(rows)
    y = alt.Y(f"{names}:N", sort=[str(row[names]) for row in rows], title=None)
    x = alt.X("low:Q", title=title, scale=scale)
    lines = base.mark_rule(strokeWidth=3, color=STEADY, opacity=0.5).encode(y=y, x=x, x2="high:Q")
    dots = base.mark_circle(size=70, color=STEADY, opacity=1).encode(y=y, x="value:Q")
    chart: alt.LayerChart = lines + dots
    if any("extrapolated" in row for row in rows):
        chart += diamonds(base).encode(y=y, x="extrapolated:Q")
    return chart.properties(width=NARROW, height=alt.Step(step))


def interval_row(
    channel: str, name: str, value: float, around: Interval, **more: float | None
) -> Row:
    """A row of `interval_chart`: a share and its interval, in percent."""
    ends = {"low": 100 * around.low, "high": 100 * around.high}
    return {channel: name, "value": 100 * value, **ends, **more}


def diamonds(base: alt.Chart) -> alt.Chart:
    """Marks of the rows where something is extrapolated."""
    drawn = base.transform_filter("datum.extrapolated != null")
    points: alt.Chart = drawn.mark_point(shape="diamond", size=60, color=WEAK, strokeWidth=2)
    return points


def bar_chart(counts: dict[str, int], colours: list[str], most: int) -> alt.ChartType:
    """A bar for each kind of input, with its count; `most` is the right end of the axis."""
    kinds = list(counts)
    base = marks([{"kind": kind, "inputs": number} for kind, number in counts.items()])
    y = alt.Y("kind:N", sort=kinds, title=None)
    whole = alt.Axis(tickCount=5, format=",d", tickMinStep=1, domain=False, ticks=False)
    scale = alt.Scale(domain=[0, 1.08 * most])
    x = alt.X("inputs:Q", title="inputs", scale=scale, axis=whole)
    shade = alt.Scale(domain=kinds, range=colours)
    bars = base.mark_bar(height=22).encode(
        y=y, x=x, color=alt.Color("kind:N", scale=shade, legend=None)
    )
    text = base.mark_text(align="left", dx=5, color=INK, fontSize=TEXT)
    labels = text.encode(y=y, x=x, text="inputs:Q")
    return alt.layer(bars, labels).properties(width=NARROW, height=alt.Step(34))


FIGURE_ENDINGS = (".svg", ".png", ".pdf", ".json")


def check_figure(name: str) -> None:
    """Refuse a file ending that cannot be drawn, before hours of work."""
    if not name.endswith(FIGURE_ENDINGS):
        raise InvalidArgument(
            f"a figure is written as {', '.join(FIGURE_ENDINGS)}, got {name}: name it figure.svg"
        )


def write_figure(chart: alt.ChartType, where: Path) -> Path:
    """The chart as .svg, .png, .pdf, or as Vega-Lite .json."""
    check_figure(where.name)
    if where.suffix == ".json":
        content = json.dumps(escape_all_controls(chart.to_dict())).encode()
    elif where.suffix == ".svg":
        content = svg(chart).encode()
    else:
        import vl_convert

        drawn = svg(chart)
        pdf = where.suffix == ".pdf"
        content = vl_convert.svg_to_pdf(drawn) if pdf else vl_convert.svg_to_png(drawn, scale=2)
    write_whole(where, content)
    return where


def shown_as_svg(chart: alt.ChartType) -> alt.ChartType:
    """The chart, shown as SVG in a notebook: the HTML of Altair loads scripts from the network."""
    object.__setattr__(chart, "_repr_mimebundle_", partial(_svg_bundle, chart))
    return chart


def _svg_bundle(chart: alt.ChartType, *_: object, **__: object) -> dict[str, str]:
    return {"image/svg+xml": svg(chart)}


def svg(chart: alt.ChartType) -> str:
    """The chart drawn as SVG, in the style that all figures share."""
    return drawn(specified(lambda: chart))


def specified(draw: Callable[[], alt.ChartType]) -> dict[str, Any]:
    """Vega-Lite of a chart of our own, in the style that all figures share.

    Altair validates every part of it, and again what it is put into, for half of the time that a
    page takes: that is for the tests.
    """
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        styled = (
            draw()
            .configure(padding=_PADDING)
            .configure_view(stroke=None)
            .configure_axis(
                labelColor=INK,
                titleColor=INK,
                gridColor=GRID,
                domainColor=GRID,
                tickColor=GRID,
                labelFontSize=TEXT,
                titleFontSize=TEXT,
                titleFontWeight="normal",
                titlePadding=8,
                labelPadding=5,
                labelFlush=False,
                ticks=False,
                labelLimit=140,
            )
            .configure_axisX(labelPadding=8, tickCount=5)
            .configure_axisY(  # the title lies above the axis, where it is read without turning
                titleAngle=0, titleAlign="left", titleAnchor="end", titleX=-28, titleY=-14
            )
            .configure_legend(labelColor=INK, labelFontSize=TEXT, columnPadding=_BESIDE)
        )
        plain: dict[str, Any] = escape_all_controls(styled.to_dict(validate=False))
    return plain


def drawn(plain: dict[str, Any], width: int | None = None) -> str:
    """Vega-Lite drawn as SVG; so wide, where that is given."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(plain if width is None else _fitted(dict(plain), width))
    return svg


def _fitted(chart: dict[str, Any], width: int) -> dict[str, Any]:
    """The same with its labels in this width; where panels have no room, below each other."""
    beside, below = chart.pop("hconcat", []), chart.pop("vconcat", [])
    if not beside and not below:
        return chart | {"width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
    columns = len(beside) if beside and width > len(beside) * NARROW else 1
    panels = [panel | {"width": width // columns - _LABELS} for panel in beside or below]
    return chart | {"hconcat" if columns > 1 else "vconcat": panels}
