"""RoMA's extrapolation beside the truth, where the truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import altair as alt
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr, ndtr

from figures.panels import OCHRE, Drawing, beside, heading, note
from surefoot.core.counts import Counts, Severities
from surefoot.core.results import Extrapolation, Undecided
from surefoot.report.figures import INK, STEADY
from surefoot.statistics import NormalTail, clopper_pearson

Floats = NDArray[np.float64]
DRAWS, RUNS, LIMIT, RARE = 1000, 200, 0.6, 0.001
COUNTED = 1 - clopper_pearson(Counts(DRAWS, DRAWS), 0.05).low
CENTRE, SPREAD = -4.0, 1.0


def logit_normal(rng: np.random.Generator) -> Floats:
    """Severities as softmax gives them when logits are normal."""
    severities: Floats = expit(rng.normal(CENTRE, SPREAD, DRAWS))
    return severities


def second_mode(rng: np.random.Generator) -> Floats:
    """Normal severities; one trial in a thousand is of another kind, beyond the limit."""
    usual, other = rng.normal(0.2, 0.04, DRAWS), rng.normal(0.7, 0.02, DRAWS)
    return np.where(rng.random(DRAWS) < RARE, other, usual)


def normal_tail() -> str:
    """Where the extrapolations of many samples lie, with the truth and the counted bound."""
    beyond = float(ndtr(-(math.log(LIMIT / (1 - LIMIT)) - CENTRE) / SPREAD))
    return beside(
        _panel("Logit-normal severities", logit_normal, beyond, (-7, -2), 0.25),
        _panel("A second mode of 0.1 %", second_mode, RARE, (-28, 0), 1.0),
    )


def _panel(
    title: str,
    draw: Callable[[np.random.Generator], Floats],
    truth: float,
    span: tuple[int, int],
    step: float,
) -> Drawing:
    rng = np.random.default_rng(20240607)
    results = [_concluded(draw(rng)) for _ in range(RUNS)]
    passed = [r for r in results if isinstance(r, Extrapolation)]
    powers = np.array([log_ndtr(-r.z) / math.log(10) for r in passed])
    counts, edges = np.histogram(powers, np.arange(span[0], span[1] + step, step))
    tallest = int(counts.max())
    true, most = math.log10(truth), math.log10(COUNTED)
    free = true if true < sum(span) / 2 else span[0]
    line = alt.Chart(alt.InlineData(values=[{"x": true}])).mark_rule(color=INK, strokeWidth=2)
    bar = alt.Chart(alt.InlineData(values=[{"a": span[0], "b": most, "y": 1.14 * tallest}]))
    layers = (
        _bars(counts.tolist(), edges.tolist(), span),
        line.encode(x="x:Q"),
        bar.mark_rule(color=STEADY, strokeWidth=5).encode(x="a:Q", x2="b:Q", y="y:Q"),
        note(true, 1.42 * tallest, "truth", align="right"),
        note(free, 1.24 * tallest, f"counted, if none of {DRAWS:,} failed", colour=STEADY),
        note(float(np.median(powers)), 1.05 * tallest, "extrapolated", align="center"),
    )
    named = heading(title, f"{len(passed)} of {RUNS} samples of {DRAWS:,} pass as normal")
    return alt.layer(*layers).properties(title=named, width=320, height=240)


def _bars(counts: list[int], edges: list[float], span: tuple[int, int]) -> Drawing:
    """A histogram of powers of ten."""
    rows = [
        {"low": a, "high": b, "samples": n}
        for (a, b), n in zip(pairwise(edges), counts, strict=True)
        if n
    ]
    high = alt.Scale(domain=[0, 1.5 * max(counts)], nice=False)
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rect(color=OCHRE, stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X(
                "low:Q",
                title="failure probability (log scale)",
                scale=alt.Scale(domain=list(span), nice=False),
                axis=alt.Axis(tickCount=6, labelExpr="datum.value ? '1e' + datum.value : '1'"),
            ),
            x2="high:Q",
            y=alt.Y("samples:Q", title="samples", scale=high),
            y2=alt.Y2Datum(0),
        )
    )


def _concluded(values: Floats) -> Extrapolation | Undecided:
    steps = NormalTail(DRAWS).steps()
    next(steps)
    try:
        steps.send(Severities(tuple(values.tolist()), LIMIT))
    except StopIteration as stop:
        found: Extrapolation | Undecided = stop.value
        return found
    raise AssertionError("one question is all it asks")
