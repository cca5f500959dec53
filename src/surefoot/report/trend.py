"""One question over versions of a model: their numbers in the order of time, as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from surefoot.core import claims
from surefoot.core.claims import Height
from surefoot.core.results import UNIT
from surefoot.report import alt
from surefoot.report.clauses import capitalised
from surefoot.report.figures import INK, STEADY, WEAK, Row, interval_row, marks
from surefoot.report.formatting import confidence, exact_percent, percent, percent_range
from surefoot.report.view import Figure

_Failed = claims.MeanSet | claims.MeanPopulation
Trended = claims.AccuracySet | claims.AccuracyPopulation | claims.SuiteMean | _Failed
"""Claims whose numbers make a trend: shares of trials, kept or failed."""
_TURNED = 4
"""Names below the axis beyond which they are turned, so that none covers the next."""


def trend_figure(
    versions: Mapping[str, Trended], clean: Sequence[float | None], required: float | None
) -> Figure:
    """The versions from left to right; all of them are claims of one kind at one confidence."""
    first = next(iter(versions.values()))
    fails = isinstance(first, _Failed)
    kept = first.height if isinstance(first, claims.SuiteMean) else Height.ACCURACY
    quantity = "failure probability" if fails else str(kept)
    limit = 1 - required if fails and required is not None else required
    rows = [
        interval_row("version", name, one.value or 0.0, one.interval or UNIT)
        | {"clean": None if share is None or quantity != Height.ACCURACY else 100 * share}
        for (name, one), share in zip(versions.items(), clean, strict=True)
    ]
    sure = confidence(first.guarantee.error) if first.guarantee.error else ""
    words = [
        f"{capitalised(quantity)} when perturbed, each interval by itself"
        f"{f' at confidence {sure}' if sure else ''}",
        "Diamonds: clean accuracy" if any(row["clean"] is not None for row in rows) else "",
        ""
        if limit is None
        else f"Dashed: at {'most' if fails else 'least'} {exact_percent(limit)} required",
        "Whether two versions differ is what surefoot compare measures.",
    ]
    numbers = [
        f"{name}: {percent(one.value or 0.0)} ({percent_range(one.interval or UNIT)})"
        for name, one in versions.items()
    ]
    draw = partial(_chart, rows, f"{quantity} (%)", limit)
    return Figure(draw, ". ".join(filter(None, words)), "trend", "; ".join(numbers))


def _chart(rows: Sequence[Row], title: str, limit: float | None) -> alt.LayerChart:
    angle = -35 if len(rows) > _TURNED else 0
    names = alt.Axis(title=None, labelAngle=angle, labelLimit=110, labelOverlap=True, grid=False)
    x = alt.X("version:N", sort=[str(row["version"]) for row in rows], axis=names)
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False, nice=True, padding=6))
    base = marks(rows)
    ends = base.mark_rule(color=STEADY, strokeWidth=3, opacity=0.5)
    clean = base.transform_filter("datum.clean != null")
    layers = [
        base.mark_line(color=STEADY, strokeWidth=1, opacity=0.5).encode(x=x, y=y),
        ends.encode(x=x, y="low:Q", y2="high:Q"),
        base.mark_circle(color=STEADY, size=70, opacity=1).encode(x=x, y=y),
        clean.mark_point(shape="diamond", color=INK, size=60).encode(x=x, y="clean:Q"),
    ]
    if limit is not None:
        line = marks([{"limit": 100 * limit}])
        layers.append(line.mark_rule(color=WEAK, strokeDash=[5, 4]).encode(y="limit:Q"))
    return alt.LayerChart(layer=layers).properties(height=260)
