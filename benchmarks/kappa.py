"""The κ-test: trials against the least that any test needs, false certificates against the promise.

At p = 0 no test needs fewer than ln(1/error)/κ trials. Elsewhere a test that is wrong with at most
`error` on either side needs d(error, 1 - error)/D(p, κ) on average (Wald), d and D the divergences
of two coins. The published rule (increase n until an exact test rejects either tail, Mu & Lim 2024)
is beside it: unsound, the baseline, never the product.

    python benchmarks/kappa.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import math

import numpy as np
from processor import print_processor
from scipy.stats import binom
from tables import print_table

from surefoot.core.results import Decision
from surefoot.statistics import KappaTest
from surefoot.statistics.bounds import divergence
from surefoot.statistics.kappa import clean_size, clean_trials, tail_above, tail_below
from surefoot.testing.conformance import run

ERROR = 0.05
KAPPAS = (1e-2, 1e-3, 1e-4)
TARGETS = {0.0: 1.10, **dict.fromkeys((0.1, 0.2, 0.3, 0.5, 0.7), 1.7), 0.8: 1.85,
           **dict.fromkeys((1.2, 1.5, 2.0, 3.0), 1.7), 5.0: 1.85}  # fmt: skip
"""By p/κ: trials over the least; nothing is promised nearer to κ."""


def least_trials(kappa: float, ratio: float) -> float:
    """What any test with these errors needs on average, at p = ratio · κ."""
    if ratio == 0:
        return math.log(1 / ERROR) / kappa
    return (1 - 2 * ERROR) * math.log((1 - ERROR) / ERROR) / divergence(ratio * kappa, kappa)


def mean_trials(kappa: float, ratio: float, runs: int) -> tuple[float, float]:
    """The mean number of trials of the κ-test at p = ratio · κ, and its standard error.

    Below κ exactly: a run with f failures ends as soon as it has `clean_trials(f)` trials, and no
    question goes beyond; the few that end above κ are counted as if they went on. Above κ over
    seeded runs.
    """
    if ratio > 1:
        test = KappaTest(kappa, ERROR)
        trials = np.array([run(test, 1 - ratio * kappa, i)[0].trials for i in range(runs)])
        return float(trials.mean()), float(trials.std() / math.sqrt(runs))
    alive, done, mean = np.ones(1), 0, 0.0
    for failed in range(3000):
        if alive.sum() < 1e-9:
            break
        more = clean_trials(failed, kappa, ERROR) - done
        alive = np.convolve(alive, binom.pmf(np.arange(60), more, ratio * kappa))
        done += more
        mean += alive[0] * done
        alive = alive[1:]
    return float(mean + alive.sum() * done), 0.0


def published(
    kappa: float, p: float, rng: np.random.Generator, max_trials: int, growth: float
) -> tuple[str, int]:
    """The rule as printed, looking whenever the number of samples has grown by `growth`."""
    failed = trials = 0
    n = clean_size(kappa, ERROR)
    while trials < max_trials:
        failed += int(rng.binomial(n - trials, p))
        trials = n
        if tail_below(failed, trials, kappa) <= ERROR:
            return "robust", trials
        if tail_above(failed, trials, kappa) <= ERROR:
            return "fragile", trials
        n = max(trials + 1, math.ceil(growth * trials))
    return "undecided", trials


def false_certificates(kappa: float, runs: int, max_trials: int) -> tuple[float, float, float]:
    """Share of runs declared robust at p = κ: ours, and the published rule at two growths."""
    rng = np.random.default_rng(7)
    ours = 0
    for seed in range(runs):
        decision, _ = run(KappaTest(kappa, ERROR, max_trials=max_trials), 1 - kappa, seed)
        ours += isinstance(decision, Decision) and decision.holds
    doubling, often = (
        sum(published(kappa, kappa, rng, max_trials, growth)[0] == "robust" for _ in range(runs))
        / runs
        for growth in (2.0, 1.01)
    )
    return ours / runs, doubling, often


def rows_of(kappa: float, runs: int) -> tuple[list[list[str]], dict[float, float]]:
    """A row for each p: trials of ours, the least, the published rule; and ours over the least."""
    rng, rows, over = np.random.default_rng(3), [], {}
    for ratio, target in TARGETS.items():
        (ours, deviation), least = mean_trials(kappa, ratio, runs), least_trials(kappa, ratio)
        over[ratio] = ours / least
        theirs = [
            published(kappa, ratio * kappa, rng, round(400 / kappa), 2.0)[1]
            for _ in range(runs // 4)
        ]
        rows.append(
            [f"{kappa:g}", f"{ratio:g} κ", f"{ours:,.0f}", f"{least:,.0f}",
             f"{over[ratio]:.3f} ± {deviation / least:.3f}", f"<= {target:g}",
             f"{np.mean(theirs):,.0f}"]
        )  # fmt: skip
    return rows, over


def main() -> None:
    """Print the tables, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    runs = 400 if parser.parse_args().quick else 4000
    print_processor()
    tables = [rows_of(kappa, runs) for kappa in KAPPAS]
    print(f"mean trials at error {ERROR:g}")
    print_table(
        ["κ", "p", "κ-test", "least", "ratio", "target", "published rule, doubling (unsound)"],
        [row for rows, _ in tables for row in rows],
    )  # fmt: skip
    ours, doubling, often = false_certificates(1e-2, runs, max_trials=40_000)
    print(f"\nfalsely declared robust at p = κ = 0.01, {runs:,} runs of at most 40,000 samples")
    print_table(
        ["κ-test", "promised", "published rule, doubling", "published rule, 1 % more each time"],
        [[f"{ours:.4f}", f"<= {ERROR:g}", f"{doubling:.4f}", f"{often:.4f}"]],
    )
    worst = {ratio: round(max(over[ratio] for _, over in tables), 4) for ratio in TARGETS}
    figures = {
        "over_floor_at_zero": worst[0.0],
        "over_wald": max(worst[ratio] for ratio, target in TARGETS.items() if target == 1.7),
        "over_wald_near": max(worst[0.8], worst[5.0]),
        "false_certificates": round(ours, 4),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
