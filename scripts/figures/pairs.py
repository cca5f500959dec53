"""Two models on the same inputs: what pairing is worth."""

from __future__ import annotations

import numpy as np

from figures.panels import Axis, Curve, beside, panel
from surefoot.core.results import Estimate, Footing, Guarantee, Interval
from surefoot.population import Mean
from surefoot.report.figures import STEADY, WEAK

ERROR, RUNS, TRIALS, GAP = 0.05, 200, 85, 0.05
SIZES = (25, 50, 100, 200, 400, 800)


def local(held: np.ndarray) -> list[Estimate]:
    """Unbiased estimates from so many that held."""
    promise = Guarantee(Footing.SOUND, ERROR)
    return [
        Estimate(k / TRIALS, Interval(0, 1), promise, TRIALS, k / TRIALS, TRIALS)
        for k in held.tolist()
    ]


def comparison() -> str:
    """Width of the difference's interval and the share of samples that tell the models apart."""
    rng = np.random.default_rng(20240607)
    over = Mean(ERROR)
    wide: dict[str, list[tuple[float, float]]] = {"input by input": [], "two intervals": []}
    apart: dict[str, list[tuple[float, float]]] = {"input by input": [], "two intervals": []}
    for n in SIZES:
        found: dict[str, list[Interval]] = {"input by input": [], "two intervals": []}
        for _ in range(RUNS):
            p = rng.beta(2, 1, n) * (1 - GAP) + GAP
            a, b = (local(rng.binomial(TRIALS, q)) for q in (p, p - GAP))
            found["input by input"].append(over.difference(a, b, ERROR))
            first, second = (over.conclude(x, ERROR / 2).interval for x in (a, b))
            found["two intervals"].append(
                Interval(first.low - second.high, first.high - second.low)
            )
        for name, intervals in found.items():
            wide[name].append((n, float(np.mean([i.width for i in intervals]))))
            share = float(np.mean([i.low > 0 for i in intervals]))
            apart[name].append((n, 100 * share))
    inputs = Axis("inputs (log scale)", (25, 800), "log", ",d", SIZES)
    colours = {"input by input": STEADY, "two intervals": WEAK}
    return beside(
        panel(
            "Width of the interval of the difference",
            [Curve(name, wide[name], colours[name]) for name in wide],
            inputs,
            Axis("width", (0, 0.6), format=".1f"),
        ),
        panel(
            "How often the models are shown to differ",
            [Curve(name, apart[name], colours[name]) for name in apart],
            inputs,
            Axis("samples (%)", (0, 105)),
        ),
    )
