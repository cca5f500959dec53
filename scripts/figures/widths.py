"""How many trials a fixed width takes, and how often it is missed."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from figures.panels import DASHED, DOTTED, OCHRE, SOLID, Axis, Curve, beside, level, mirrored, panel
from figures.stages import mean_trials, miss, outside, stages
from surefoot.report.figures import INK, QUIET, STEADY, WEAK
from surefoot.report.views.design import limit
from surefoot.statistics import BuSun, design_for, okamoto, worst_miss
from surefoot.statistics import fixed_size as smallest
from surefoot.statistics.designs import Design, Stops, expected_trials, stopping_points
from surefoot.statistics.planning import simulate_trials

HOLDING = Axis("true probability of holding, p", (0, 1), format=".1f")
Points = list[tuple[float, float]]


def exact_sequential() -> str:
    """Expected trials over p, and the exact probability of a miss."""
    width, error = 0.02, 0.01
    half = np.linspace(0, 0.5, 61).tolist()
    return beside(
        panel(
            "Expected trials (width 0.02, error 1 %)",
            _costs(width, error, half),
            HOLDING,
            Axis("trials", (0, 7000), format=",d"),
        ),
        panel(
            "Probability of a miss, at the worst p nearby",
            [
                Curve("allowed", level(100 * error), WEAK),
                Curve("exact sequential", _worst_nearby(design_for(width, error)), STEADY),
            ],
            HOLDING,
            Axis("misses (%)", (0, 1.2)),
        ),
    )


def _worst_nearby(design: Design) -> Points:
    """The largest miss in each hundredth of [0, 1/2]: on both sides of every jump, and between."""
    found: Points = [(0.0, 0.0)]
    for low, high in pairwise(np.linspace(0, 0.5, 101).tolist()):
        stops = stopping_points(design, (low + high) / 2, low, high)
        jumps = np.concatenate([stops.estimate + design.width, stops.estimate - design.width])
        tried = np.concatenate([jumps - 1e-9, jumps + 1e-9, np.linspace(low, high, 9)])
        inside = tried[(tried > low) & (tried < high)].tolist()
        found.append(
            ((low + high) / 2, 100 * max(_missed_at(stops, design.width, p) for p in inside))
        )
    return mirrored([*found, (0.5, found[-1][1])])


def _missed_at(stops: Stops, width: float, p: float) -> float:
    return float(stops.mass(p)[np.abs(stops.estimate - p) > width + 1e-12].sum())


def _costs(width: float, error: float, half: list[float]) -> list[Curve]:
    """Every method that estimates to a width, and the limit."""
    design, published = design_for(width, error), stages(BuSun(width, error))
    ours = mirrored([(p, expected_trials(design, p)) for p in half])
    theirs = mirrored([(p, mean_trials(published, p)) for p in half])
    least = mirrored([(p, limit(width, error, p)) for p in half])
    return [
        Curve("Okamoto", level(okamoto(width, error)), WEAK),
        Curve("Bu & Sun", theirs, OCHRE),
        Curve("fixed size", level(smallest(width, error)), QUIET),
        Curve("exact sequential", ours, STEADY),
        Curve("limit for small widths", least, INK, DASHED),
    ]


def bu_sun() -> str:
    """The exact probability of a miss beside what is allowed, and expected trials."""
    width, error = 0.05, 0.05
    published = stages(BuSun(width, error))
    half = np.linspace(0, 0.5, 201).tolist()
    theirs: Points = [(p, 100 * miss(published, width, p)) for p in half]
    return beside(
        panel(
            "Probability of a miss (width and error 0.05)",
            [
                Curve("allowed", level(100 * error), WEAK),
                Curve(
                    "exact sequential, worst p nearby",
                    _worst_nearby(design_for(width, error)),
                    STEADY,
                ),
                Curve("Bu & Sun", mirrored(theirs), OCHRE),
            ],
            HOLDING,
            Axis("misses (%)", (0, 6)),
        ),
        panel(
            "Expected trials",
            _costs(width, error, half[::4]),
            HOLDING,
            Axis("trials", (0, 800), format=",d"),
        ),
    )


def fixed_size() -> str:
    """Why this number and not one less: the miss over p; and its teeth in n."""
    width, error = 0.05, 0.05
    n = smallest(width, error)
    sizes = range(360, 421)
    normal = limit(width, error, 0.5)
    worst = [(m, 100 * worst_miss(m, width)) for m in sizes]
    return beside(
        panel(
            "Probability of a miss (width and error 0.05)",
            [
                Curve("allowed", level(100 * error, 0.46, 0.5), WEAK),
                Curve(f"{n - 1} trials", _teeth(n - 1, width, 0.46), OCHRE, thick=1.5),
                Curve(f"{n} trials", _teeth(n, width, 0.46), STEADY, thick=1.5),
            ],
            Axis("true probability of holding, p", (0.46, 0.5), format=".2f"),
            Axis("misses (%)", (4.6, 5.6), format=".1f"),
            columns=3,
        ),
        panel(
            "The worst p, number by number",
            [
                Curve("allowed", level(100 * error, sizes[0], sizes[-1]), WEAK),
                Curve("largest over all p", worst, STEADY),
                Curve(f"chosen: {n}", [(n, 0), (n, 10)], INK, DOTTED),
                Curve("normal theory", [(normal, 0), (normal, 10)], QUIET, DASHED),
            ],
            Axis("trials", (sizes[0], sizes[-1]), format=",d"),
            Axis("misses (%)", (4, 6.5), format=".1f"),
        ),
    )


def _teeth(n: int, width: float, low: float) -> Points:
    """The miss from `low` to 1/2, just within both ends of every piece on which it is smooth."""
    counts = np.arange(n + 1) / n
    cuts = np.unique(np.concatenate([counts - width, counts + width, [low, 0.5]]).round(12))
    cuts = cuts[(cuts >= low) & (cuts <= 0.5)]
    tried = [p for a, b in pairwise(cuts.tolist()) for p in (a + 1e-8, (a + b) / 2, b - 1e-8)]
    return [(p, 100 * float(outside(np.array([n]), width, p)[0])) for p in tried]


def okamoto_bound() -> str:
    """Trials against width, method by method."""
    error, widths = 0.01, (0.1, 0.05, 0.03, 0.02, 0.01, 0.005)
    whole = [Curve("Okamoto", [(w, okamoto(w, error)) for w in widths], WEAK)]
    whole.append(Curve("fixed size", [(w, smallest(w, error)) for w in widths], QUIET))
    for p, dash in ((0.5, SOLID), (0.9, DASHED), (1.0, DOTTED)):
        ours = [(w, expected_trials(design_for(w, error), p)) for w in widths]
        whole.append(Curve(f"exact sequential, p = {p:g}", ours, STEADY, dash))
    certain = [(w, simulate_trials(BuSun(w, error), 1.0, runs=1).mean) for w in widths]
    whole.append(Curve("Bu & Sun, p = 1", certain, OCHRE, DOTTED))
    shares = [
        replace(c, points=[(w, 100 * n / okamoto(w, error)) for w, n in c.points]) for c in whole
    ]
    across = Axis("width (log scale)", (0.005, 0.1), "log", "~g", widths)
    ticks = (100, 1000, 10_000, 100_000)
    return beside(
        panel(
            "Trials at error 1 %",
            whole,
            across,
            Axis("trials (log scale)", (50, 200_000), "log", ",d", ticks),
        ),
        panel("As a share of Okamoto's number", shares, across, Axis("share (%)", (0, 110))),
    )
