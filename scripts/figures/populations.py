"""The mean over inputs: how wide an interval is, and how often it holds the truth."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from figures.panels import DOTTED, OCHRE, Axis, Curve, beside, level, panel
from surefoot.core.results import Interval
from surefoot.report.figures import INK, STEADY, WEAK
from surefoot.statistics import betting

Floats = NDArray[np.float64]
ERROR, RUNS, TRIALS = 0.05, 1000, 361
SIZES = (10, 20, 30, 50, 100, 200, 300, 500, 1000)
TRUTH = 0.95


def sample(rng: np.random.Generator, n: int) -> Floats:
    """Unbiased values of n inputs: nine in ten never slip, the others hold with any probability."""
    p = np.where(rng.random(n) < 0.9, 1.0, rng.random(n))
    return rng.binomial(TRIALS, p) / TRIALS


def hoeffding(values: Floats, error: float) -> Interval:
    """The textbook's sound interval."""
    reach = math.sqrt(math.log(2 / error) / (2 * len(values)))
    return _around(float(values.mean()), reach)


def normal(values: Floats, error: float) -> Interval:
    """The textbook's usual interval; sound for no finite number of values."""
    spread = float(values.std(ddof=1)) / math.sqrt(len(values))
    return _around(float(values.mean()), -float(ndtri(error / 2)) * spread)


def _around(mean: float, reach: float) -> Interval:
    return Interval(max(0.0, mean - reach), min(1.0, mean + reach))


INTERVALS: tuple[tuple[str, Callable[[Floats, float], Interval], str], ...] = (
    ("Hoeffding", hoeffding, OCHRE),
    ("betting (ours)", betting, STEADY),
    ("normal approximation", normal, WEAK),
)


def population_mean() -> str:
    """Mean width and coverage over simulated populations, against the number of inputs."""
    rng = np.random.default_rng(20240607)
    drawn = {n: [sample(rng, n) for _ in range(RUNS)] for n in SIZES}
    inputs = Axis("inputs (log scale)", (10, 1000), "log", ",d", (10, 30, 100, 300, 1000))
    widths, covers = [], []
    for name, interval, colour in INTERVALS:
        found = {n: [interval(values, ERROR) for values in drawn[n]] for n in SIZES}
        wide = [(n, float(np.mean([i.width for i in found[n]]))) for n in SIZES]
        holds = [(n, 100 * float(np.mean([TRUTH in i for i in found[n]]))) for n in SIZES]
        widths.append(Curve(name, wide, colour))
        covers.append(Curve(name, holds, colour))
    promised = Curve("promised", level(100 * (1 - ERROR), 10, 1000), INK, DOTTED)
    return beside(
        panel("Mean width of the interval", widths, inputs, Axis("width", (0, 0.6), format=".1f")),
        panel(
            "How often it holds the truth",
            [*covers, promised],
            inputs,
            Axis("coverage (%)", (60, 101)),
        ),
    )
