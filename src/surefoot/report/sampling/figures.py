"""Figures of a study that sampled: failure probabilities, decisions, classes and tails."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.claims import About
from surefoot.core.results import (
    Decision,
    Estimate,
    ExtrapolatedMean,
    Extrapolation,
    InputResult,
    Undecided,
)
from surefoot.records.record import Record, Samples
from surefoot.report.figures import (
    ABOVE,
    INK,
    NARROW,
    QUIET,
    STEADY,
    TEXT,
    WEAK,
    WIDTH,
    bar_chart,
    svg,
)
from surefoot.report.sampling.few_trials import count_inputs, few_trials_words
from surefoot.report.tables import quantity_heading

_BINS = 20
"""Bars of the histogram: 5 percentage points each."""
_NONE = -9
"""Where the bar of inputs that failed in no trial stands: apart from the scale, not on it."""
MOST_CLASSES = 20
"""Classes in a figure, the weakest first: the table has all."""
_MOST_MARKS = 250
"""Inputs of a kind in a figure of extrapolations: more lie on each other, and take seconds."""
_FLOOR = 1e-12
"""Failure probabilities below this are drawn at it: a logarithmic axis has no zero."""


def inputs_chart(record: Record) -> Any:  # noqa: ANN401  an object of Altair
    """A histogram of failure probabilities, or how many inputs of each kind."""
    population = record.study.population
    if population is not None and population.kind == "robust-share":
        return _decisions(record)
    if few_trials_words(record):
        counts = count_inputs(record)
        return bar_chart(counts, [STEADY, WEAK], sum(counts.values()))
    return _histogram(record)


def _decisions(record: Record) -> Any:  # noqa: ANN401  an object of Altair
    """How many inputs were decided to be below the limit, above it, or stayed undecided."""
    return bar_chart(count_decisions(record), [STEADY, WEAK, QUIET], len(record.inputs))


def count_decisions(record: Record) -> dict[str, int]:
    """How many inputs are below the limit, above it, or undecided."""
    counts = {"below the limit": 0, "above": 0, "undecided": 0}
    for row in record.inputs:
        match row.result:
            case Decision(holds=holds):
                counts["below the limit" if holds else "above"] += 1
            case _:
                counts["undecided"] += 1
    return counts


def failure_shares(record: Record) -> NDArray[np.float64]:
    """The share of perturbations under which an input failed, of each that has an estimate."""
    return np.array([1 - v for r in record.inputs if (v := _value(r.result)) is not None])


def _histogram(record: Record) -> Any:  # noqa: ANN401  an object of Altair
    """How many inputs fail how often; those that failed in no trial apart."""
    import altair as alt

    values = failure_shares(record)
    edges = np.linspace(0, 1, _BINS + 1)
    counts, _ = np.histogram(values[values > 0], edges)
    failed, never = "failed at least once", "failed in no trial"
    rows: list[dict[str, Any]] = [
        {"low": 100 * a, "high": 100 * b, "inputs": int(n), "kind": failed}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    rows.append(
        {"low": _NONE - 2.5, "high": _NONE + 2.5, "inputs": int((values == 0).sum()), "kind": never}
    )
    highest = max(int(row["inputs"]) for row in rows)
    ticks, words = [_NONE, *range(0, 101, 20)], "datum.value < 0 ? 'none' : datum.value"
    axis = alt.Axis(values=ticks, tickCount=len(ticks), labelExpr=words, grid=False)
    base = alt.Chart(alt.InlineData(values=rows))
    bars = base.mark_rect(stroke="white", strokeWidth=1).encode(
        x=alt.X(
            "low:Q",
            title="share of perturbations under which the input fails (%)",
            scale=alt.Scale(domain=[_NONE - 3, 100], nice=False),
            axis=axis,
        ),
        x2="high:Q",
        y=alt.Y(
            "inputs:Q",
            title="inputs (square-root scale)",
            scale=alt.Scale(type="sqrt", domain=[0, highest * 1.2 + 0.5]),
        ),
        y2=alt.Y2Datum(0),
        color=alt.Color(
            "kind:N",
            scale=alt.Scale(domain=[never, failed], range=[STEADY, WEAK]),
            legend=alt.Legend(title=None, orient="top", offset=ABOVE),
        ),
    )
    labels = (
        base.transform_filter("datum.inputs > 0")
        .transform_calculate(middle="(datum.low + datum.high) / 2")
        .mark_text(dy=-7, fontSize=TEXT, color=INK)
        .encode(x="middle:Q", y="inputs:Q", text="inputs:Q")
    )
    return (bars + labels).properties(width=WIDTH, height=220)


def _value(result: InputResult) -> float | None:
    match result:
        case Estimate(value=value):
            return value
        case Extrapolation(counted=counted) | Undecided(counted=Estimate() as counted):
            return counted.value
        case _:
            return None


def class_figure(record: Record, samples: Samples) -> str:
    """The weakest classes with their intervals; a diamond where a value is extrapolated."""
    import altair as alt

    extrapolated = {
        row.name: 100 * row.result.failure
        for row in samples.classes
        if isinstance(row.result, ExtrapolatedMean)
    }
    rows: list[dict[str, Any]] = [
        {
            "class": claim.about.name,
            "value": 100 * claim.value,
            "low": 100 * claim.interval.low,
            "high": 100 * claim.interval.high,
            "extrapolated": extrapolated.get(claim.about.name),
        }
        for claim in record.claims
        if claim.about.of is About.CLASS and claim.interval is not None and claim.value is not None
    ]
    robust = record.study.method.number("kappa") is not None
    rows.sort(key=lambda row: row["value"], reverse=not robust)
    rows = rows[:MOST_CLASSES]
    order = [str(row["class"]) for row in rows]
    y = alt.Y("class:N", sort=order, title=None)
    x = alt.X(
        "low:Q",
        title=f"{quantity_heading(record)} (%)",
        scale=alt.Scale(domain=[0, 100]),
    )
    base = alt.Chart(alt.InlineData(values=rows))
    lines = base.mark_rule(strokeWidth=3, color=STEADY, opacity=0.5).encode(y=y, x=x, x2="high:Q")
    dots = base.mark_circle(size=70, color=STEADY, opacity=1).encode(y=y, x="value:Q")
    diamonds = (
        base.transform_filter("datum.extrapolated != null")
        .mark_point(shape="diamond", size=60, color=WEAK, strokeWidth=2)
        .encode(y=y, x="extrapolated:Q")
    )
    return svg((lines + dots + diamonds).properties(width=NARROW, height=alt.Step(22)))


def extrapolations(record: Record) -> list[tuple[int, Extrapolation]]:
    """The inputs with an extrapolation, with their ranks, the weakest first.

    Of many some are left out, evenly by rank: of those that contradict their count apart.
    """
    fitted = [row.result for row in record.inputs if isinstance(row.result, Extrapolation)]
    fitted.sort(key=lambda r: (-r.failure, -r.counted.value))
    kinds: dict[bool, list[tuple[int, Extrapolation]]] = {False: [], True: []}
    for i, result in enumerate(fitted):
        kinds[result.contradicted].append((i + 1, result))
    return [one for same in kinds.values() for one in same[:: -(-len(same) // _MOST_MARKS) or 1]]


def tail_figure(record: Record) -> str:
    """Each input's extrapolated failure probability, over the interval of its count."""
    import altair as alt

    rows = [
        {
            "rank": rank,
            "extrapolated": max(r.failure, _FLOOR),
            "low": max(1 - r.counted.interval.high, _FLOOR),
            "high": max(1 - r.counted.interval.low, _FLOOR),
            "kind": "contradicts its count" if r.contradicted else "extrapolated",
        }
        for rank, r in extrapolations(record)
    ]
    base = alt.Chart(alt.InlineData(values=rows))
    whole = alt.Axis(format=",d", tickMinStep=1, tickCount=6, grid=False)
    x = alt.X("rank:Q", title="inputs, the weakest first", scale=alt.Scale(nice=False), axis=whole)
    y = alt.Y(
        "low:Q",
        title="probability of failure",
        scale=alt.Scale(type="log", domain=[_FLOOR, 1]),
        axis=alt.Axis(format=".0e", tickCount=8),
    )
    lines = base.mark_rule(strokeWidth=2, color=QUIET, opacity=0.6).encode(x=x, y=y, y2="high:Q")
    shade = alt.Scale(domain=["extrapolated", "contradicts its count"], range=[STEADY, WEAK])
    dots = base.mark_point(size=36, filled=True, opacity=1).encode(
        x=x,
        y="extrapolated:Q",
        color=alt.Color(
            "kind:N", scale=shade, legend=alt.Legend(title=None, orient="top", offset=ABOVE)
        ),
    )
    return svg((lines + dots).properties(width=WIDTH, height=240))
