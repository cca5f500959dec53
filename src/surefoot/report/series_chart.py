"""Lines by series, with dots, bands and a dashed level: for figures that are no single result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.report.figures import ABOVE, INK, SERIES, WIDTH

Rows = Sequence[Mapping[str, Any]]
_HEIGHT = 240
_THIN, _THICK = 1.4, 4.0
"""Widths of the last and of the first line: lines that coincide all stay visible."""
_LONG_NAME = 24
"""Characters of a name beyond which names stand below each other: two would not fit on a phone."""


@dataclass(frozen=True)
class Axis:
    """The key of its values in a row, its title, and how it is scaled."""

    key: str
    title: str
    log: bool = False
    domain: tuple[float, float] | None = None


@dataclass(frozen=True)
class SeriesChart:
    """`rows` make the lines, one for each name under `series`; `dots` stand by themselves.

    `band`: keys of the lower and the upper end of a shade around each line. `levels`: values of y
    with a dashed line.
    """

    rows: Rows
    x: Axis
    y: Axis
    series: str
    dots: Rows = ()
    band: tuple[str, str] | None = None
    levels: Sequence[float] = ()
    marks: bool = False

    def chart(self) -> Any:  # noqa: ANN401  an object of Altair
        """As an Altair chart; names keep the order of the rows."""
        import altair as alt

        names = list(dict.fromkeys(row[self.series] for row in (*self.rows, *self.dots)))
        shades = [SERIES[i % len(SERIES)] for i in range(len(names))]
        columns = 1 if max((len(str(name)) for name in names), default=0) > _LONG_NAME else 2
        legend = alt.Legend(title=None, orient="top", offset=ABOVE, columns=columns, labelLimit=400)
        colour = alt.Color(
            f"{self.series}:N",
            scale=alt.Scale(domain=names, range=shades),
            legend=legend if len(names) > 1 else None,
        )
        x = alt.X(f"{self.x.key}:Q", title=self.x.title, scale=_scale(self.x))
        y = alt.Y(f"{self.y.key}:Q", title=self.y.title, scale=_scale(self.y))
        widths = [_THIN + (_THICK - _THIN) * i / max(len(names) - 1, 1) for i in range(len(names))]
        scale = alt.Scale(domain=names, range=widths[::-1])
        width = alt.StrokeWidth(f"{self.series}:N", scale=scale, legend=None)
        lines = _data(self.rows).mark_line(point=self.marks)
        layers = [lines.encode(x=x, y=y, color=colour, strokeWidth=width)]
        if self.band is not None:
            low, high = self.band
            shade = _data(self.rows).mark_area(opacity=0.15)
            ends = {"y": alt.Y(f"{low}:Q", title=self.y.title), "y2": f"{high}:Q"}
            layers.insert(0, shade.encode(x=x, color=colour, **ends))
        if self.levels:
            marks = [{self.y.key: value} for value in self.levels]
            dashed = _data(marks).mark_rule(strokeDash=[5, 4], color=INK, opacity=0.7)
            layers.append(dashed.encode(y=y))
        if self.dots:
            dots = _data(self.dots).mark_point(filled=True, size=30, opacity=1)
            layers.append(dots.encode(x=x, y=y, color=colour))
        return alt.layer(*layers).properties(width=WIDTH, height=_HEIGHT)


def _data(rows: Rows) -> Any:  # noqa: ANN401  an object of Altair
    import altair as alt

    return alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))


def _scale(axis: Axis) -> Any:  # noqa: ANN401  an object of Altair
    import altair as alt

    more: dict[str, Any] = {"type": "log", "base": 2, "nice": False} if axis.log else {}
    if axis.domain is not None:
        more |= {"domain": list(axis.domain), "nice": False}
    return alt.Scale(zero=False, **more) if axis.domain is None else alt.Scale(**more)
