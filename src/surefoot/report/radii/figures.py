"""Figures of critical radii: their distribution between its bounds, and the time per input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from surefoot.evidence import closed_to
from surefoot.report.figures import INK, QUIET, STEADY, WEAK, svg
from surefoot.report.radii.tables import brackets_of, radii_in, tolerance_of
from surefoot.results import Quantile
from surefoot.store.records import Record

_COLOURS = (STEADY, WEAK, "#6b8e23", "#8a5a9e", "#c48a1a", "#1b9e9e")


def radii_chart(records: Mapping[str, Record]) -> Any:  # noqa: ANN401
    """Share of inputs with a critical radius of at most x, between proof and counterexample."""
    import altair as alt

    names = [name or "inputs" for name in records]
    rows = [row for name, record in records.items() for row in _steps(name or "inputs", record)]
    most = max((row["radius"] for row in rows), default=1.0) or 1.0
    above = alt.Legend(  # where no line crosses it, whatever the curves are
        title=None,
        orient="top",
        symbolOpacity=1,
        symbolStrokeWidth=3,
        labelLimit=260,
        columns=2,
        columnPadding=40,
    )
    legend = above if len(names) > 1 else None
    colour = alt.Color("name:N", scale=alt.Scale(domain=names, range=_COLOURS), legend=legend)
    x = alt.X("radius:Q", title="L∞ radius", scale=alt.Scale(domain=[0, most], nice=False))
    y = alt.Y("share:Q", title="inputs (%)", scale=alt.Scale(domain=[0, 100]))
    lines = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=x,
            y=y,
            color=colour,
            strokeDash=alt.StrokeDash(
                "end:N",
                scale=alt.Scale(domain=["refuted", "not proved"], range=[[1, 0], [4, 3]]),
                legend=alt.Legend(
                    title=None,
                    orient="bottom",
                    symbolStrokeColor=INK,
                    symbolStrokeWidth=2,
                    columnPadding=40,
                ),
            ),
        )
    )
    marks = [
        {"radius": q.interval.low, "to": min(most, q.interval.high), "share": 100 * q.share,
         "at": q.value, "name": name or "inputs"}
        for name, record in records.items()
        if isinstance(q := radii_in(record).quantiles[0].result, Quantile)
    ]  # fmt: skip
    base = alt.Chart(alt.InlineData(values=marks))
    level = base.mark_rule(strokeDash=[5, 4], color=QUIET).encode(y=y)
    span = base.mark_rule(strokeWidth=6, opacity=0.45).encode(x=x, x2="to:Q", y=y, color=colour)
    dot = base.mark_point(shape="diamond", size=90, filled=True, opacity=1, stroke=INK).encode(
        x=alt.X("at:Q"), y=y, color=colour
    )
    return (level + lines + span + dot).properties(width=620, height=300)


def _steps(name: str, record: Record) -> list[dict[str, Any]]:
    brackets = [b for _, b in brackets_of(record)]
    n = len(brackets)
    lows = sorted(b.low for b in brackets)
    highs = sorted(b.high for b in brackets if math.isfinite(b.high))
    rows = [
        {"name": name, "end": end, "radius": value, "share": 100 * (i + 1) / n}
        for end, values in (("not proved", lows), ("refuted", highs))
        for i, value in enumerate(values)
    ]
    starts = [{"name": name, "end": end, "radius": 0.0, "share": 0.0}
              for end in ("not proved", "refuted")]  # fmt: skip
    return [*starts, *rows]


def times_figure(record: Record) -> str:
    """Seconds that each input took, against its proved radius."""
    import altair as alt

    tolerance = tolerance_of(record)
    kinds = ["closed", "open"] if tolerance is not None else ["refuted", "never refuted"]
    clock = "CPU seconds" if tolerance is not None else "seconds, from the file"
    limit = math.inf if tolerance is None else tolerance
    rows = [
        {"radius": b.low, "seconds": max(b.seconds, 1e-3),
         "kind": kinds[math.isinf(b.high) or not closed_to(b.low, b.high, limit)]}
        for _, b in brackets_of(record)
        if b.seconds is not None
    ]  # fmt: skip
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_circle(size=36, opacity=0.8)
        .encode(
            x=alt.X("radius:Q", title="proved L∞ radius"),
            y=alt.Y("seconds:Q", title=clock, scale=alt.Scale(type="log")),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[STEADY, WEAK]),
                legend=alt.Legend(title=None, orient="top", symbolOpacity=1),
            ),
        )
    )
    return svg(chart.properties(width=620, height=200))
