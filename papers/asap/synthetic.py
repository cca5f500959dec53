"""Figures 2 and 5: even levels and ASAP on curves that are given by a formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from papers.asap.runs import only, whole_number
from papers.exhibit import Column, Exhibit, Row, Sheet
from papers.request import Request
from surefoot.core.results import Curve, Point
from surefoot.curves.published import AdaptiveCurve, UniformCurve, replay
from surefoot.report.formatting import percent, percent_range, points
from surefoot.report.series_chart import Axis, SeriesChart

_SIZE = 10**9
"""Inputs that a formula stands for: its accuracies are rounded to whole ones of them."""
_FINE = 20_001
"""Levels from which the real robustness of a formula is computed, to 5e-5 a crossing."""
_DRAWN = 401


@dataclass(frozen=True)
class Synthetic:
    """A curve on levels from 0 to 1, its threshold, and what the paper prints for it in percent."""

    name: str
    accuracy: Callable[[float], float]
    threshold: float
    real: float
    uniform: float
    asap: float | None = None
    asap_levels: int | None = None

    def robustness(self) -> float:
        """Of the formula."""
        above = [self.accuracy(x) >= self.threshold for x in np.linspace(0, 1, _FINE).tolist()]
        return float(np.mean(above))


WAVE = Synthetic("a wave", lambda x: 0.8 + 0.1 * math.cos(18 * math.pi * x), 0.8, 50.0, 100.0)
"""Figure 2: ten even levels see only its tops. The paper's curve is not given."""
LINE = Synthetic("a line", lambda x: 1 - x / 2, 0.8, 40.00, 38.8, 39.06, 15)
"""Figures 5 (a) and (b). The paper's curve is not given; its two numbers are those of every curve
that falls once through the threshold at 0.4: 19/49 and 25/64."""
VALLEY = Synthetic(
    "a valley with waves",
    lambda x: min(1.0, 0.5 + abs(x - 0.5) / 2 + 0.25 + 0.05 * math.sin(50 * x)),
    0.8,
    80.4,
    77.9,
    81.2,
    34,
)
"""Figures 5 (c) and (d): the curve of the authors' first sketch (ROBY, adaptive/compute.py)."""


def figure_2(request: Request) -> Exhibit:
    """Even levels that miss a wave."""
    exhibit = _exhibit(request, (WAVE,))
    real, even = WAVE.robustness(), exhibit.sheets[0].rows[0]
    first = (
        f"{even['points']} even levels give {percent(even['value'])}; the robustness of the curve "
        f"is {percent(real)}."
    )
    more = "The paper does not give its curve: this one has its two numbers, 100 % and about 50 %."
    return replace(exhibit, lines=(first, more))


def figure_5(request: Request) -> Exhibit:
    """The two curves of the paper."""
    exhibit = _exhibit(request, (LINE, VALLEY))
    asap = [row for row in exhibit.sheets[0].rows if row["method"] == "ASAP, as printed"]
    first = " ".join(
        f"{row['curve'].capitalize()}: ASAP gives {percent(row['value'])} from {row['points']} "
        f"levels, published {row['published']:g} % from {row['published_points']}."
        for row in asap
    )
    return replace(exhibit, lines=(first, *_DEPARTURES))


def _exhibit(request: Request, curves: tuple[Synthetic, ...]) -> Exhibit:
    n = whole_number(only(request.options["points"], "points"), "points", 2)
    bend = only(request.options["curvature"], "curvature")
    rows: list[Row] = []
    charts = {}
    for curve in curves:
        at = (0.0, 1.0, (curve.threshold,))
        uniform = replay(UniformCurve(*at, n, size=_SIZE), curve.accuracy)
        printed = AdaptiveCurve(*at, bend, n, as_printed=True, size=_SIZE)
        asap = replay(printed, curve.accuracy)
        ours = replay(AdaptiveCurve(*at, bend, n, size=_SIZE), curve.accuracy)
        rows += _rows(curve, uniform, asap, ours)
        for name, shown in (("even levels", uniform), ("ASAP", asap)):
            charts[f"{curve.name.capitalize()}: {name}, {len(shown.points)} levels"] = _chart(
                curve, shown
            )
    return Exhibit(
        name=request.part.name,
        title=f"{request.part.name.capitalize()}: {request.part.title}",
        lines=(),
        sheets=(Sheet("Synthetic curves", _COLUMNS, tuple(rows), note=_NOTE),),
        charts=charts,
    )


def _rows(curve: Synthetic, uniform: Curve, asap: Curve, ours: Curve) -> list[Row]:
    real = curve.robustness()
    values = {
        "uniform, share of levels": (uniform, uniform.readings[0].value),
        "uniform, right ends": (uniform, right_end_sum(uniform.points, curve.threshold)),
        "ASAP, as printed": (asap, asap.readings[0].value),
        "ASAP, corrected": (ours, ours.readings[0].value),
    }
    published: dict[str, tuple[Any, Any]] = {
        "uniform, right ends": (curve.uniform, None),
        "ASAP, as printed": (curve.asap, curve.asap_levels),
    }
    rows: list[Row] = []
    for method, (shown, value) in values.items():
        rob, levels = published.get(method, (None, None))
        row: dict[str, Any] = {"curve": curve.name, "real": real, "method": method}
        row["points"] = len(shown.points)
        row |= {"value": value, "error": value - real}
        row |= {"published": rob, "published_points": levels}
        if method.startswith("ASAP"):
            row["interval"] = shown.readings[0].interval
        rows.append(row)
    return rows


def right_end_sum(points: tuple[Point, ...], threshold: float) -> float:
    """The paper's generalized formula: each step has the value of its right end."""
    steps = sum(b.level - a.level for a, b in pairwise(points) if b.value >= threshold)
    return steps / (points[-1].level - points[0].level)


def _chart(curve: Synthetic, shown: Curve) -> Any:  # noqa: ANN401  an object of Altair
    line = [
        {"level": x, "value": 100 * curve.accuracy(x), "name": "the curve"}
        for x in np.linspace(0, 1, _DRAWN).tolist()
    ]
    dots = [{"level": p.level, "value": 100 * p.value, "name": "levels"} for p in shown.points]
    return SeriesChart(
        rows=line,
        x=Axis("level", "level", domain=(0, 1)),
        y=Axis("value", "accuracy (%)"),
        series="name",
        dots=dots,
        levels=(100 * curve.threshold,),
    ).chart()


_COLUMNS = (
    Column("curve", "curve", is_name=True),
    Column("method", "method", is_name=True),
    Column("levels", "points"),
    Column("real", "real", percent),
    Column("robustness", "value", percent),
    Column("Δ (points)", "error", points),
    Column("interval", "interval", percent_range),
    Column("published (%)", "published"),
    Column("published levels", "published_points"),
)
_NOTE = (
    "Right ends: the paper's sum, in which a step has the value of its right end. Intervals: the "
    "bound of theorem 1, if â holds; corrected: ties above, crossings interpolated."
)
_DEPARTURES = (
    "The paper's 38.8 % and 39.06 % are 19/49 and 25/64: those of every curve that falls once at "
    "0.4, with n = 50. Its number of levels, 15, depends on a curve that it does not give.",
    "The second curve is that of the authors' first sketch: its real robustness, 80.4 %, and the "
    "81.2 % of ASAP are the published ones; 34 levels are those of â = 100 instead of 256. The "
    "published 77.9 % is no share of 49 steps or of 50 levels.",
)
