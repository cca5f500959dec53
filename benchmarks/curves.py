"""Robustness curves: cost and error beside ASAP as published, false intervals, widths.

    python benchmarks/curves.py --data DIR [--mnist FILE.npz] [--part NAME ...] [--runs 1000]
        [--processes 2] [--quick]

published: 20 measured curves stand for networks, image i of a set is right at a level if its rank
is below the curve, so the truth is exact; perturbations that draw (Gaussian noise) are apart. By a
digest of its name each curve is one to choose constants on (figures end in _tuning) or one that is
reported alone (_held).
network: the embedded network under seven perturbations, with the wall time of both through one
engine. worlds: finite sets with dips, steps, plateaus, flicker, whose curve is known exactly, under
each assumption. population: coverage, and widths beside Clopper-Pearson at fixed levels. noise:
expected curves, every trial with draws of its own. ASAP as printed (benchmarks/asap.py) does the
same work in the same run; the oracle evaluates all images at 1,025 levels.

DIR holds accuracy_curves.csv (model, alteration, level, accuracy), FILE.npz Fashion-MNIST's test
images x_test and labels y_test. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import curve_network
import numpy as np
from asap import PublishedAsap
from curve_cases import Measured, Run, drawn, measured, ranked, scored
from curve_coverage import scatter, worlds_part
from curve_network import ASAP, OURS
from curve_population import noise_part, population_part
from curve_sets import ASSUMPTIONS, DEFAULT
from curve_steps import StepCurve, turns_of
from prerequisites import need_file, need_folder
from processor import print_processor
from tables import print_table

from surefoot.curves import SequentialCurve

PARTS = ("published", "network", "worlds", "population", "noise")
THRESHOLDS, OWN_SHARES = (0.8, 0.7), (0.5, 0.8)
FIRST_ORDER = 10_000
"""Random orders from here on: none of them played a part in any choice. The embedded network and,
before they were divided, all published curves did, with other orders."""
STEEP = 0.1
"""By how much a curve falls whose interval is to be narrow."""
ORACLE_LEVELS = 1025
QUICK_RUNS = 20


@dataclass(frozen=True)
class Case:
    """One method on one published curve; `fresh`: every trial has draws of its own."""

    folder: Path
    curve: int
    threshold: float
    size: int
    method: str
    fresh: bool = False


@lru_cache(maxsize=1)
def curves_in(folder: Path) -> list[Measured]:
    """The published curves, read once."""
    return measured(folder)


def published_runs(case: Case, orders: range) -> list[Run]:
    """A new set of images for every order, the same for every method."""
    curve, size, threshold = curves_in(case.folder)[case.curve], case.size, case.threshold
    name, runs = f"{curve.name} at {threshold:.3g}", []
    for order in orders:
        rng = np.random.default_rng([order, size, case.curve])
        ranks = rng.uniform(size=size)
        exact = StepCurve.of(turns_of(curve.levels, curve.accuracies, ranks))
        truth, answer = exact.share_at_least(threshold), ranked(ranks, curve)
        stays = None if case.fresh else exact.stays_at_least(threshold, curve.clean)
        if case.fresh:
            expected = turns_of(curve.levels, curve.accuracies, np.array([threshold - 1e-12]))
            truth = StepCurve.of(expected).share_at_least(1.0)
        if case.method == ASAP:
            runs.append(scored(name, PublishedAsap(0, 1, threshold, size), answer, truth))
            continue
        ours = SequentialCurve(
            0, 1, (threshold,),
            assume=case.method, size=size, fresh=case.fresh, clean=curve.clean,
        )  # fmt: skip
        runs.append(
            scored(name, ours, drawn(curve, rng) if case.fresh else answer, truth, 0.0, stays)
        )
    return runs


def published_table(
    pool: Executor, title: str, cases: Sequence[tuple[int, float]], form: Case, orders: int
) -> dict[str, list[Run]]:
    """All methods on these curves and thresholds: printed, and the runs by method."""
    methods = (ASAP, DEFAULT) if form.fresh else (ASAP, *ASSUMPTIONS)
    counts = {
        Case(form.folder, curve, threshold, form.size, method, form.fresh): orders
        for curve, threshold in cases
        for method in methods
    }
    results: dict[str, list[Run]] = {method: [] for method in methods}
    for case, runs in scatter(pool, published_runs, counts, FIRST_ORDER).items():
        results[case.method] += runs
    report(title, results)
    worst(results)
    return results


def report(title: str, results: dict[str, list[Run]]) -> None:
    """A table of means; errors on curves that cross the threshold."""
    print(f"\n{title}: {len(results[ASAP]):,} runs")
    rows = []
    for name, runs in results.items():
        errors = crossing_errors(runs) or [0.0]
        rows.append(
            [name, f"{np.mean([r.levels for r in runs]):.1f}", f"{evaluations(runs):.2f}",
             f"{evaluations(results[ASAP]) / evaluations(runs):.2f}",
             f"{np.mean(errors):.1e}", f"{np.max(errors):.1e}",
             f"{np.mean([r.covers for r in runs]):.3f}",
             f"{np.mean([r.contradicted for r in runs]):.3f}",
             f"{np.mean([r.width for r in runs]):.1e}",
             f"{np.median([r.width for r in runs]):.1e}"]
        )  # fmt: skip
    rows.append(["oracle", str(ORACLE_LEVELS), f"{ORACLE_LEVELS:.2f}",
                 f"{evaluations(results[ASAP]) / ORACLE_LEVELS:.2f}", *[""] * 6])  # fmt: skip
    print_table(
        ["method", "levels", "evaluations / N", "ASAP / it", "mean error", "largest", "covers",
         "contradicted", "mean width", "median width"],
        rows,
    )  # fmt: skip


def worst(results: dict[str, list[Run]], ours: str = DEFAULT) -> None:
    """The three cases in which ours cost most, and those in which it did not always cover."""
    cases: dict[str, list[Run]] = {}
    for run in results[ours]:
        cases.setdefault(run.case, []).append(run)
    costly = sorted(cases, key=lambda case: -evaluations(cases[case]))[:3]
    missed = [case for case, runs in cases.items() if not all(run.covers for run in runs)]
    print(f"our worst cases, {ours}")
    print_table(
        ["by", "case", "evaluations / N", "covers", "mean width"],
        [[by, case, f"{evaluations(cases[case]):.2f}",
          f"{np.mean([run.covers for run in cases[case]]):.2f}",
          f"{np.mean([run.width for run in cases[case]]):.1e}"]
         for by, names in (("cost", costly), ("covers", missed[:5])) for case in names],
    )  # fmt: skip


def evaluations(runs: Sequence[Run]) -> float:
    """The mean, in units of the set."""
    return float(np.mean([run.evaluations for run in runs]))


def crossing_errors(runs: Sequence[Run]) -> list[float]:
    """On curves that cross the threshold."""
    return [run.error for run in runs if run.crosses]


def figures_of(results: dict[str, list[Run]], ours: str, suffix: str = "") -> dict[str, float]:
    """What is compared with the targets."""
    mine, theirs = (float(np.mean(crossing_errors(results[name]))) for name in (ours, ASAP))
    cost = evaluations(results[ours])
    return {
        f"evaluations_vs_asap{suffix}": round(evaluations(results[ASAP]) / cost, 2),
        f"error_vs_asap{suffix}": round(mine / theirs, 3),
        f"mean_error{suffix}": float(f"{mine:.2g}"),
        f"mean_error_asap{suffix}": float(f"{theirs:.2g}"),
        f"covers{suffix}": round(float(np.mean([run.covers for run in results[ours]])), 4),
    }


def by_part(
    curves: Sequence[Measured], results: dict[str, list[Run]], suffix: str = ""
) -> dict[str, float]:
    """The figures of curves to choose constants on, and of those that are only reported."""
    figures: dict[str, float] = {}
    for part, held in (("_tuning", False), ("_held", True)):
        names = tuple(f"{c.name} at " for c in curves if c.held_out is held)
        own = {m: [r for r in runs if r.case.startswith(names)] for m, runs in results.items()}
        figures |= figures_of(own, DEFAULT, suffix + part)
    return figures


def published_part(pool: Executor, folder: Path, *, quick: bool) -> dict[str, float]:
    """The published curves, those of noise apart."""
    curves = curves_in(folder)
    still, noise = (
        [i for i, c in enumerate(curves) if c.draws is draws] for draws in (False, True)
    )
    fixed = [(i, t) for i in still for t in THRESHOLDS]
    own = [(i, t) for i in still for t in curves[i].own_thresholds(OWN_SHARES)]
    noisy = [(i, t) for i in noise for t in THRESHOLDS]
    form, orders = Case(folder, 0, 0.0, 1000, ""), 2 if quick else 16
    table = partial(published_table, pool)
    title = "no perturbation draws, thresholds .8 and .7, 1,000 images"
    runs = table(title, fixed, form, orders)
    figures = figures_of(runs, DEFAULT) | by_part(curves, runs)
    title = "the same, thresholds at 50 % and 80 % of each curve's own range"
    figures |= figures_of(table(title, own, form, orders), DEFAULT, "_own")
    steep = [(i, t) for i, curve in enumerate(curves) if np.ptp(curve.accuracies) >= STEEP
             for t in curve.own_thresholds(OWN_SHARES)]  # fmt: skip
    title = "the same, of all curves that fall by 10 points or more (noise: one draw an image)"
    runs = table(title, steep, form, orders)
    figures |= figures_of(runs, DEFAULT, "_10_points") | by_part(curves, runs, "_10_points")
    figures["width_10_points"] = round(float(np.median([r.width for r in runs[DEFAULT]])), 4)
    small = Case(folder, 0, 0.0, 200, "")
    runs = table("no perturbation draws, thresholds .8 and .7, 200 images", fixed, small, orders)
    figures["passes_200"] = round(evaluations(runs[DEFAULT]), 2)
    still_above = [r for r in runs[DEFAULT] if not r.crosses]
    figures["passes_200_never"] = round(evaluations(still_above), 2)
    table("Gaussian noise, one draw an image, thresholds .8 and .7", noisy, form, orders)
    fresh = Case(folder, 0, 0.0, 1000, "", fresh=True)
    title = "Gaussian noise counted as sampling, held to the expected curve"
    table(title, noisy, fresh, 1 if quick else 8)
    if not quick:
        large = Case(folder, 0, 0.0, 5000, "")
        title = "no perturbation draws, thresholds .8 and .7, 5,000 images"
        figures |= figures_of(table(title, fixed, large, 4), DEFAULT, "_5000")
    return figures


def network_part(pool: Executor, file: Path, *, quick: bool) -> dict[str, float]:
    """The embedded network, and wall times."""
    names = curve_network.QUICK if quick else tuple(curve_network.PERTURBATIONS)
    orders = range(FIRST_ORDER, FIRST_ORDER + (2 if quick else 8))
    work = partial(curve_network.network_runs, file=file, quick=quick, orders=orders)
    still: dict[str, list[Run]] = {ASAP: [], OURS: []}
    noise: dict[str, list[Run]] = {ASAP: [], OURS: []}
    times = []
    for name, (runs, seconds) in zip(names, pool.map(work, names), strict=True):
        for each in runs:
            for method, run in each.items():
                (noise if name == curve_network.DRAWS else still)[method].append(run)
        times += seconds
    report("real network, no perturbation draws", still)
    worst(still, OURS)
    if noise[ASAP]:
        report("real network, Gaussian noise, one draw an image", noise)
    print("\nthe same through the engine, one core, images and seconds")
    print_table(["case", "ASAP", "ours", "ratio", "ASAP, s", "ours, s", "ratio"], times)
    return figures_of(still, OURS, "_real")


def overlap(pool: Executor, *, quick: bool) -> dict[str, float]:
    """Whether the intervals of one network under noise, by different seeds, all overlap."""
    rows = pool.submit(curve_network.noise_intervals, quick).result()
    print("\nthe embedded network under Gaussian noise, a study for each seed")
    print_table(
        ["seed", "low", "high", "trials"],
        [[f"{seed:.0f}", f"{low:.4f}", f"{high:.4f}", f"{trials:,.0f}"]
         for seed, low, high, trials in rows],
    )  # fmt: skip
    return {"noise_overlap": max(row[1] for row in rows) <= min(row[2] for row in rows)}


def main() -> None:
    """Print the tables, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder with accuracy_curves.csv")
    parser.add_argument("--mnist", type=Path, help="Fashion-MNIST: x_test and y_test in one .npz")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be repeated")
    parser.add_argument(
        "--assume", choices=ASSUMPTIONS, action="append", help="worlds under this alone; repeat it"
    )
    parser.add_argument("--runs", type=int, default=1000, help="of each world")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true", help="under a minute on two cores")
    options = parser.parse_args()
    print_processor()
    parts = options.part or [p for p in PARTS if p != "network" or options.mnist]
    runs = QUICK_RUNS if options.quick else options.runs
    if "published" in parts:
        need_folder(options.data, "--data", "accuracy_curves.csv")
    if "network" in parts:
        need_file(options.mnist or Path("FILE.npz"), "--mnist", "x_test and y_test in one .npz")
    figures: dict[str, float] = {}
    false = 0.0
    with ProcessPoolExecutor(options.processes) as pool:
        work = {
            "published": lambda: published_part(pool, options.data, quick=options.quick),
            "network": lambda: network_part(pool, options.mnist, quick=options.quick),
            "worlds": lambda: worlds_part(pool, runs, FIRST_ORDER, options.assume or ASSUMPTIONS),
            "population": lambda: population_part(pool, runs, FIRST_ORDER),
            "noise": lambda: (
                noise_part(pool, runs, FIRST_ORDER) | overlap(pool, quick=options.quick)
            ),
        }
        for part in parts:
            more = work[part]()
            false += more.pop("false_intervals", 0)
            figures |= more
    if set(parts) & {"worlds", "population", "noise"}:
        figures["false_intervals"] = false
    print("\ntargets: evaluations_vs_asap >= 5, evaluations_vs_asap_real >= 4, error_vs_asap <= 1,")
    print("width_10_points <= 0.03, covers >= 0.95, said_when_violated >= 0.9, false_intervals 0,")
    print("passes_200 <= 8, passes_200_never <= 6,")
    print("median_width <= 2, population_width <= 1.5, noise_false <= 0.05, noise_overlap true")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
