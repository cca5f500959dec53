"""Several curves over one axis, and a histogram: figures that need nothing but rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.report.figures import INK, ORANGE, STEADY, WIDTH

__all__ = ["ORANGE", "Curve", "histogram", "line_chart"]
_SIZE = {"width": WIDTH, "height": 240}


@dataclass(frozen=True)
class Curve:
    """One curve: its points, its colour, and whether it is dashed."""

    points: Sequence[tuple[float, float]]
    colour: str = STEADY
    dashed: bool = False


def line_chart(
    curves: Mapping[str, Curve],
    x: str,
    y: str,
    *,
    title: str = "",
    logarithmic: bool = False,
    dots: bool = False,
) -> Any:  # noqa: ANN401  an object of Altair
    """Curves by name over a common axis, with a legend below."""
    import altair as alt

    names = list(curves)
    rows = [
        {"x": a, "y": b, "what": name}
        for name, curve in curves.items()
        for a, b in curve.points
        if b > 0 or not logarithmic
    ]
    shade = alt.Scale(domain=names, range=[curve.colour for curve in curves.values()])
    dash = alt.Scale(
        domain=names, range=[[4, 3] if curve.dashed else [1, 0] for curve in curves.values()]
    )
    legend = alt.Legend(
        title=None, orient="bottom", columns=2, symbolType="stroke", symbolSize=250,
        labelLimit=400,
    )  # fmt: skip
    scale = alt.Scale(type="log") if logarithmic else alt.Scale(zero=False)
    axis = alt.Axis(format="~e", tickCount=6) if logarithmic else alt.Axis(tickCount=6)
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2, point=dots)
        .encode(
            x=alt.X("x:Q", title=x, scale=alt.Scale(zero=False, nice=False)),
            y=alt.Y("y:Q", title=y, scale=scale, axis=axis),
            color=alt.Color("what:N", scale=shade, legend=legend),
            strokeDash=alt.StrokeDash("what:N", scale=dash, legend=legend),
        )
        .properties(title=_title(title), **_SIZE)
    )


def histogram(counts: Sequence[int], edges: Sequence[float], x: str, *, title: str = "") -> Any:  # noqa: ANN401  an object of Altair
    """Bars between neighbouring edges, each as high as its count."""
    import altair as alt

    rows = [
        {"low": low, "high": high, "images": count}
        for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    whole = alt.Axis(format="d", tickMinStep=1)
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(color=STEADY, stroke="white")
        .encode(
            x=alt.X("low:Q", title=x, scale=alt.Scale(domain=[edges[0], edges[-1]])),
            x2="high:Q",
            y=alt.Y("images:Q", title="images", axis=whole),
            y2=alt.datum(0),
        )
        .properties(title=_title(title), **_SIZE)
    )


def _title(text: str) -> Any:  # noqa: ANN401  an object of Altair
    import altair as alt

    return alt.TitleParams(text, anchor="start", frame="group", fontSize=12, color=INK)
