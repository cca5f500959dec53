"""Panels of curves, side by side, in the look of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from surefoot.report.figures import INK, SERIES, svg

OCHRE = SERIES[4]
SOLID, DASHED, DOTTED = (1, 0), (5, 3), (1.5, 2.5)
Points = Sequence[tuple[float, float]]
Align = Literal["left", "center", "right"]
Drawing = Any
"""A chart of altair, whose type changes with every call."""


@dataclass(frozen=True)
class Curve:
    """One named line."""

    name: str
    points: Points
    colour: str
    dash: tuple[float, ...] = SOLID
    thick: float = 2


@dataclass(frozen=True)
class Axis:
    """What is measured along one side of a panel."""

    title: str
    domain: tuple[float, float] | None = None
    scale: Literal["linear", "log", "sqrt"] = "linear"
    format: str = ",~f"
    values: Sequence[float] | None = None

    def scaled(self) -> alt.Scale:
        """As altair wants it."""
        told: dict[str, Any] = {"type": self.scale, "nice": False, "zero": False}
        if self.domain is not None:
            told["domain"] = list(self.domain)
        return alt.Scale(**told)

    def drawn(self) -> alt.Axis:
        """As altair wants it."""
        told: dict[str, Any] = {"format": self.format, "labelOverlap": True}
        if self.values is None:
            told["tickCount"] = 5
        else:
            told["values"] = list(self.values)
        return alt.Axis(**told)


def panel(
    title: str, curves: Sequence[Curve], x: Axis, y: Axis, *, columns: int = 2, width: int = 320
) -> Drawing:
    """Curves over one pair of axes, with a legend beneath."""
    names = [curve.name for curve in curves]
    rows = [
        {"x": figure(a), "y": figure(b), "what": curve.name, "thick": curve.thick}
        for curve in curves
        for a, b in curve.points
    ]
    legend = alt.Legend(
        title=None, orient="bottom", columns=columns, symbolSize=260, labelLimit=300, offset=8
    )
    shade = alt.Scale(domain=names, range=[c.colour for c in curves])
    dash = alt.Scale(domain=names, range=[list(c.dash) for c in curves])
    lines = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(clip=True)
        .encode(
            x=alt.X("x:Q", title=x.title, scale=x.scaled(), axis=x.drawn()),
            y=alt.Y("y:Q", title=y.title, scale=y.scaled(), axis=y.drawn()),
            color=alt.Color("what:N", scale=shade, legend=legend, sort=None),
            strokeDash=alt.StrokeDash("what:N", scale=dash, legend=legend, sort=None),
            strokeWidth=alt.StrokeWidth("thick:Q", scale=None, legend=None),
        )
    )
    return alt.layer(lines).properties(title=heading(title), width=width, height=240)


def note(x: float, y: float, text: str, *, align: Align = "left", colour: str = INK) -> Drawing:
    """Words at a place of a panel, or a little beside it."""
    apart = {"left": 5, "center": 0, "right": -5}[align]
    return (
        alt.Chart(alt.InlineData(values=[{"x": x, "y": y, "text": text.split("\n")}]))
        .mark_text(
            align=align, dx=apart, baseline="middle", color=colour, fontSize=11, lineHeight=14
        )
        .encode(x="x:Q", y="y:Q", text="text:N")
    )


def heading(text: str, below: str = "") -> alt.TitleParams:
    """The title of a panel, and perhaps a line below it."""
    told: dict[str, Any] = {"subtitle": below, "subtitleColor": INK} if below else {}
    return alt.TitleParams(
        text, anchor="start", frame="group", fontSize=12, color=INK, offset=10, **told
    )


def beside(*panels: Drawing) -> str:
    """The panels next to each other, drawn."""
    row = alt.hconcat(*panels, spacing=40)
    return svg(row.resolve_scale(color="independent", strokeDash="independent"))


def figure(value: float) -> float:
    """Five digits: more cannot be seen, and the last ones differ between machines."""
    return float(f"{value:.5g}")


def mirrored(half: Points) -> list[tuple[float, float]]:
    """From [0, 1/2] to [0, 1], for what does not tell held from failed."""
    return [*half, *((1 - p, y) for p, y in half[-2::-1])]


def level(value: float, low: float = 0.0, high: float = 1.0) -> list[tuple[float, float]]:
    """A horizontal line."""
    return [(low, value), (high, value)]
