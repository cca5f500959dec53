"""Figures of many intervals of one quantile: a posterior, how often a radius is inside, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from surefoot.core.results import Interval
from surefoot.population.quantile_estimators import Posterior
from surefoot.report.figures import STEADY, WEAK

Steps = list[tuple[float, int]]
_COLUMNS, _WIDTH, _HEIGHT = 3, 190, 120
"""Panels in a row, and their size in pixels: three fit on a page."""


def times_inside(intervals: Sequence[Interval]) -> Steps:
    """How many intervals contain a radius, from each end to the next."""
    ends = sorted({end for i in intervals for end in (i.low, i.high)})
    counts = [sum(i.low <= (a + b) / 2 <= i.high for i in intervals) for a, b in pairwise(ends)]
    return [*zip(ends, counts, strict=False), (ends[-1], 0)]


def posterior_chart(networks: Mapping[str, tuple[Posterior, Interval]]) -> Any:  # noqa: ANN401  an object of Altair
    """The density of a posterior of each network, and the ground truth as two lines."""
    import altair as alt

    panels = []
    for name, (posterior, truth) in networks.items():
        edges = posterior.edges
        density = posterior.masses / posterior.masses.sum() / (edges[1] - edges[0])
        rows = [
            {"radius": float(e), "height": float(d)}
            for e, d in zip(edges, [*density, 0.0], strict=True)
        ]
        drawn = alt.Chart(alt.InlineData(values=rows)).mark_area(
            interpolate="step-after", color=STEADY, opacity=0.7
        )
        shape = drawn.encode(
            x=alt.X("radius:Q", title="quantile of the radius"),
            y=alt.Y("height:Q", title="density"),
        )
        panels.append(_panel(name, shape, truth))
    return alt.concat(*panels, columns=_COLUMNS)


def counts_chart(networks: Mapping[str, tuple[Steps, Interval]]) -> Any:  # noqa: ANN401  an object of Altair
    """How many intervals contain a radius, for each network, and the ground truth."""
    import altair as alt

    panels = []
    for name, (steps, truth) in networks.items():
        rows = [{"radius": radius, "count": count} for radius, count in steps]
        drawn = alt.Chart(alt.InlineData(values=rows)).mark_area(
            interpolate="step-after", color=STEADY, opacity=0.7, line=True
        )
        shape = drawn.encode(
            x=alt.X("radius:Q", title="radius"), y=alt.Y("count:Q", title="intervals")
        )
        panels.append(_panel(name, shape, truth))
    return alt.concat(*panels, columns=_COLUMNS)


def cumulative_chart(hours: Mapping[str, Sequence[float]]) -> Any:  # noqa: ANN401  an object of Altair
    """For each network the share of runs that took no longer than so many hours."""
    import altair as alt

    rows = [
        {"network": name, "hours": value, "share": 100 * i / len(times)}
        for name, times in hours.items()
        for i, value in enumerate([min(times), *sorted(times)])
    ]
    chart = alt.Chart(alt.InlineData(values=rows)).mark_line(interpolate="step-after")
    return chart.encode(
        x=alt.X("hours:Q", title="hours", scale=alt.Scale(zero=False)),
        y=alt.Y("share:Q", title="runs (%)", scale=alt.Scale(domain=[0, 100])),
        color=alt.Color(
            "network:N", title=None, sort=list(hours), scale=alt.Scale(scheme="tableau20")
        ),
    ).properties(width=560, height=300)


def _panel(name: str, shape: Any, truth: Interval) -> Any:  # noqa: ANN401  an object of Altair
    """One network: the shape, and two lines at the ends of the ground truth."""
    import altair as alt

    ends = alt.InlineData(values=[{"radius": end} for end in (truth.low, truth.high)])
    lines = alt.Chart(ends).mark_rule(color=WEAK, strokeWidth=2).encode(x="radius:Q")
    return (shape + lines).properties(width=_WIDTH, height=_HEIGHT, title=name)
