"""The figure of a comparison: of models, or of levels."""

from __future__ import annotations

import math
from typing import Any

from surefoot.core.results import Estimate, ExtrapolatedMean, Interval
from surefoot.population import sound
from surefoot.records.record import Comparison, Record
from surefoot.report.figures import ABOVE, NARROW, STEADY, WEAK, WIDTH
from surefoot.report.formatting import four_digits, percent, percent_range
from surefoot.report.tables import quantity_heading

_IN_WORDS = 12
"""Models or levels in words: a description is listened to."""


def comparison_chart(record: Record, comparison: Comparison) -> Any:  # noqa: ANN401  an object of Altair
    """Models below each other, or the quantity against the level."""
    return (
        _models(record, comparison) if comparison.along == "model" else _levels(record, comparison)
    )


def _points_of(record: Record, comparison: Comparison) -> list[dict[str, Any]]:
    """Failure probabilities, or robust shares where these are the quantity; in percent."""
    shares = record.study.method.number("kappa") is not None

    def percent(kept: float) -> float:
        return 100 * (kept if shares else 1 - kept)

    return [
        {
            "name": m.name,
            "level": m.level,
            "value": percent(estimate.value),
            "low": min(percent(estimate.interval.low), percent(estimate.interval.high)),
            "high": max(percent(estimate.interval.low), percent(estimate.interval.high)),
            "extrapolated": 100 * m.whole.failure
            if isinstance(m.whole, ExtrapolatedMean)
            else None,
        }
        for m in comparison.members
        if m.whole is not None and isinstance(estimate := sound(m.whole), Estimate)
    ]


def describe_comparison(record: Record, comparison: Comparison) -> str:
    """Every model or level with its value and interval."""
    rows = _points_of(record, comparison)
    words = [
        f"{row['name'] if comparison.along == 'model' else four_digits(row['level'])}: "
        f"{percent(row['value'] / 100)} "
        f"({percent_range(Interval(row['low'] / 100, row['high'] / 100))})"
        for row in rows[:_IN_WORDS]
    ]
    more = len(rows) - _IN_WORDS
    words += [f"{more} more"] if more > 0 else []
    what = "by model" if comparison.along == "model" else "by level"
    return f"{quantity_heading(record).capitalize()} {what}: {'; '.join(words)}."


def _models(record: Record, comparison: Comparison) -> Any:  # noqa: ANN401  an object of Altair
    """Each model with its interval, the most robust on top."""
    import altair as alt

    base = alt.Chart(alt.InlineData(values=_points_of(record, comparison)))
    y = alt.Y("name:N", sort=[m.name for m in comparison.members], title=None)
    x = alt.X("low:Q", title=f"{quantity_heading(record)} (%)", scale=alt.Scale(zero=False))
    lines = base.mark_rule(strokeWidth=3, color=STEADY, opacity=0.5).encode(y=y, x=x, x2="high:Q")
    dots = base.mark_circle(size=70, color=STEADY, opacity=1).encode(y=y, x="value:Q")
    return (lines + dots + _diamonds(base, y, "extrapolated:Q")).properties(
        width=NARROW, height=alt.Step(26)
    )


def _levels(record: Record, comparison: Comparison) -> Any:  # noqa: ANN401  an object of Altair
    """The quantity against the level, with its intervals; what is extrapolated is dashed."""
    import altair as alt

    points = _points_of(record, comparison)
    dashed = any(p["extrapolated"] is not None for p in points)
    base = alt.Chart(alt.InlineData(values=points))
    x = alt.X("level:Q", title="level of the perturbation")
    most = max((p["high"] for p in points), default=100.0)
    y = alt.Y(
        "low:Q",
        title=f"{quantity_heading(record)} (%)",
        scale=alt.Scale(domain=[0, min(100.0, 10 * math.ceil(most / 10))], nice=False),
    )
    bars = base.mark_rule(strokeWidth=4, color=STEADY, opacity=0.35).encode(x=x, y=y, y2="high:Q")
    names = [f"{'counted' if dashed else 'estimated'}, with its interval at each level"]
    names += ["extrapolated, without any guarantee"] * dashed
    legend = alt.Legend(
        title=None, orient="top", offset=ABOVE, labelLimit=300, symbolSize=300, columns=1
    )
    shade = alt.Scale(domain=names, range=[STEADY, WEAK][: len(names)])
    dash = alt.Scale(domain=names, range=[[1, 0], [5, 4]][: len(names)])

    def line(column: str, name: str) -> Any:  # noqa: ANN401  an object of Altair
        named = base.transform_filter(f"datum.{column} != null").transform_calculate(
            what=f"'{name}'"
        )
        return named.mark_line(strokeWidth=1.5).encode(
            x=x,
            y=f"{column}:Q",
            color=alt.Color("what:N", scale=shade, legend=legend if dashed else None),
            strokeDash=alt.StrokeDash("what:N", scale=dash, legend=legend if dashed else None),
        )

    dots = base.mark_circle(size=60, color=STEADY, opacity=1).encode(x=x, y="value:Q")
    layers = bars + line("value", names[0]) + dots
    if dashed:
        layers += line("extrapolated", names[1]) + _diamonds(base, "extrapolated:Q", x)
    return layers.properties(width=WIDTH, height=240)


def _diamonds(base: Any, y: Any, x: Any) -> Any:  # noqa: ANN401  an object of Altair
    """Diamonds where a value is extrapolated."""
    drawn = base.transform_filter("datum.extrapolated != null")
    return drawn.mark_point(shape="diamond", size=60, color=WEAK, strokeWidth=2).encode(x=x, y=y)
