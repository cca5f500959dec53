"""A quantile of the critical level: how wide an interval is, and how often it holds the truth."""

from __future__ import annotations

import numpy as np

from figures.panels import DOTTED, OCHRE, Axis, Curve, beside, level, panel
from surefoot.core.results import Bracket, Footing, Guarantee, Interval, Quantile
from surefoot.population import (
    LevelQuantile,
    LogNormalPosterior,
    OrderStatistics,
    ShortestRanks,
)
from surefoot.report.figures import INK, STEADY, WEAK

ERROR, STEP = 0.05, 0.002
SIZES = (60, 72, 85, 100, 125, 150, 200, 250, 300, 400, 500)
PROVED = Guarantee(Footing.SOUND, 0.0)
TRUTH = 0.01


def sample(rng: np.random.Generator, n: int) -> list[Bracket]:
    """A quarter of the inputs is weak, with levels evenly up to 0.05; the others are log-normal."""
    weak = rng.random(n) < 0.25
    levels = np.where(weak, rng.uniform(0, 0.05, n), 0.05 * np.exp(rng.normal(0.4, 0.3, n) ** 2))
    lows = np.floor(levels / STEP - 0.5) * STEP + STEP / 2
    return [Bracket(Interval(max(0.0, x), x + STEP), PROVED) for x in lows.tolist()]


METHODS: tuple[tuple[str, LevelQuantile, str, int], ...] = (
    ("order statistics", OrderStatistics(), OCHRE, 400),
    ("shortest ranks (ours)", ShortestRanks(), STEADY, 400),
    ("log-normal posterior", LogNormalPosterior(), WEAK, 40),
)


def critical_quantile() -> str:
    """Mean width and coverage over simulated populations, against the number of inputs."""
    rng = np.random.default_rng(20240524)
    drawn = {n: [sample(rng, n) for _ in range(400)] for n in SIZES}
    inputs = Axis("inputs (log scale)", (60, 500), "log", ",d", (60, 72, 100, 200, 300, 500))
    widths, covers = [], []
    for name, over, colour, runs in METHODS:
        wide, holds = [], []
        for n in SIZES:
            found = [over.conclude(local, ERROR) for local in drawn[n][:runs]]
            ends = [q.interval for q in found if isinstance(q, Quantile)]
            wide.append((n, float(np.mean([i.width for i in ends]))))
            holds.append((n, 100 * float(np.mean([TRUTH in i for i in ends]))))
        widths.append(Curve(name, wide, colour))
        covers.append(Curve(name, holds, colour))
    promised = Curve("promised", level(100 * (1 - ERROR), 60, 500), INK, DOTTED)
    return beside(
        panel("Mean width of the interval", widths, inputs, Axis("width", (0, 0.03), format="~f")),
        panel(
            "How often it holds the truth",
            [*covers, promised],
            inputs,
            Axis("coverage (%)", (0, 101)),
        ),
    )
