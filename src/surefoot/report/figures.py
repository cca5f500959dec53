"""What all figures share: colours, a bar chart, and drawing Vega-Lite to SVG without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.whole_file import write_whole

INK, GRID, STEADY, WEAK, QUIET = "#1f2933", "#e4e7eb", "#2f6f8f", "#b4442c", "#9aa5b1"


def bar_chart(counts: dict[str, int], colours: list[str], most: int) -> Any:  # noqa: ANN401
    """A bar for each kind of input, with its count; `most` is the right end of the axis."""
    import altair as alt

    kinds = list(counts)
    rows = [{"kind": kind, "inputs": counts[kind]} for kind in kinds]
    base = alt.Chart(alt.InlineData(values=rows))
    y = alt.Y("kind:N", sort=kinds, title=None)
    x = alt.X("inputs:Q", title="inputs", scale=alt.Scale(domain=[0, 1.08 * most]))
    shade = alt.Scale(domain=kinds, range=colours)
    bars = base.mark_bar(height=22).encode(
        y=y, x=x, color=alt.Color("kind:N", scale=shade, legend=None)
    )
    labels = base.mark_text(align="left", dx=5, color=INK).encode(y=y, x=x, text="inputs:Q")
    return (bars + labels).properties(width=600, height=alt.Step(34))


FIGURE_ENDINGS = (".svg", ".png", ".json")


def check_figure(name: str) -> None:
    """Refuse a file ending that cannot be drawn, before hours of work."""
    if not name.endswith(FIGURE_ENDINGS):
        raise InvalidArgument(f"a figure is written as {', '.join(FIGURE_ENDINGS)}, got {name}")


def write_figure(chart: Any, where: Path) -> Path:  # noqa: ANN401
    """The chart as .svg, .png, or as Vega-Lite .json."""
    check_figure(where.name)
    if where.suffix == ".json":
        content = json.dumps(chart.to_dict()).encode()
    elif where.suffix == ".svg":
        content = svg(chart).encode()
    else:
        import vl_convert

        content = vl_convert.svg_to_png(svg(chart), scale=2)
    write_whole(where, content)
    return where


def svg(chart: Any) -> str:  # noqa: ANN401
    """The chart drawn as SVG, in the style that all figures share."""
    import vl_convert

    styled = (
        chart.configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            gridColor=GRID,
            domainColor=GRID,
            tickColor=GRID,
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
            labelLimit=200,
        )
        .configure_legend(labelColor=INK, labelFontSize=11)
    )
    svg: str = vl_convert.vegalite_to_svg(styled.to_dict())
    return svg
