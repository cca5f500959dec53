"""Curves: image evaluations and errors of the sequential search, of ASAP, and of its comparators.

20 measured curves stand for networks: image i of a finite set is right at a level if its rank is
below the curve there, so the truth is known. With --mnist the same on a real network under seven
perturbations, with the wall time of both through one engine. ASAP as published (benchmarks/asap.py)
does the same work in the same run; the bound is an oracle: all images at 1,025 levels. As published
it takes an accuracy equal to the threshold for no crossing and may stop there, which makes most of
its error on 1,000 images; "ASAP, ours, depth 128" is what it does without that.

    python benchmarks/curves.py --data DIR [--mnist FILE.npz] [--quick]

DIR holds accuracy_curves.csv (model, alteration, level, accuracy), FILE.npz Fashion-MNIST's test
images x_test and labels y_test.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import curve_network
import numpy as np
from asap import PublishedAsap
from curve_cases import Images, Measured, Right, Run, Shuffled, Truth, measured, scored, truth
from prerequisites import need_file, need_folder
from tables import print_table

from surefoot.search import AdaptiveCurve, QuadCurve, RandomCurve, SequentialCurve, UniformCurve

ASAP, OURS, ORACLE = "ASAP, published", "sequential, ours", "oracle"
ORACLE_LEVELS = 1025
UNIFORM, RANDOM, QUAD = "uniform, as many levels", "random, as many levels", "quad"
NO_BOUND = (UNIFORM, RANDOM, QUAD, ORACLE)
THRESHOLDS, REAL_THRESHOLDS = (0.8, 0.7), (0.8, 0.6)
CELLS = 4096
WIGGLE = 0.0075
FIGURES, FORMATS = ("evaluations", "error", "covers"), ((0, ".1f"), (1, ".1e"), (2, ".2f"))
FEW_PERTURBATIONS = ("blur", "brightness")
FIRST_ORDER = 100
"""Random orders of the real images from here on: none of them played a part in any choice."""


Others = Callable[[SequentialCurve, int, int], dict[str, Any]]
"""Other procedures for the question of ours, by how many levels ASAP took, and a seed."""


@dataclass(frozen=True)
class World:
    """One table: sets of a size, with images that come and go or not."""

    title: str
    size: int
    orders: int
    others: Others
    wiggle: float = 0.0
    scope: str = "set"


def compared(
    case: str,
    ask: SequentialCurve,
    right: Callable[[float], Right],
    true: Truth,
    others: Others,
    seed: int = 1,
) -> dict[str, Run]:
    """Every method on one case; `ask` is ours, and says what the case is."""
    published = PublishedAsap(ask.low, ask.high, ask.thresholds[0], ask.size)
    first = scored(case, published, right, true)
    rest = others(ask, first.levels, seed) | {OURS: ask}
    return {ASAP: first} | {name: scored(case, p, right, true) for name, p in rest.items()}


def none(ask: SequentialCurve, levels: int, seed: int) -> dict[str, Any]:
    """ASAP and ours alone."""
    return {}


def comparators(ask: SequentialCurve, levels: int, seed: int) -> dict[str, Any]:
    """Our form of ASAP, and what takes as many levels as ASAP did."""
    low, high = ask.low, ask.high
    shared: dict[str, Any] = {"thresholds": ask.thresholds, "size": ask.size}
    return {
        "ASAP, ours, depth 128": AdaptiveCurve(low, high, curvature=128, **shared),
        "ASAP, ours, automatic": AdaptiveCurve(low, high, **shared),
        UNIFORM: UniformCurve(low, high, levels=levels, **shared),
        RANDOM: RandomCurve(low, high, levels=levels, seed=seed, **shared),
    }


def with_quad(ask: SequentialCurve, levels: int, seed: int) -> dict[str, Any]:
    """The integrator too, which takes hundreds of levels."""
    quad = QuadCurve(ask.low, ask.high, ask.thresholds, size=ask.size)
    return comparators(ask, levels, seed) | {QUAD: quad}


def simulated(world: World, curves: list[Measured], seed: int) -> Iterator[dict[str, Run]]:
    """All methods on all curves and thresholds, a fresh set of images for every order."""
    grid = np.linspace(0, 1, CELLS + 1)
    for order in range(world.orders):
        rng = np.random.default_rng([seed, world.size, order])
        images = Images.drawn(world.size, world.wiggle, rng)
        for curve, row in zip(curves, images.accuracies(curves, grid), strict=True):
            met = Shuffled(images, curve, rng)
            for threshold in THRESHOLDS:
                case = f"{curve.name} at {threshold:g}"
                ask = SequentialCurve(
                    0, 1, (threshold,), scope=world.scope, breaks=curve.breaks, size=world.size
                )
                true = (
                    truth(met.accuracies, row, threshold)
                    if world.scope == "set"
                    else truth(curve, curve(grid), threshold)
                )
                runs = compared(case, ask, met.right, true, world.others, seed=order)
                if world.scope == "set":
                    few = row[:: CELLS // (ORACLE_LEVELS - 1)]
                    runs[ORACLE] = oracle(case, few, threshold, true)
                yield runs


def oracle(case: str, row: np.ndarray, threshold: float, true: Truth) -> Run:
    """All images at evenly spread levels."""
    error = abs(float((row >= threshold).mean()) - true.value)
    return Run(case, len(row), len(row), error, covers=True, width=0.0)


def report(title: str, results: list[dict[str, Run]]) -> None:
    """A table of means, and where ours did worst."""
    print(f"\n{title}: {len(results)} runs")
    rows = []
    for name in results[0]:
        runs = [each[name] for each in results]
        errors = [run.error for run in runs]
        bounded = name not in NO_BOUND
        rows.append(
            [name, f"{np.mean([r.levels for r in runs]):.1f}",
             f"{np.mean([r.evaluations for r in runs]):.2f}",
             f"{np.mean(errors):.1e}", f"{np.max(errors):.1e}",
             f"{np.mean([r.covers for r in runs]):.3f}" if bounded else "no interval",
             f"{np.mean([r.width for r in runs]):.1e}" if bounded else ""]
        )  # fmt: skip
    print_table(
        ["method", "levels", "evaluations / N", "mean error", "largest", "covers", "width"], rows
    )
    worst(results)


def worst(results: list[dict[str, Run]]) -> None:
    """The cases in which ours cost most, erred most, or did not always cover the truth."""
    cases: dict[str, list[dict[str, Run]]] = {}
    for each in results:
        cases.setdefault(each[OURS].case, []).append(each)
    ours, asap = (
        {case: [mean(runs, name, what) for what in FIGURES] for case, runs in cases.items()}
        for name in (OURS, ASAP)
    )
    chosen = {
        "cost": sorted(ours, key=lambda case: -ours[case][0])[:3],
        "error": sorted(ours, key=lambda case: -ours[case][1])[:3],
        "covers": [case for case in sorted(ours, key=lambda c: ours[c][2]) if ours[case][2] < 1],
    }
    print("our worst cases, ASAP as published beside them")
    print_table(
        ["by", "case", "evaluations / N", "ASAP", "error", "ASAP", "covers", "ASAP"],
        [
            [by, case, *(f"{side[case][i]:{form}}" for i, form in FORMATS for side in (ours, asap))]
            for by, names in chosen.items()
            for case in names[:5]
        ],
    )


def mean(results: list[dict[str, Run]], name: str, what: str) -> float:
    """Over all runs of a method."""
    return float(np.mean([getattr(each[name], what) for each in results]))


def summary(results: list[dict[str, Run]], suffix: str = "") -> dict[str, float]:
    """What is compared with the targets."""
    ours = mean(results, OURS, "evaluations")
    return {
        f"evaluations_vs_asap{suffix}": round(mean(results, ASAP, "evaluations") / ours, 2),
        f"evaluations_vs_oracle{suffix}": round(ORACLE_LEVELS / ours, 1),
        f"error_vs_asap{suffix}": round(
            mean(results, OURS, "error") / mean(results, ASAP, "error"), 3
        ),
        f"levels_vs_asap{suffix}": round(
            mean(results, ASAP, "levels") / mean(results, OURS, "levels"), 2
        ),
    }


def network(file: Path, *, quick: bool) -> dict[str, float]:
    """The same on a real network, and wall times."""
    size, cells, finer, orders = (250, 64, 4, 2) if quick else (1000, 256, 8, 8)
    results: list[dict[str, Run]] = []
    times = []
    for world in curve_network.perturbed(file, size, FEW_PERTURBATIONS if quick else ()):
        rough = world.accuracies(np.linspace(0, 1, cells + 1))
        for threshold in REAL_THRESHOLDS:
            true = truth(world.accuracies, rough, threshold, finer)
            ask = SequentialCurve(world.low, world.high, (threshold,), size=size)
            case = f"{world.name} at {threshold:g}"
            exact = {ORACLE: oracle(case, rough, threshold, true)}
            results += [
                compared(case, ask, world.in_order(order), true, comparators) | exact
                for order in range(FIRST_ORDER, FIRST_ORDER + orders)
            ]
            asap = PublishedAsap(world.low, world.high, threshold, size)
            times.append([case, *world.timed(asap, ask)])
    report(f"real network, {size:,} images, with an oracle of {cells + 1} levels", results)
    print("\nthe same through the engine, one core, images and seconds")
    print_table(["case", "ASAP", "ours", "ratio", "ASAP, s", "ours, s", "ratio"], times)
    return summary(results, "_real") | {"coverage_real": round(mean(results, OURS, "covers"), 4)}


def main() -> None:
    """Print the tables, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder with accuracy_curves.csv")
    parser.add_argument("--mnist", type=Path, help="Fashion-MNIST: x_test and y_test in one .npz")
    parser.add_argument("--quick", action="store_true", help="under a minute")
    options = parser.parse_args()
    data = need_folder(options.data, "--data", "accuracy_curves.csv")
    if options.mnist:
        need_file(options.mnist, "--mnist", "x_test and y_test in one .npz")
    few, many = (2, 2) if options.quick else (8, 16)
    worlds = [
        World("1,000 images", 1000, few, comparators if options.quick else with_quad),
        World("1,000 images that come and go", 1000, few, comparators, wiggle=WIGGLE),
        World("1,000 images, over the population", 1000, many, none, scope="population"),
        World("5,000 images", 5000, few, comparators),
        World("5,000 images that come and go", 5000, few, none, wiggle=WIGGLE),
        World("5,000 images, over the population", 5000, few, none, scope="population"),
    ]
    curves = measured(data)
    figures: dict[str, float] = {}
    coverage = 1.0
    for world in worlds[:3] if options.quick else worlds:
        results = list(simulated(world, curves, seed=1))
        report(world.title, results)
        if not figures:
            figures = summary(results)
        coverage = min(coverage, mean(results, OURS, "covers"))
    figures["coverage"] = round(coverage, 4)
    if options.mnist:
        figures |= network(options.mnist, quick=options.quick)
    print("\ntargets: evaluations_vs_asap >= 5, evaluations_vs_oracle >= 50, error_vs_asap <= 1,")
    print("levels_vs_asap >= 1 (ASAP's over ours), coverage >= 0.95 (the lowest of all tables)")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
