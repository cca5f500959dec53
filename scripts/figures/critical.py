"""The critical level: what a bracket says, and how little of it a quantile needs."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from figures.panels import OCHRE, figure, heading
from surefoot.core.counts import Proof
from surefoot.core.procedure import Session
from surefoot.graph.network import linear_layer
from surefoot.population import CriticalQuantile
from surefoot.report.figures import INK, STEADY, WEAK, svg
from surefoot.verify import BracketResult, Network, bracket_radius, dense_layer

WARM = "#f6e3da"
_COLUMNS = 70


def _network(seed: int, inputs: int, width: int, classes: int) -> Network:
    rng = np.random.default_rng(seed)
    hidden = [
        dense_layer(rng.normal(0, 1.4, (width, before)), rng.normal(0, 0.6, width), np.zeros(width))
        for before in (inputs, width)
    ]
    last = linear_layer(rng.normal(0, 1, (classes, width)), rng.normal(0, 0.3, classes))
    return Network((*hidden, last), (inputs,))


def critical_level() -> str:
    """A bracket in the plane; and brackets of forty inputs as a quantile needs them."""
    return svg(alt.hconcat(_plane(), _needed(), spacing=50).resolve_scale(color="independent"))


def _plane() -> Any:  # noqa: ANN401  a chart
    network, x = _network(3, 2, 12, 2), np.array([0.42, 0.55])
    found = bracket_radius(network, x, network.label(x), tolerance=0.002)
    cells = [row for k in range(_COLUMNS) for row in _runs(network, k, network.label(x))]
    plain = alt.Axis(grid=False, tickCount=5)
    unit = alt.Scale(domain=[0, 1], nice=False)
    across = alt.X("x:Q", title="first value", scale=unit, axis=plain)
    up = alt.Y("y:Q", title="second value", scale=unit, axis=plain)
    other = alt.Chart(alt.InlineData(values=cells)).mark_rect(color=WARM, stroke=WARM)
    regions = other.encode(x=across, x2="x2:Q", y=up, y2="y2:Q")
    boxes = [_box(x, found.low)]
    if found.witness is None:
        raise AssertionError("the image needs a counterexample")
    marks = [
        _mark(x, "circle", INK),
        _mark(found.witness, "cross", WEAK),
        _said(x + np.array([0.015, 0.0]), "input", INK),
        _said(found.witness + np.array([0.03, -0.01]), "nearest counterexample", WEAK),
        _said(x + np.array([-found.low, found.low + 0.03]), "proved: one label inside", STEADY),
        _said(np.array([0.03, 0.12]), "another label", "#a5674a"),
    ]
    title = heading("One input: proved inside, refuted at the corner")
    return alt.layer(regions, *boxes, *marks).properties(title=title, width=300, height=300)


def _runs(network: Network, column: int, label: int) -> list[dict[str, float]]:
    """Where a column of the plane has another label, as rectangles."""
    middle, ticks = (column + 0.5) / _COLUMNS, np.linspace(0, 1, 301)
    scores = np.column_stack([np.full(301, middle), ticks])
    for layer in network.layers:
        scores = layer(scores)
    other = np.r_[False, scores.argmax(axis=1) != label, False]
    begins, ends = np.flatnonzero(np.diff(other.astype(int))).reshape(-1, 2).T
    return [
        {"x": figure(column / _COLUMNS), "x2": figure((column + 1) / _COLUMNS),
         "y": figure(ticks[begin]), "y2": figure(ticks[end - 1])}
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
    ]  # fmt: skip


def _box(x: np.ndarray, radius: float) -> Any:  # noqa: ANN401  a chart
    (a, b), (c, d) = np.clip(x - radius, 0, 1), np.clip(x + radius, 0, 1)
    row = {"x": figure(a), "y": figure(b), "x2": figure(c), "y2": figure(d)}
    base = alt.Chart(alt.InlineData(values=[row])).mark_rect(
        stroke=STEADY, strokeWidth=2, fill=STEADY, fillOpacity=0.15
    )
    return base.encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q")


def _mark(at: np.ndarray, shape: str, colour: str) -> Any:  # noqa: ANN401  a chart
    row = {"x": figure(at[0]), "y": figure(at[1])}
    base = alt.Chart(alt.InlineData(values=[row]))
    return base.mark_point(shape=shape, size=70, filled=True, color=colour, opacity=1).encode(
        x="x:Q", y="y:Q"
    )


def _said(at: np.ndarray, text: str, colour: str) -> Any:  # noqa: ANN401  a chart
    row = {"x": figure(at[0]), "y": figure(at[1]), "text": text}
    base = alt.Chart(alt.InlineData(values=[row]))
    return base.mark_text(align="left", fontSize=11, color=colour).encode(
        x="x:Q", y="y:Q", text="text:N"
    )


def _needed() -> Any:  # noqa: ANN401  a chart
    """Forty inputs: their whole brackets, and what the quantile left of them to be done."""
    network, rng = _network(2, 6, 12, 3), np.random.default_rng(3)
    inputs = rng.random((40, 6))
    whole = [bracket_radius(network, x, network.label(x), tolerance=0.004) for x in inputs]
    session = Session(CriticalQuantile(0.004, quantile=0.2, size=len(inputs)))
    while session.question is not None:
        session.tell(
            [
                _proof(network, inputs[ask.start % len(inputs)], min(ask.level, 1.0))
                for ask in session.question
            ]
        )
    settled = session.result
    order = sorted(range(len(inputs)), key=lambda i: whole[i].low)
    rows = [
        {"place": place, "low": figure(bracket.low), "high": figure(min(bracket.high, 1.0)),
         "true": figure((whole[i].low + whole[i].high) / 2)}
        for place, i in enumerate(order, start=1)
        for bracket in [settled.brackets[i]]
    ]  # fmt: skip
    base = alt.Chart(alt.InlineData(values=rows))
    x = alt.X("place:Q", title="inputs, the least robust first", axis=alt.Axis(grid=False))
    y = alt.Y("low:Q", title="L∞ radius")
    spans = base.mark_rule(color=OCHRE, strokeWidth=4, opacity=0.7).encode(x=x, y=y, y2="high:Q")
    dots = base.mark_circle(color=INK, size=26, opacity=1).encode(x=x, y="true:Q")
    around = settled.quantile.interval
    level = alt.Chart(alt.InlineData(values=[{"a": figure(around.low), "b": figure(around.high)}]))
    band = level.mark_rect(color=STEADY, opacity=0.18).encode(y="a:Q", y2="b:Q")
    title = heading(
        "Forty inputs: what a quantile leaves open",
        "dots: critical radii; bars: left open; band: the 20 % quantile",
    )
    return (band + spans + dots).properties(title=title, width=330, height=270)


def _proof(network: Network, x: np.ndarray, goal: float) -> Proof:
    found: BracketResult = bracket_radius(network, x, network.label(x), tolerance=0.004, goal=goal)
    high = found.high if np.isfinite(found.high) else None
    return Proof(found.low, high, "", found.reason, found.nodes, 0.01)
