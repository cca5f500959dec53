"""What a method costs and promises, before anything is run: sentences and figures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from surefoot.report import alt
from surefoot.report.figures import INK, QUIET, STEADY, WEAK, Row, marks
from surefoot.report.formatting import confidence, error_odds
from surefoot.statistics.bounds import fixed_size, okamoto
from surefoot.statistics.designs import Design, expected_trials


@dataclass(frozen=True)
class Expected:
    """Mean trials at p and at 1 - p; `limit` is what any sound method needs for small widths."""

    p: float
    trials: float
    limit: float


@dataclass(frozen=True)
class Cost:
    """What a design costs, beside two numbers that serve every p."""

    okamoto: int
    fixed_size: int
    expected: tuple[Expected, ...]


def cost(design: Design, probabilities: Iterable[float]) -> Cost:
    """Expected trials at these p, by the exact recursion; nothing is simulated."""
    width, error = design.width, design.error
    expected = tuple(
        Expected(p, expected_trials(design, p), limit(width, error, p)) for p in probabilities
    )
    return Cost(okamoto(width, error), fixed_size(width, error), expected)


def limit(width: float, error: float, p: float) -> float:
    """Trials that any sound method needs on average as the width goes to 0: z² p(1-p)/width²."""
    from scipy.special import ndtri

    return float(ndtri(error / 2)) ** 2 * p * (1 - p) / width**2


_PANEL = {"width": 310, "height": 250}
_POINTS = 51


def design_figure(design: Design) -> alt.ChartType:
    """Two panels: the stopping boundary, and expected trials against p."""
    both = alt.hconcat(_boundary(design), _costs(design), spacing=36)
    chart: alt.HConcatChart = both.resolve_scale(color="independent", strokeDash="independent")
    return chart


def _boundary(design: Design) -> alt.ChartType:
    """Share kept against trials; between the two bounds the design continues."""
    looks, few = design.arrays
    low = np.clip(few / looks, 0.0, 0.5)[:-1]
    rows: list[Row] = [
        {"trials": int(n), "low": round(100 * a, 3), "high": round(100 * (1 - a), 3)}
        for n, a in zip(looks[:-1].tolist(), low.tolist(), strict=True)
    ]
    last = int(looks[-1])
    base = marks(rows)
    whole = alt.Axis(format=",d", tickCount=5, tickMinStep=1)
    across = alt.Scale(domain=[0, 1.04 * last], nice=False)
    x = alt.X("trials:Q", title="trials so far", scale=across, axis=whole)
    y = alt.Y("low:Q", title="share kept so far (%)", scale=alt.Scale(domain=[0, 100]))
    between = base.mark_area(color=STEADY, opacity=0.13).encode(x=x, y=y, y2="high:Q")
    bars = base.mark_rule(aria=False, color=STEADY, opacity=0.3).encode(x=x, y=y, y2="high:Q")
    ends = [
        base.mark_circle(aria=False, color=STEADY, size=16, opacity=1).encode(x=x, y=f"{end}:Q")
        for end in ("low", "high")
    ]
    final = marks([{"trials": last}]).mark_rule(color=WEAK, strokeWidth=2).encode(x="trials:Q")
    title = f"When to stop (at the latest after {last:,} trials)"
    layers = alt.layer(between, bars, *ends, final, *_notes(design))
    return layers.properties(title=_title(title), **_PANEL)


def _notes(design: Design) -> list[alt.Chart]:
    """What each region means; a design with one look has no regions."""
    if len(design.looks) == 1:
        return []
    middle = (design.looks[0] + design.looks[-1]) / 2
    regions: list[Row] = [
        {"x": middle, "y": y, "text": text}
        for y, text in ((96, "stop"), (50, "continue"), (4, "stop"))
    ]
    words = marks(regions).mark_text(color=INK, fontSize=12)
    return [words.encode(x="x:Q", y="y:Q", text="text:N")]


def _costs(design: Design) -> alt.ChartType:
    """Expected trials against p, with the two fixed numbers and the limit."""
    half = 0.5 * np.linspace(0.0, 1.0, _POINTS) ** 1.2
    expected_cost = cost(design, half.tolist())
    names = ["Okamoto", "fixed size", "exact sequential", "limit for small widths"]
    curves: dict[str, list[tuple[float, float]]] = {
        names[0]: [(0.0, expected_cost.okamoto), (1.0, expected_cost.okamoto)],
        names[1]: [(0.0, expected_cost.fixed_size), (1.0, expected_cost.fixed_size)],
        names[2]: _mirrored([(e.p, e.trials) for e in expected_cost.expected]),
        names[3]: _mirrored([(e.p, e.limit) for e in expected_cost.expected]),
    }
    rows: list[Row] = [
        {"p": round(p, 5), "trials": round(trials, 2), "what": what}
        for what, curve in curves.items()
        for p, trials in curve
    ]
    shade = alt.Scale(domain=names, range=[WEAK, QUIET, STEADY, INK])
    dash = alt.Scale(domain=names, range=[[1, 0], [1, 0], [1, 0], [4, 3]])
    legend = alt.Legend(title=None, orient="bottom", columns=2, symbolSize=250)
    lines: alt.Chart = marks(rows).mark_line(strokeWidth=2)
    lines = lines.encode(
        x=alt.X("p:Q", title="true probability of being kept, p", axis=alt.Axis(tickCount=5)),
        y=alt.Y("trials:Q", title="expected trials", axis=alt.Axis(format=",d", tickMinStep=1)),
        color=alt.Color("what:N", scale=shade, legend=legend),
        strokeDash=alt.StrokeDash("what:N", scale=dash, legend=legend),
    )
    return lines.properties(title=_title("What it costs"), **_PANEL)


def _mirrored(half: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """From [0, 1/2] to [0, 1]: a design treats kept and failed alike."""
    return [*half, *((1 - p, y) for p, y in half[-2::-1])]


def _title(text: str) -> alt.TitleParams:
    return alt.TitleParams(
        text, anchor="start", frame="group", fontSize=12, color=INK, fontWeight="bold"
    )


def design_sentences(design: Design) -> tuple[str, ...]:
    """The number of trials, the guarantee, the looks, and what is proved."""
    first, last = design.looks[0], design.looks[-1]
    trials, looks = f"{last:,} trials", f"One look, at {last:,} trials"
    if first < last:
        trials = f"{first:,} to {last:,} trials"
        looks = f"{len(design.looks)} looks, from {trials}"
    return (
        f"{trials} (confidence {confidence(design.error)}): what the estimate of an input takes.",
        f"An estimate within {design.width:g} of the truth, whatever the truth is "
        f"({error_odds(design.error)}).",
        f"{looks}; z = {design.z:.5f}.",
        f"Proved for every p: a miss has probability at most {_rounded_up(design.proved)}.",
    )


def _rounded_up(probability: float) -> str:
    """Six digits, rounded up: the sentence says no more than was proved."""
    unit = 10.0 ** (math.floor(math.log10(probability)) - 5)
    return f"{math.ceil(probability / unit) * unit:.6g}"
