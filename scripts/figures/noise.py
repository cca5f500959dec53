"""What each perturbation does to one input of two values."""

from __future__ import annotations

import altair as alt
import numpy as np

from figures.panels import Drawing, figure, heading
from surefoot.core.results import Interval
from surefoot.engine.streams import stream
from surefoot.perturb import GaussianNoise, L1Noise, L2Noise, LinfNoise, UniformNoise
from surefoot.report.figures import STEADY, WEAK, svg
from surefoot.subject.protocols import Perturbation

INPUT = (0.75, 0.5)
TRIALS, DOT = 200, 0.004
KINDS: tuple[Perturbation, ...] = (
    LinfNoise(0.35),
    L2Noise(0.35),
    L1Noise(0.35),
    GaussianNoise(0.2),
    UniformNoise(0.35),
)


def perturbations() -> str:
    """The same input under each of them, clipped to [0, 1]."""
    return svg(alt.hconcat(*(_cloud(kind) for kind in KINDS), spacing=14))


def _cloud(perturbation: Perturbation) -> Drawing:
    x = np.array([INPUT], dtype=np.float32)
    drawn = perturbation.draw(stream(1, "figure", perturbation.kind, 0, x), TRIALS, (2,))
    moved = perturbation.apply(x, drawn, perturbation.level, Interval(0.0, 1.0))
    axis = alt.Axis(values=[0, 0.5, 1], format=".1f", domain=False, ticks=False)
    across = alt.X("x:Q", title="first value", axis=axis, scale=_unit())
    up = alt.Y("y:Q", title="second value", axis=axis, scale=_unit())
    dots = alt.Chart(alt.InlineData(values=_dots(moved)))
    cloud = dots.mark_line(color=STEADY, strokeWidth=2.2, strokeCap="round")
    start = alt.Chart(alt.InlineData(values=[{"x": INPUT[0], "y": INPUT[1]}]))
    cross = start.mark_point(shape="cross", size=70, filled=True, color=WEAK, opacity=1)
    title = heading(f"{perturbation.kind}:{perturbation.level:g}")
    layers = (cloud.encode(x=across, y=up, order="n:Q"), cross.encode(x=across, y=up))
    return alt.layer(*layers).properties(title=title, width=136, height=136)


def _unit() -> alt.Scale:
    return alt.Scale(domain=[-0.03, 1.03], nice=False)


def _dots(points: np.ndarray) -> list[dict[str, float | None]]:
    """Each point a very short line, all in one path: a quarter of the size of symbols."""
    rows: list[dict[str, float | None]] = []
    for a, b in points.tolist():
        rows += [
            {"x": figure(a), "y": figure(b), "n": len(rows)},
            {"x": figure(a + DOT), "y": figure(b), "n": len(rows) + 1},
            {"x": None, "y": None, "n": len(rows) + 2},
        ]
    return rows
