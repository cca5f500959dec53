"""Critical radii as figures, and what is seen in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from surefoot.core.claims import (
    RobustPopulation,
)
from surefoot.core.counts import closed_to
from surefoot.core.results import Quantile
from surefoot.records.record import Record
from surefoot.report.figures import (
    INK,
    QUIET,
    SERIES,
    STEADY,
    WEAK,
    WIDTH,
    Row,
    legend_above,
    marks,
    number,
    svg,
)
from surefoot.report.formatting import four_digits, percent, radius_range
from surefoot.report.views.radii_tables import brackets_of, radii_in, tolerance_of

if TYPE_CHECKING:
    import altair as alt
    from altair.typing import ChartType


def _step_lines(
    rows: list[Row], title: str, ends: tuple[str, str], most: float, names: list[str], **room: int
) -> tuple[alt.Chart, alt.X, alt.Y, alt.Color]:
    """Shares against the radius, the first end solid and the second dashed; and the channels."""
    import altair as alt

    x = alt.X("radius:Q", title="L∞ radius", scale=alt.Scale(domain=[0, most], nice=False))
    y = alt.Y("share:Q", title=title, scale=alt.Scale(domain=[0, 100]))
    legend = legend_above(symbolOpacity=1, symbolStrokeWidth=3, labelLimit=260, columns=2, **room)
    colour = alt.Color(
        "name:N",
        scale=alt.Scale(domain=names, range=list(SERIES)),
        legend=legend if len(names) > 1 else None,
    )
    below = alt.Legend(
        title=None, orient="bottom", symbolStrokeColor=INK, symbolStrokeWidth=2, columnPadding=40
    )
    dashes = alt.Scale(domain=list(ends), range=[[1, 0], [4, 3]])
    lines = marks(rows).mark_line(interpolate="step-after", strokeWidth=2)
    dash = alt.StrokeDash("end:N", scale=dashes, legend=below)
    return lines.encode(x=x, y=y, color=colour, strokeDash=dash), x, y, colour


def _farthest(rows: Iterable[Row]) -> float:
    """The right end of the axis."""
    return max((number(row, "radius") for row in rows), default=1.0) or 1.0


def radii_chart(records: Mapping[str, Record]) -> ChartType:
    """Share of inputs with a critical radius of at most x, between proof and counterexample."""
    names = [name or "inputs" for name in records]
    rows = [row for name, record in records.items() for row in _steps(name or "inputs", record)]
    most, ends = _farthest(rows), ("refuted", "not proved")
    lines, x, y, colour = _step_lines(rows, "inputs (%)", ends, most, names, columnPadding=40)
    quantiles: list[Row] = [
        {"radius": q.interval.low, "to": min(most, q.interval.high), "share": 100 * q.share,
         "at": q.value, "name": name or "inputs"}
        for name, record in records.items()
        if isinstance(q := radii_in(record).quantiles[0].result, Quantile)
    ]  # fmt: skip
    base = marks(quantiles)
    level = base.mark_rule(strokeDash=[5, 4], color=QUIET).encode(y=y)
    span = base.mark_rule(strokeWidth=6, opacity=0.45).encode(x=x, x2="to:Q", y=y, color=colour)
    dot = base.mark_point(shape="diamond", size=90, filled=True, opacity=1, stroke=INK).encode(
        x="at:Q", y=y, color=colour
    )
    chart: alt.LayerChart = level + lines + span + dot
    return chart.properties(width=WIDTH, height=260)


def _steps(name: str, record: Record) -> list[Row]:
    brackets = [b for _, b in brackets_of(record)]
    n = len(brackets)
    lows = sorted(b.low for b in brackets)
    highs = sorted(b.high for b in brackets if math.isfinite(b.high))
    rows: list[Row] = [
        {"name": name, "end": end, "radius": value, "share": 100 * (i + 1) / n}
        for end, values in (("not proved", lows), ("refuted", highs))
        for i, value in enumerate(values)
    ]
    starts: list[Row] = [{"name": name, "end": end, "radius": 0.0, "share": 0.0}
                         for end in ("not proved", "refuted")]  # fmt: skip
    return [*starts, *rows]


def accuracy_chart(record: Record, parts: Mapping[str, Record]) -> ChartType:
    """Share of inputs proved at a radius, and of those not refuted there; and the population's."""
    names = [name or "inputs" for name in parts]
    rows = [row for name, part in parts.items() for row in _robust_steps(name or "inputs", part)]
    bars: list[Row] = [
        {"radius": c.radius, "low": 100 * c.interval.low, "high": 100 * c.interval.high,
         "name": c.names[0] if c.names else "inputs"}
        for c in record.claims
        if isinstance(c, RobustPopulation) and c.interval is not None
    ]  # fmt: skip
    most, ends = _farthest((*rows, *bars)), ("not refuted", "proved")
    lines, x, _, colour = _step_lines(rows, "robust accuracy (%)", ends, most, names)
    spans = marks(bars).mark_rule(strokeWidth=6, opacity=0.45)
    chart = lines + spans.encode(x=x, y="low:Q", y2="high:Q", color=colour) if bars else lines
    return chart.properties(width=WIDTH, height=220)


def _robust_steps(name: str, record: Record) -> list[Row]:
    """The share falls at every refuted radius, and right behind every proved one."""
    brackets = [b for _, b in brackets_of(record)]
    n = len(brackets)
    rows: list[Row] = []
    most = max((x for b in brackets for x in (b.low, b.high) if math.isfinite(x)), default=1.0)
    ends = {"not refuted": [b.high for b in brackets], "proved": [b.low for b in brackets]}
    for end, values in ends.items():
        falls = sorted(v for v in values if math.isfinite(v))
        rows.append({"name": name, "end": end, "radius": 0.0, "share": 100.0})
        rows += [
            {"name": name, "end": end, "radius": v, "share": 100 * (n - i - 1) / n}
            for i, v in enumerate(falls)
        ]
        rows.append({"name": name, "end": end, "radius": most, "share": 100 * (n - len(falls)) / n})
    return rows


def times_figure(record: Record) -> str:
    """Seconds that each input took, against its proved radius."""
    import altair as alt

    tolerance = tolerance_of(record)
    kinds = ["closed", "open"] if tolerance is not None else ["refuted", "never refuted"]
    clock = "CPU seconds" if tolerance is not None else "seconds, from the file"
    limit = math.inf if tolerance is None else tolerance
    rows: list[Row] = [
        {"radius": b.low, "seconds": max(b.seconds, 1e-3),
         "kind": kinds[math.isinf(b.high) or not closed_to(b.low, b.high, limit)]}
        for _, b in brackets_of(record)
        if b.seconds is not None
    ]  # fmt: skip
    chart = (
        marks(rows)
        .mark_circle(size=36, opacity=0.8)
        .encode(
            x=alt.X("radius:Q", title="proved L∞ radius"),
            y=alt.Y("seconds:Q", title=clock, scale=alt.Scale(type="log")),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[STEADY, WEAK]),
                legend=legend_above(symbolOpacity=1),
            ),
        )
    )
    return svg(chart.properties(width=WIDTH, height=180))


_MOST = 6
"""Networks in words: a description is listened to."""


def describe_radii(records: Mapping[str, Record]) -> str:
    """Half of the inputs, and the quantile with its interval."""
    return " ".join(_radii(name, part) for name, part in list(records.items())[:_MOST])


def _radii(name: str, record: Record) -> str:
    brackets = [bracket for _, bracket in brackets_of(record)]
    refuted = sorted(b.high for b in brackets if math.isfinite(b.high))
    head = f"{name}: of" if name else "Of"
    line = f"{head} {len(brackets):,} inputs {len(refuted):,} have a counterexample"
    if refuted:
        line += f", at radii from {four_digits(refuted[0])} to {four_digits(refuted[-1])}"
    quantile = radii_in(record).quantiles[0].result
    if isinstance(quantile, Quantile) and math.isfinite(quantile.value):
        line += (
            f". The {percent(quantile.share)} quantile is {four_digits(quantile.value)} "
            f"({radius_range(quantile.interval)})"
        )
    return f"{line}."


def describe_accuracy(records: Mapping[str, Record]) -> str:
    """Robust accuracy at radius 0 and at the middle of the axis."""
    return " ".join(_accuracy(name, part) for name, part in list(records.items())[:_MOST])


def _accuracy(name: str, record: Record) -> str:
    brackets = [bracket for _, bracket in brackets_of(record)]
    ends = [x for b in brackets for x in (b.low, b.high) if math.isfinite(x)]
    if not ends or not brackets:
        return "No input has a bracket."
    lines = []
    for radius in (0.0, max(ends) / 2, max(ends)):
        proved = sum(b.low >= radius and b.high > 0 for b in brackets) / len(brackets)
        kept = sum(b.high > radius for b in brackets) / len(brackets)
        lines.append(
            f"at radius {four_digits(radius)} {percent(proved)} are proved and {percent(kept)} not "
            "refuted"
        )
    return f"{f'{name}: ' if name else 'Of the inputs, '}{'; '.join(lines)}."


def describe_times(record: Record) -> str:
    """The fastest and the slowest input."""
    spent = [b.seconds for _, b in brackets_of(record) if b.seconds is not None]
    if not spent:
        return "No time is known."
    return (
        f"Seconds of {len(spent):,} inputs against their proved radius, from {min(spent):.2g} to "
        f"{max(spent):.2g} seconds."
    )
