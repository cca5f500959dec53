"""The κ-test: samples against the floor, false certificates against what is promised.

The floor for any test at p = 0 is ln(1/error)/κ. The published rule (increase n until an exact test
rejects either tail, Mu & Lim 2024) is simulated beside it; it is the baseline, never the product.

    python benchmarks/kappa.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import math

import numpy as np
from tables import print_table

from surefoot.results import Decision
from surefoot.statistics import KappaTest
from surefoot.statistics.binomial_test import clean_size, tail_above, tail_below
from surefoot.testing.procedures import run

ERROR = 0.05
KAPPAS = (1e-2, 1e-3, 1e-4)
RATIOS = (0.0, 0.1, 0.3, 0.5, 2.0, 5.0, 20.0)


def published(kappa: float, p: float, rng: np.random.Generator, most: int, growth: float) -> str:
    """The rule as printed, looking whenever the number of samples has grown by `growth`."""
    failed = seen = 0
    n = clean_size(kappa, ERROR)
    while seen < most:
        failed += int(rng.binomial(n - seen, p))
        seen = n
        if tail_below(failed, seen, kappa) <= ERROR:
            return "robust"
        if tail_above(failed, seen, kappa) <= ERROR:
            return "fragile"
        n = max(seen + 1, math.ceil(growth * seen))
    return "undecided"


def false_certificates(kappa: float, runs: int, most: int) -> tuple[float, float, float]:
    """Share of runs declared robust at p = κ: ours, and the published rule with two paces."""
    rng = np.random.default_rng(7)
    ours = 0
    for seed in range(runs):
        found, _ = run(KappaTest(kappa, ERROR, most=most), 1 - kappa, seed)
        ours += isinstance(found, Decision) and found.holds
    doubling, often = (
        sum(published(kappa, kappa, rng, most, pace) == "robust" for _ in range(runs)) / runs
        for pace in (2.0, 1.01)
    )
    return ours / runs, doubling, often


def main() -> None:
    """Print the tables, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    runs = 400 if parser.parse_args().quick else 4000
    floor = math.log(1 / ERROR)
    over, rows = 0.0, []
    for kappa in KAPPAS:
        at_zero, _ = run(KappaTest(kappa, ERROR), 1.0, seed=0)
        over = max(over, at_zero.trials * kappa / floor)
        means = []
        for ratio in RATIOS[1:]:
            few = max(20, runs // 40)
            trials = [
                run(KappaTest(kappa, ERROR), 1 - ratio * kappa, seed)[0].trials
                for seed in range(few)
            ]
            means.append(f"{np.mean(trials) * kappa:.2f}")
        rows.append(
            [f"{kappa:g}", f"{at_zero.trials:,}", f"{floor / kappa:,.0f}",
             f"{at_zero.trials * kappa / floor:.3f}", "<= 1.07", *means]
        )  # fmt: skip
    print(f"samples at error {ERROR:g}; right of the target: mean samples times κ, by p/κ")
    names = [f"p = {r:g} κ" for r in RATIOS[1:]]
    print_table(["κ", "ours, p = 0", "floor", "ratio", "target", *names], rows)
    ours, doubling, often = false_certificates(1e-2, runs, most=40_000)
    print(f"\nfalsely declared robust at p = κ = 0.01, {runs:,} runs of at most 40,000 samples")
    print_table(
        ["κ-test", "promised", "published rule, doubling", "published rule, 1 % more each time"],
        [[f"{ours:.4f}", f"<= {ERROR:g}", f"{doubling:.4f}", f"{often:.4f}"]],
    )
    print(json.dumps({"over_floor_at_zero": round(over, 4), "false_certificates": round(ours, 4)}))


if __name__ == "__main__":
    main()
