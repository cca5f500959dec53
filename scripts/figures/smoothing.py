"""Trials of a certificate against how far the input is from the boundary; and what it shows."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from figures.panels import DASHED, DOTTED, Axis, Curve, Drawing, beside, level, panel
from surefoot.report.figures import INK, STEADY, WEAK
from surefoot.statistics import Norm, SmoothedRadius, Smoothing
from surefoot.statistics.bounds import divergence
from surefoot.statistics.planning import simulate

ERROR, RUNS, FIXED = 0.001, 60, 100_100
NOISE = Smoothing(Norm.L2, 1.0)


def smoothed_radius() -> str:
    """Mean trials at radius σ beside the floor and a fixed number; the radius by the votes."""
    return beside(_costs(), _radii())


def _costs() -> Drawing:
    test = SmoothedRadius((1.0,), ERROR).under(NOISE)
    margins = sorted([*np.arange(-1, 3.01, 0.25).tolist(), 0.9, 0.95, 1.05, 1.1])
    rng = np.random.default_rng(1)
    means = [
        (m, float(np.mean([simulate(test, ndtr(m), rng)[0].trials for _ in range(RUNS)])))
        for m in margins
    ]
    floor = [
        (m, math.log(1 / ERROR) / divergence(float(ndtr(-m)), NOISE.kappa(1.0)))
        for m in margins
        if m > 1
    ]
    return panel(
        "Mean trials at radius σ (error 0.1 %)",
        [
            Curve("ours", means, STEADY),
            Curve("least for a certificate", floor, INK, DASHED),
            Curve("published", level(FIXED, -1, 3), WEAK, DOTTED),
        ],
        Axis("true distance of the boundary, in σ", (-1, 3)),
        Axis("trials (log scale)", (10, 200_000), "log", ",d", (10, 100, 1000, 10_000, 100_000)),
        columns=3,
    )


def _radii() -> Drawing:
    shares = np.linspace(0.5, 0.9999, 60).tolist()
    curves = []
    for trials, colour in ((1_000, WEAK), (100_000, STEADY)):
        test = SmoothedRadius((), ERROR, trials).under(NOISE)
        points = [(100 * s, _shown(test, round(s * trials), trials)) for s in shares]
        curves.append(Curve(f"{trials:,} trials", points, colour))
    truth = [(100 * s, float(-NOISE.scale * _quantile(1 - s))) for s in shares]
    return panel(
        "Certified radius",
        [*curves, Curve("if the share were the truth", truth, INK, DASHED)],
        Axis("trials that give the class (%)", (50, 100)),
        Axis("radius, in σ", (0, 4)),
        columns=2,
    )


def _shown(test: object, kept: int, trials: int) -> float:
    from surefoot.core.counts import Counts

    return test.certificate(Counts(trials, kept)).radius or 0.0  # type: ignore[attr-defined]


def _quantile(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(share))
