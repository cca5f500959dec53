"""One question over versions of a model: their numbers in the order of time, as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from surefoot.core import claims
from surefoot.core.claims import Height
from surefoot.core.results import UNIT
from surefoot.report.clauses import capitalised
from surefoot.report.figures import INK, STEADY, WEAK, marks
from surefoot.report.formatting import confidence, exact_percent, percent, percent_range
from surefoot.report.view import Figure

if TYPE_CHECKING:
    import altair as alt

Trended = (
    claims.AccuracySet
    | claims.AccuracyPopulation
    | claims.SuiteMean
    | claims.MeanSet
    | claims.MeanPopulation
)
"""Claims whose numbers make a trend: shares of trials, kept or failed."""
_HEIGHT = 260
_TURNED = 4
"""Names below the axis beyond which they are turned, so that none covers the next."""


@dataclass(frozen=True)
class Version:
    """One version: its name on the axis, what is claimed of it, and its clean accuracy."""

    name: str
    claim: Trended
    clean: float | None = None


def trend_figure(versions: Sequence[Version], required: float | None) -> Figure:
    """The versions from left to right; all of them are claims of one kind at one confidence."""
    first = versions[0].claim
    fails = isinstance(first, claims.MeanSet | claims.MeanPopulation)
    quantity = str(first.height) if isinstance(first, claims.SuiteMean) else str(Height.ACCURACY)
    quantity = "failure probability" if fails else quantity
    limit = 1 - required if fails and required is not None else required
    clean = [one.clean if quantity == Height.ACCURACY else None for one in versions]
    words = [f"{capitalised(quantity)} when perturbed, each interval by itself"]
    if first.guarantee.error:
        words = [f"{words[0]} at confidence {confidence(first.guarantee.error)}"]
    if any(one is not None for one in clean):
        words.append("Diamonds: clean accuracy")
    if limit is not None:
        words.append(f"Dashed: at {'most' if fails else 'least'} {exact_percent(limit)} required")
    numbers = [
        f"{one.name}: {percent(one.claim.value or 0)} ({percent_range(one.claim.interval or UNIT)})"
        for one in versions
    ]
    return Figure(
        partial(_chart, versions, clean, f"{quantity} (%)", limit),
        ". ".join([*words, "Whether two versions differ is what surefoot compare measures."]),
        "trend",
        "; ".join(numbers),
    )


def _chart(
    versions: Sequence[Version], clean: Sequence[float | None], title: str, limit: float | None
) -> alt.LayerChart:
    import altair as alt

    rows = [
        {
            "version": one.name,
            "value": 100 * (one.claim.value or 0),
            "low": 100 * (one.claim.interval or UNIT).low,
            "high": 100 * (one.claim.interval or UNIT).high,
            "clean": None if share is None else 100 * share,
        }
        for one, share in zip(versions, clean, strict=True)
    ]
    angle = -35 if len(versions) > _TURNED else 0
    names = alt.Axis(title=None, labelAngle=angle, labelLimit=110, labelOverlap=True, grid=False)
    x = alt.X("version:N", sort=[one.name for one in versions], axis=names)
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False, nice=True, padding=6))
    base = marks(rows)
    layers = [
        base.mark_line(color=STEADY, strokeWidth=1, opacity=0.5).encode(x=x, y=y),
        base.mark_rule(color=STEADY, strokeWidth=3, opacity=0.5).encode(
            x=x, y="low:Q", y2="high:Q"
        ),
        base.mark_circle(color=STEADY, size=70, opacity=1).encode(x=x, y=y),
        base.transform_filter("datum.clean != null")
        .mark_point(shape="diamond", color=INK, size=60)
        .encode(x=x, y="clean:Q"),
    ]
    if limit is not None:
        line = marks([{"limit": 100 * limit}])
        layers.append(line.mark_rule(color=WEAK, strokeDash=[5, 4]).encode(y="limit:Q"))
    chart = alt.LayerChart(layer=layers)
    return chart.properties(height=_HEIGHT)
