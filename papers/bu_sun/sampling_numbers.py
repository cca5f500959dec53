"""Trials of an estimate against the probability that is estimated: Table 1 and Figure 3."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from papers.bu_sun.pairs import Pair
from surefoot.report.views.design import limit
from surefoot.statistics import BuSun, design_for
from surefoot.statistics.designs import expected_trials
from surefoot.statistics.planning import simulate_bu_sun

GRID = np.round(np.linspace(0, 1, 501), 3)
"""p = 0, 0.002, …, 1, as in the paper."""
LARGE_DESIGN = 100_000
"""Trials of a design whose exact expectation takes a tenth of a second or more at each p."""
_EVERY = 10
"""Of such a design every tenth p is computed: the curve is smooth, and a minute becomes seconds."""


def simulated(pair: Pair, repeats: int, seed: int) -> NDArray[np.float64]:
    """Bu & Sun's mean trials at each p of the grid, over so many simulated runs."""
    rng = np.random.default_rng([seed, round(1 / pair.width), round(1 / pair.error)])
    trials = simulate_bu_sun(BuSun(pair.width, pair.error), GRID.tolist(), repeats, rng)
    means: NDArray[np.float64] = trials.mean(axis=1)
    return means


@lru_cache(maxsize=16)
def expected(pair: Pair) -> tuple[tuple[float, float], ...]:
    """Expected trials of the exact sequential method, exactly, at the values of p."""
    design = design_for(pair.width, pair.error)
    every = _EVERY if design.looks[-1] > LARGE_DESIGN else 1
    half = GRID[: len(GRID) // 2 + 1 : every].tolist()
    points = [(p, expected_trials(design, p)) for p in half]
    return (*points, *((round(1 - p, 3), trials) for p, trials in points[-2::-1]))


def limits(pair: Pair) -> NDArray[np.float64]:
    """What any sound method needs on average as the width goes to 0, at each p of the grid."""
    return np.array([limit(pair.width, pair.error, p) for p in GRID.tolist()])


def words_of_simulation(repeats: int) -> str:
    """How the numbers of Bu & Sun's method came about."""
    return (
        f"Bu & Sun, recomputed: means of {repeats:,} simulated runs at each p, as in the paper "
        "(100 there); max and min are over these means, and the largest of 501 noisy means is a "
        "little above the largest expectation."
    )
