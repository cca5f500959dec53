"""What all figures share: colours, a bar chart, and drawing Vega-Lite to SVG without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.system.text import escape_all_controls
from surefoot.system.whole_file import write_whole

INK, GRID, STEADY, WEAK, QUIET = "#1f2933", "#e4e7eb", "#1d5b7a", "#d9693f", "#7b8794"
"""Steady is much darker than weak: the two differ on grey paper too."""
ORANGE = "#d97706"
SERIES = (
    STEADY, WEAK, "#6b8e23", "#8a5a9e", "#c48a1a", "#1b9e9e", "#7a5230", "#d0709a", "#5b6fd6",
    QUIET,
)  # fmt: skip
"""Colours of lines side by side, in this order."""
WIDTH, NARROW = 480, 280
"""Of a plot in pixels, and of one with names at its left: readable on a phone and on a page."""
ABOVE = 32
"""From a plot to a legend above it: the title of the axis lies between them."""
_BESIDE = 48
"""From an entry of a legend to the one beside it: on a phone letters are a quarter larger."""
_PADDING = {"left": 18, "right": 8, "top": 4, "bottom": 4}
"""Pixels around a figure: the letters of a page may be wider than those it was measured with."""
TEXT = 12
"""Font size of a figure in pixels; a page shows figures a quarter larger."""


def bar_chart(counts: dict[str, int], colours: list[str], most: int) -> Any:  # noqa: ANN401  an object of Altair
    """A bar for each kind of input, with its count; `most` is the right end of the axis."""
    import altair as alt

    kinds = list(counts)
    rows = [{"kind": kind, "inputs": counts[kind]} for kind in kinds]
    base = alt.Chart(alt.InlineData(values=rows))
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
    return (bars + labels).properties(width=NARROW, height=alt.Step(34))


FIGURE_ENDINGS = (".svg", ".png", ".json")


def check_figure(name: str) -> None:
    """Refuse a file ending that cannot be drawn, before hours of work."""
    if not name.endswith(FIGURE_ENDINGS):
        raise InvalidArgument(
            f"a figure is written as {', '.join(FIGURE_ENDINGS)}, got {name}: name it figure.svg"
        )


def write_figure(chart: Any, where: Path) -> Path:  # noqa: ANN401  an object of Altair
    """The chart as .svg, .png, or as Vega-Lite .json."""
    check_figure(where.name)
    if where.suffix == ".json":
        content = json.dumps(escape_all_controls(chart.to_dict())).encode()
    elif where.suffix == ".svg":
        content = svg(chart).encode()
    else:
        import vl_convert

        content = vl_convert.svg_to_png(svg(chart), scale=2)
    write_whole(where, content)
    return where


def svg(chart: Any) -> str:  # noqa: ANN401  an object of Altair
    """The chart drawn as SVG, in the style that all figures share."""
    import vl_convert

    styled = (
        chart.configure(padding=_PADDING)
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
    svg: str = vl_convert.vegalite_to_svg(escape_all_controls(styled.to_dict()))
    return svg
