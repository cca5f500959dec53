"""Quantiles of real critical levels: how wide the intervals are, and how often they are right.

The brackets of one network and split are the population; samples are drawn from them with
replacement, so that the draws are independent. "whole": the interval holds the whole bracket of the
population's quantile; for ranks that is summed exactly. "inside": in each repetition every critical
level is drawn evenly from its bracket, and the interval holds the quantile of these. Train rows of
three networks are left out (mostly failed runs), and mnist_nn/train, whose quantile is 0. The
growth that picks the shortest ranks was chosen on the networks marked "tuned"; which methods were
worth keeping was decided with all of them in view. The coverage of ranks does not depend on either.

    python benchmarks/quantile.py --data DIR [--quick]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from quantile_tables import ENDS, ERROR, SHARE, pairs_table, rank, stopping, table_4_2
from tables import print_table

from surefoot.inputs import PublishedBracket, read_brackets
from surefoot.population import (
    LogNormalPosterior,
    OrderStatistics,
    ShortestRanks,
    SpreadRanks,
)
from surefoot.results import Bracket, Interval, Quantile
from surefoot.statistics.ranks import Ranks, equal_tails, shortest

CEILING = 0.4
NAMED = {
    "mnist-net": (0.0159, 0.0090),
    "mnist-net_256x4": (0.0277, 0.0158),
    "mnist_relu_4_1024": (0.0186, 0.0119),
}
TUNED = {"mnist-net_256x2", "mnist_relu_6_100", "mnist_relu_3_50", "mnist_relu_9_100"}
FAILED = {
    ("mnist-net_256x4", "train"),
    ("mnist-net_256x6", "train"),
    ("mnist_relu_9_200", "train"),
    ("mnist_nn", "train"),
}
SIZES = (100, 300)
ORDER, SHORT, SPREAD = OrderStatistics(), ShortestRanks(), SpreadRanks()


@dataclass
class Tally:
    """Of one method on one population: mean width, and how often it was right."""

    width: float = 0.0
    whole: float = 0.0
    inside: float = 0.0


def populations(rows: tuple[PublishedBracket, ...]) -> dict[tuple[str, str, str], list[Bracket]]:
    """By network, split and source; a level that was never refuted ends at the ceiling."""
    found: dict[tuple[str, str, str], list[Bracket]] = defaultdict(list)
    for row in rows:
        if (row.network, row.split) not in FAILED:
            within = Interval(row.bracket.low, min(row.bracket.high, CEILING))
            found[row.network, row.split, row.source].append(Bracket(within, row.bracket.guarantee))
    return dict(found)


def exactly(population: list[Bracket], n: int, ranks: Ranks) -> float:
    """How often the ranks of n draws hold the whole bracket of the quantile: binomial sums."""
    from scipy.special import bdtr

    lows, highs = (np.sort([getattr(b, e) for b in population]) for e in ENDS)
    at = rank(len(population))
    below, beyond = np.mean(lows <= lows[at]), np.mean(highs < highs[at])
    return float(1 - bdtr(ranks.low - 1, n, below) - (1 - bdtr(ranks.high - 1, n, beyond)))


def tally(population: list[Bracket], n: int, runs: int, methods: tuple) -> list[Tally]:
    """Draw `runs` samples of n."""
    rng = np.random.default_rng(11)
    lows, highs = (np.array([getattr(b, e) for b in population]) for e in ENDS)
    size = len(population)
    at = rank(size)
    least, most = np.sort(lows)[at], np.sort(highs)[at]
    sums = [Tally() for _ in methods]
    for _ in range(runs):
        truth = np.sort(lows + rng.random(size) * (highs - lows))[at]
        sample = [population[i] for i in rng.integers(0, size, n)]
        for kept, method in zip(sums, methods, strict=True):
            found = method.conclude(sample, ERROR)
            if not isinstance(found, Quantile):
                continue
            ends = found.interval
            kept.width += ends.width / runs
            kept.whole += (ends.low <= least and most <= ends.high) / runs
            kept.inside += (truth in ends) / runs
    return sums


def main_table(everything: dict, n: int, runs: int) -> dict[str, list[float]]:
    """Every population: order statistics, ours, and the log-normal on the named networks."""
    figures: dict[str, list[float]] = defaultdict(list)
    lines = []
    for (network, split, source), population in everything.items():
        order, short, spread = tally(population, n, runs, (ORDER, SHORT, SPREAD))
        order.whole = exactly(population, n, equal_tails(n, SHARE, ERROR))
        short.whole = exactly(population, n, shortest(n, SHARE, ERROR))
        cells = ["-", "-"]
        if network in NAMED and split == "test":
            (log,) = tally(population, n, max(20, runs // 10), (LogNormalPosterior(),))
            cells = [f"{log.width:.4f}", f"{log.inside:.3f}"]
        group = "tuned" if network in TUNED else ""
        figures["short"].append(short.width / order.width)
        figures["spread"].append(spread.width / order.width)
        figures["order_whole"].append(order.whole)
        figures["short_whole"].append(short.whole)
        figures["spread_inside"].append(spread.inside)
        figures["untuned"].append(group == "")
        lines.append(
            [
                f"{network}/{split} ({source}, {len(population)})",
                group,
                f"{order.width:.4f}",
                f"{order.whole:.3f}",
                f"{short.width:.4f}",
                f"{short.whole:.3f}",
                f"{spread.width:.4f}",
                f"{spread.inside:.3f}",
                f"{spread.whole:.3f}",
                *cells,
            ]
        )
    print(f"\nn = {n}, {runs} samples each, drawn with replacement")
    head = ["population", "", "order", "whole", "shortest", "whole"]
    head += ["spread", "inside", "whole", "log-normal", "inside"]
    print_table(head, lines)
    return figures


def summary(n: int, figures: dict[str, list[float]]) -> None:
    """Mean and lowest, all and those nothing was chosen on."""
    fresh = np.array(figures["untuned"], dtype=bool)
    for name, ratio, right in (
        ("shortest", "short", "short_whole"),
        ("spread", "spread", "spread_inside"),
    ):
        for words, chosen in (("all", np.ones(len(fresh), dtype=bool)), ("not tuned on", fresh)):
            r, c = np.array(figures[ratio])[chosen], np.array(figures[right])[chosen]
            print(
                f"n = {n}, {name}, {words}: width over order statistics {r.mean():.3f}, "
                f"coverage mean {c.mean():.4f}, lowest {c.min():.4f}"
            )


def against_targets(everything: dict, runs: int) -> None:
    """The three named networks against the published order-statistic widths."""
    lines = []
    for network, targets in NAMED.items():
        source = "fairness" if network == "mnist-net" else "fomlas"
        for n, target in zip(SIZES, targets, strict=True):
            order, short, spread = tally(
                everything[network, "test", source], n, runs, (ORDER, SHORT, SPREAD)
            )
            cells = [f"{t.width:.4f}" for t in (order, short, spread)]
            lines.append([network, str(n), f"{target:.4f}", *cells])
    print("\nwidths against the targets (order-statistic widths as measured elsewhere)")
    print_table(["network", "n", "target", "order", "shortest", "spread"], lines)


def posterior_seconds(population: list[Bracket]) -> float:
    """The fastest of ten posteriors of 300 inputs."""
    rng = np.random.default_rng(2)
    sample = [population[i] for i in rng.integers(0, len(population), 300)]
    times = []
    for _ in range(10):
        begun = time.perf_counter()
        LogNormalPosterior(ceiling=CEILING).conclude(sample, ERROR)
        times.append(time.perf_counter() - begun)
    return min(times)


def main() -> None:
    """All tables, then the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="with critical_epsilon.csv")
    parser.add_argument("--quick", action="store_true", help="fewer samples: under a minute")
    told = parser.parse_args()
    rows = read_brackets(told.data / "critical_epsilon.csv")
    runs = 200 if told.quick else 2000
    everything = populations(rows)
    table_4_2(rows)
    found = {n: main_table(everything, n, runs) for n in SIZES}
    against_targets(everything, runs)
    pairs_table(rows, runs // 4)
    stopping(everything["mnist-net", "test", "fairness"], runs // 4)
    seconds = posterior_seconds(everything["mnist-net", "test", "fairness"])
    print()
    for n in SIZES:
        summary(n, found[n])
    print(f"log-normal posterior of 300 inputs: {seconds:.4f} s")
    print("coverage below: the lowest of all populations, n = 100; each has its own mean above")
    figures = {
        "width_vs_order_statistics": round(float(np.mean(found[100]["short"])), 4),
        "coverage": round(min(found[100]["short_whole"]), 4),
        "posterior_seconds": round(seconds, 4),
        "width_spread": round(float(np.mean(found[100]["spread"])), 4),
        "coverage_spread": round(min(found[100]["spread_inside"]), 4),
        "coverage_mean": round(float(np.mean(found[100]["short_whole"])), 4),
        "coverage_spread_mean": round(float(np.mean(found[100]["spread_inside"])), 4),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
