"""Average samples to a fixed width, over p = 0, .002, …, 1, against the limit and the published.

The limit for any sound method, relative to Okamoto's number, is z²/(3 ln(2/error)) as the width
goes to 0. Bu & Sun's column is our implementation of their algorithm, simulated; beside it stands
what their table I prints. The exact sequential design is computed, not simulated.

    python benchmarks/samples.py [--quick]        --quick: a coarser grid, under a minute
"""

from __future__ import annotations

import argparse
import json
import math

import numpy as np
from processor import print_processor
from scipy.special import ndtri
from tables import print_table

from surefoot.statistics import BuSun, design_for, fixed_size, okamoto
from surefoot.statistics.designs import expected_trials
from surefoot.testing.conformance import run

PRINTED = {  # Bu & Sun 2024, table I, column "Average"
    (0.05, 0.05): 0.946,
    (0.03, 0.03): 0.877,
    (0.01, 0.01): 0.774,
    (0.003, 0.001): 0.716,
    (0.002, 0.001): 0.706,
    (0.001, 0.001): 0.693,
}
FIGURES = {
    (0.05, 0.05): ("over_limit_05", 1.20),
    (0.03, 0.03): ("over_limit_03", 1.20),
    (0.01, 0.01): ("over_limit_01", 1.10),
    (0.001, 0.001): ("over_limit_001", 1.10),
}


def sequential(width: float, error: float, points: int) -> list[float]:
    """Expected trials of the exact sequential design; it is symmetric in p."""
    half = [expected_trials(design_for(width, error), p) for p in np.linspace(0, 0.5, points)]
    return [*half, *half[-2::-1]]


def published(width: float, error: float, points: int, repeats: int) -> list[float]:
    """Mean trials of Bu & Sun's algorithm, simulated."""
    grid = np.linspace(0, 1, points)
    return [
        float(
            np.mean([run(BuSun(width, error), float(p), seed)[0].trials for seed in range(repeats)])
        )
        for p in grid
    ]


def average(values: np.ndarray) -> float:
    """The mean over p, whatever the grid: its two ends stand for half a step each."""
    weights = np.ones(len(values))
    weights[[0, -1]] = 0.5
    return float(np.average(values, weights=weights))


def main() -> None:
    """Print the table, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    print_processor()
    rows, figures = [], {}
    for (width, error), printed in PRINTED.items():
        most = okamoto(width, error)
        limit = float(ndtri(1 - error / 2)) ** 2 / (3 * math.log(2 / error))
        ours = np.array(sequential(width, error, 26 if quick else 251)) / most
        theirs = np.array(published(width, error, 26 if quick else 126, 5 if quick else 20)) / most
        fixed = "" if width < 0.003 else f"{fixed_size(width, error) / most:.3f}"
        name, target = FIGURES.get((width, error), ("", 0.0))
        if name:
            figures[name] = round(average(ours) / limit, 4)
        rows.append(
            [
                f"{width:g} / {error:g}",
                f"{most:,}",
                f"{average(ours):.3f} ({ours.min():.3f} to {ours.max():.3f})",
                f"{average(theirs):.3f} ({theirs.min():.3f} to {theirs.max():.3f})",
                f"{printed:.3f}",
                fixed,
                f"{limit:.3f}",
                f"{average(ours) / limit:.3f}",
                f"<= {target:.2f}" if name else "",
                f"{average(theirs) / limit:.2f}",
            ]
        )
    print("samples divided by Okamoto's number: average (least to most) over p from 0 to 1")
    print_table(
        ["width / error", "Okamoto", "exact sequential", "Bu & Sun, ours", "Bu & Sun, printed",
         "fixed size", "limit", "ours / limit", "target", "Bu & Sun / limit"],
        rows,
    )  # fmt: skip
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
