"""Figures as Vega-Lite data, drawn to SVG without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.population import sound
from surefoot.report.kinds import population_of
from surefoot.results import Decision, Estimate, ExtrapolatedMean, Extrapolation, Result, Undecided
from surefoot.store.records import Record

INK, GRID, STEADY, WEAK, QUIET = "#1f2933", "#e4e7eb", "#2f6f8f", "#b4442c", "#9aa5b1"
_BINS = 20
_FLOOR = 1e-12


def local_results(record: Record) -> str:
    """What was found input by input: a histogram of values, or how many decisions of each kind."""
    decides = record.spec["population"]["kind"] == "robust-share"
    return decisions(record) if decides else histogram(record)


def decisions(record: Record) -> str:
    """How many inputs were declared robust, fragile, or stayed undecided."""
    import altair as alt

    kinds = ["robust", "fragile", "undecided"]
    counts = dict.fromkeys(kinds, 0)
    for row in record.local:
        match row.result:
            case Decision(holds=holds):
                counts["robust" if holds else "fragile"] += 1
            case _:
                counts["undecided"] += 1
    rows = [{"kind": kind, "inputs": counts[kind]} for kind in kinds]
    base = alt.Chart(alt.InlineData(values=rows))
    y = alt.Y("kind:N", sort=kinds, title=None)
    x = alt.X("inputs:Q", title="inputs", scale=alt.Scale(domain=[0, 1.08 * len(record.local)]))
    shade = alt.Scale(domain=kinds, range=[STEADY, WEAK, QUIET])
    bars = base.mark_bar(height=22).encode(
        y=y, x=x, color=alt.Color("kind:N", scale=shade, legend=None)
    )
    labels = base.mark_text(align="left", dx=5, color=INK).encode(y=y, x=x, text="inputs:Q")
    return svg((bars + labels).properties(width=600, height=alt.Step(34)))


def histogram(record: Record) -> str:
    """How many inputs have which local robustness; those that never slipped apart."""
    import altair as alt

    values = np.array([v for r in record.local if (v := _value(r.result)) is not None])
    slipped = values[values < 1]
    edges = np.linspace(0, 1, _BINS + 1)
    counts, _ = np.histogram(slipped, edges)
    rows: list[dict[str, Any]] = [
        {"low": 100 * a, "high": 100 * b, "inputs": int(n), "kind": "slipped at least once"}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    rows.append(
        {"low": 101.5, "high": 106.5, "inputs": int((values == 1).sum()), "kind": "never slipped"}
    )
    highest = max(int(row["inputs"]) for row in rows)
    base = alt.Chart(alt.InlineData(values=rows))
    bars = base.mark_rect(stroke="white", strokeWidth=1).encode(
        x=alt.X(
            "low:Q",
            title="share of perturbations under which the input holds (%)",
            scale=alt.Scale(domain=[0, 107]),
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
            scale=alt.Scale(
                domain=["slipped at least once", "never slipped"], range=[WEAK, STEADY]
            ),
            legend=alt.Legend(title=None, orient="top-left", direction="vertical"),
        ),
    )
    labels = (
        base.transform_filter("datum.inputs > 0")
        .transform_calculate(middle="(datum.low + datum.high) / 2")
        .mark_text(dy=-6, fontSize=10, color=INK)
        .encode(x="middle:Q", y="inputs:Q", text="inputs:Q")
    )
    return svg((bars + labels).properties(width=640, height=240))


def _value(result: Result) -> float | None:
    match result:
        case Estimate(value=value):
            return value
        case Extrapolation(counted=counted) | Undecided(counted=Estimate() as counted):
            return counted.value
        case _:
            return None


def class_intervals(record: Record) -> str:
    """Each class's quantity with its interval; a diamond where a value is extrapolated."""
    import altair as alt

    rows: list[dict[str, Any]] = [
        {
            "class": row.name,
            "value": 100 * plain.value,
            "low": 100 * plain.interval.low,
            "high": 100 * plain.interval.high,
            "guess": 100 * row.result.value if isinstance(row.result, ExtrapolatedMean) else None,
        }
        for row in record.classes
        if isinstance(plain := sound(row.result), Estimate)
    ]
    order = [str(row["class"]) for row in sorted(rows, key=lambda r: r["value"])]
    y = alt.Y("class:N", sort=order, title=None)
    x = alt.X(
        "low:Q",
        title=f"{population_of(record).quantity} in the class (%)",
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

    fitted = [row.result for row in record.local if isinstance(row.result, Extrapolation)]
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
    x = alt.X("place:Q", title="inputs, the least robust first", scale=alt.Scale(nice=False))
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
