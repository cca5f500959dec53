"""Figures as Vega-Lite data, drawn to SVG without a browser."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.claims import About
from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.report.tables import quantity_heading
from surefoot.results import (
    Bracket,
    Decision,
    Estimate,
    ExtrapolatedMean,
    Extrapolation,
    InputResult,
    Undecided,
)
from surefoot.store.records import Record, Samples

INK, GRID, STEADY, WEAK, QUIET = "#1f2933", "#e4e7eb", "#2f6f8f", "#b4442c", "#9aa5b1"
_BINS = 20
_FLOOR = 1e-12


def local_results(record: Record) -> str:
    """What was found input by input, drawn."""
    return svg(local_chart(record))


def local_chart(record: Record) -> Any:  # noqa: ANN401
    """A histogram of failure probabilities, or how many decisions of each kind."""
    decides = record.spec["population"]["kind"] == "robust-share"
    return _decisions(record) if decides else _histogram(record)


def _decisions(record: Record) -> Any:  # noqa: ANN401
    """How many inputs were decided to be below the limit, above it, or stayed undecided."""
    counts = {"below the limit": 0, "above": 0, "undecided": 0}
    for row in record.inputs:
        match row.result:
            case Decision(holds=holds):
                counts["below the limit" if holds else "above"] += 1
            case _:
                counts["undecided"] += 1
    return _bars(counts, [STEADY, WEAK, QUIET], len(record.inputs))


def attack_chart(record: Record) -> Any:  # noqa: ANN401
    """How many inputs an attack broke, and how many not."""
    broken = sum(isinstance(r.result, Bracket) and r.result.high < inf for r in record.inputs)
    counts = {"not broken": len(record.inputs) - broken, "broken": broken}
    return _bars(counts, [STEADY, WEAK], len(record.inputs))


def _bars(counts: dict[str, int], colours: list[str], most: int) -> Any:  # noqa: ANN401
    import altair as alt

    kinds = list(counts)
    rows = [{"kind": kind, "inputs": counts[kind]} for kind in kinds]
    base = alt.Chart(alt.InlineData(values=rows))
    y = alt.Y("kind:N", sort=kinds, title=None)
    x = alt.X("inputs:Q", title="inputs", scale=alt.Scale(domain=[0, 1.08 * most]))
    shade = alt.Scale(domain=kinds, range=colours)
    bars = base.mark_bar(height=22).encode(
        y=y, x=x, color=alt.Color("kind:N", scale=shade, legend=None)
    )
    labels = base.mark_text(align="left", dx=5, color=INK).encode(y=y, x=x, text="inputs:Q")
    return (bars + labels).properties(width=600, height=alt.Step(34))


def _histogram(record: Record) -> Any:  # noqa: ANN401
    """How many inputs fail how often; those that failed in no trial apart."""
    import altair as alt

    values = np.array([1 - v for r in record.inputs if (v := _value(r.result)) is not None])
    edges = np.linspace(0, 1, _BINS + 1)
    counts, _ = np.histogram(values[values > 0], edges)
    failed, never = "failed at least once", "failed in no trial"
    rows: list[dict[str, Any]] = [
        {"low": 100 * a, "high": 100 * b, "inputs": int(n), "kind": failed}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    rows.append({"low": -6.5, "high": -1.5, "inputs": int((values == 0).sum()), "kind": never})
    highest = max(int(row["inputs"]) for row in rows)
    base = alt.Chart(alt.InlineData(values=rows))
    bars = base.mark_rect(stroke="white", strokeWidth=1).encode(
        x=alt.X(
            "low:Q",
            title="share of perturbations under which the input fails (%)",
            scale=alt.Scale(domain=[-7, 100]),
            axis=alt.Axis(values=list(range(0, 101, 10))),
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
            legend=alt.Legend(title=None, orient="top-right", direction="vertical"),
        ),
    )
    labels = (
        base.transform_filter("datum.inputs > 0")
        .transform_calculate(middle="(datum.low + datum.high) / 2")
        .mark_text(dy=-6, fontSize=10, color=INK)
        .encode(x="middle:Q", y="inputs:Q", text="inputs:Q")
    )
    return (bars + labels).properties(width=640, height=240)


def _value(result: InputResult) -> float | None:
    match result:
        case Estimate(value=value):
            return value
        case Extrapolation(counted=counted) | Undecided(counted=Estimate() as counted):
            return counted.value
        case _:
            return None


def class_intervals(record: Record, found: Samples) -> str:
    """Each class's claim with its interval; a diamond where a value is extrapolated."""
    import altair as alt

    guesses = {
        row.name: 100 * row.result.failure
        for row in found.classes
        if isinstance(row.result, ExtrapolatedMean)
    }
    rows: list[dict[str, Any]] = [
        {
            "class": claim.about.name,
            "value": 100 * claim.value,
            "low": 100 * claim.interval.low,
            "high": 100 * claim.interval.high,
            "guess": guesses.get(claim.about.name),
        }
        for claim in record.claims
        if claim.about.of is About.CLASS and claim.interval is not None and claim.value is not None
    ]
    order = [str(row["class"]) for row in sorted(rows, key=lambda r: r["value"])]
    y = alt.Y("class:N", sort=order, title=None)
    x = alt.X(
        "low:Q",
        title=f"{quantity_heading(record)} in the class (%)",
        scale=alt.Scale(domain=[0, 100]),
    )
    base = alt.Chart(alt.InlineData(values=rows))
    lines = base.mark_rule(strokeWidth=3, color=STEADY, opacity=0.5).encode(y=y, x=x, x2="high:Q")
    dots = base.mark_circle(size=70, color=STEADY, opacity=1).encode(y=y, x="value:Q")
    guesses = (
        base.transform_filter("datum.guess != null")
        .mark_point(shape="diamond", size=60, color=WEAK, strokeWidth=2)
        .encode(y=y, x="guess:Q")
    )
    return svg((lines + dots + guesses).properties(width=560, height=alt.Step(22)))


def tails(record: Record) -> str:
    """What each input's tail says of failing, over what its count leaves possible."""
    import altair as alt

    fitted = [row.result for row in record.inputs if isinstance(row.result, Extrapolation)]
    fitted.sort(key=lambda r: (-r.failure, -r.counted.value))
    rows = [
        {
            "place": i + 1,
            "guess": max(r.failure, _FLOOR),
            "low": max(1 - r.counted.interval.high, _FLOOR),
            "high": max(1 - r.counted.interval.low, _FLOOR),
            "kind": "contradicts its count" if r.contradicted else "extrapolated",
        }
        for i, r in enumerate(fitted)
    ]
    base = alt.Chart(alt.InlineData(values=rows))
    x = alt.X("place:Q", title="inputs, the weakest first", scale=alt.Scale(nice=False))
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
        y="guess:Q",
        color=alt.Color("kind:N", scale=shade, legend=alt.Legend(title=None, orient="top-right")),
    )
    return svg((lines + dots).properties(width=640, height=260))


FIGURES = (".svg", ".png", ".json")


def check_figure(name: str) -> None:
    """Refuse, before hours of work, a figure of a kind that cannot be drawn."""
    if not name.endswith(FIGURES):
        raise InvalidArgument(f"a figure is written as {', '.join(FIGURES)}, got {name}")


def write_figure(chart: Any, where: Path) -> Path:  # noqa: ANN401
    """The chart as .svg, .png, or as Vega-Lite .json."""
    check_figure(where.name)
    if where.suffix == ".json":
        content = json.dumps(chart.to_dict()).encode()
    elif where.suffix == ".svg":
        content = svg(chart).encode()
    else:
        import vl_convert

        content = vl_convert.svg_to_png(svg(chart), scale=2)
    try:
        where.write_bytes(content)
    except OSError as error:
        raise ReportFailed(f"{where} cannot be written ({error.strerror or error})") from error
    return where


def svg(chart: Any) -> str:  # noqa: ANN401
    """The chart drawn, in the look that all figures share."""
    import vl_convert

    shown = (
        chart.configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            gridColor=GRID,
            domainColor=GRID,
            tickColor=GRID,
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
            labelLimit=200,
        )
        .configure_legend(labelColor=INK, labelFontSize=11)
    )
    svg: str = vl_convert.vegalite_to_svg(shown.to_dict())
    return svg
