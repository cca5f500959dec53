"""How much evidence a verdict takes, beside the textbook method or the limit for any method.

One row a cell. Each part is a function that makes rows (`PARTS`): what is measured, ours, the
reference, their ratio (or a share), the target. One-sided error 0.05 throughout. A sample size is
the smallest with which 80 % of the runs decide (50 % is printed beside). A target counts as missed
where the simulation's own error, two standard errors, cannot explain it.

    python benchmarks/power.py [--quick] [--part kappa]
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from processor import print_processor
from tables import print_table

ERROR = 0.05
POWER, HALF = 0.8, 0.5
_STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Row:
    """One cell: `value` (a ratio to `reference`, or a share) against its target.

    `figure` is its name in the JSON object, where the worst row of a figure stands. `ours` and
    `reference` are what the ratio is of; `half` is ours at 50 % power. `deviation` is the standard
    error of `value` over `runs` simulated runs from `seed` on; 0 where it is exact.
    """

    figure: str
    cell: str
    value: float
    target: float
    at_least: bool = False
    ours: float | None = None
    half: float | None = None
    reference: float | None = None
    beside: str = ""
    deviation: float = 0.0
    runs: int = 0
    seed: int = 0

    @property
    def passes(self) -> bool:
        """Whether the target is met, but for what chance explains."""
        allowed = _STANDARD_ERRORS * self.deviation
        if self.at_least:
            return self.value >= self.target - allowed
        return self.value <= self.target + allowed

    def cells(self) -> list[str]:
        """As it is printed."""
        sign = ">=" if self.at_least else "<="
        own = f"{self.value:.3f}" + (f" ± {self.deviation:.3f}" if self.deviation else "")
        return [
            self.figure, self.cell, _number(self.ours), _number(self.half),
            _number(self.reference), self.beside, own, f"{sign} {self.target:g}",
            f"{self.runs:,}" if self.runs else "exact", str(self.seed) if self.runs else "-",
            "ok" if self.passes else "MISSED",
        ]  # fmt: skip


_HEADER = ["figure", "cell", "ours (80 %)", "ours (50 %)", "reference", "which", "value", "target",
           "runs", "seed", ""]  # fmt: skip


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}" if value < 1 else f"{value:,.0f}"


def of_runs(successes: int, runs: int) -> tuple[float, float]:
    """A share of runs, and its standard error (that of half a run where all are alike)."""
    share = successes / runs
    near = min(max(share, 0.5 / runs), 1 - 0.5 / runs)
    return share, math.sqrt(near * (1 - near) / runs)


def sample_size(
    decides: Callable[[int, np.random.Generator], bool],
    power: float,
    start: int,
    *,
    runs: int,
    seed: int,
    ratio: float = 1.05,
) -> int:
    """The smallest size of a grid (growing by `ratio`) with which a share `power` of runs decides.

    `decides(size, rng)` is one run; run i has the same generator at every size.
    """

    def share(size: int) -> float:
        every = (decides(size, np.random.default_rng([seed, i])) for i in range(runs))
        return sum(every) / runs

    low, high = start, start
    while share(high) < power:
        low, high = high, 2 * high
    while high > low * ratio and high - low > 1:
        middle = math.ceil(math.sqrt(low * high))
        low, high = (low, middle) if share(middle) >= power else (middle, high)
    return high


def kappa_rows(quick: bool) -> Iterator[Row]:
    """Trials of the κ-test over Wald's bound, or over the floor at 0; κ = 0.01."""
    from kappa import TARGETS, least_trials, mean_trials

    kappa, runs = 0.01, 400 if quick else 4000
    for ratio, target in TARGETS.items():
        mean, deviation = mean_trials(kappa, ratio, runs)
        least = least_trials(kappa, ratio)
        yield Row(
            "kappa_over_floor" if ratio == 0 else "kappa_over_wald",
            f"κ-test at {ratio:g}κ, mean trials", mean / least, target, ours=mean, reference=least,
            beside="ln(1/α)/κ" if ratio == 0 else "Wald", deviation=deviation / least,
            runs=runs * (deviation > 0),
        )  # fmt: skip


PARTS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "kappa": kappa_rows,
}


def figures_of(rows: Sequence[Row]) -> dict[str, float | int]:
    """The worst value of each figure, and how many rows missed their target."""
    figures: dict[str, float | int] = {}
    for name in dict.fromkeys(row.figure for row in rows):
        own = [row for row in rows if row.figure == name]
        worst = (min if own[0].at_least else max)(row.value for row in own)
        figures[name] = round(worst, 4)
    return {**figures, "rows": len(rows), "missed": sum(not row.passes for row in rows)}


def main() -> None:
    """Print the table, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", choices=PARTS, default=None)
    arguments = parser.parse_args()
    print_processor()
    names = [arguments.part] if arguments.part else list(PARTS)
    rows = [row for name in names for row in PARTS[name](arguments.quick)]
    print(f"one-sided error {ERROR:g}")
    print_table(_HEADER, [row.cells() for row in rows])
    print(json.dumps(figures_of(rows)))


if __name__ == "__main__":
    main()
