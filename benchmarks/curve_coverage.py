"""How often an interval is false and how wide it is, in worlds whose curve is known exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from statistics import median
from typing import TypeVar

import numpy as np
from curve_cases import Run, scored
from curve_sets import (
    CURVATURE,
    MEETS,
    MONOTONE,
    NARROW,
    PLACEMENTS,
    RISE,
    TO_BE_NOTICED,
    WORLDS,
    check_worlds,
    placed,
)
from curve_steps import forced_width, rise_of
from scipy.stats import binomtest
from tables import print_table

from surefoot.curves import SequentialCurve

ERROR, RESOLUTION = 0.05, 0.001
LEVEL = 0.001
"""Of the one-sided binomial test by which an interval is false too often."""
CHUNK = 25
"""Runs of one job of a process: about half a second."""
VIOLATED_SHARE = 5
"""Where the assumption is violated, nothing is promised: one run instead of so many."""
SPARE_INPUTS = 2
"""By how many inputs a set may be off the smooth curve behind it, under bounded curvature."""
Key = TypeVar("Key", bound=Hashable)


def rejected(runs: Sequence[Run]) -> bool:
    """Whether so many false intervals reject the stated error."""
    false = sum(not run.covers for run in runs)
    return bool(binomtest(false, len(runs), ERROR, "greater").pvalue < LEVEL)


def scatter(
    pool: Executor,
    work: Callable[[Key, range], list[Run]],
    counts: dict[Key, int],
    first: int,
) -> dict[Key, list[Run]]:
    """So many runs of each, with seeds from `first` on."""
    jobs = [
        (key, range(first + start, first + min(start + CHUNK, count)))
        for key, count in counts.items()
        for start in range(0, count, CHUNK)
    ]
    results: dict[Key, list[Run]] = {key: [] for key in counts}
    for (key, _), runs in zip(jobs, pool.map(work, *zip(*jobs, strict=True)), strict=True):
        results[key] += runs
    return results


def world_runs(key: tuple[str, str], seeds: range) -> list[Run]:
    """One world under one assumption, the inputs in a new order for each seed."""
    name, assumption = key
    world, runs = WORLDS[name], []
    clean = world.low + world.clean * (world.high - world.low)
    procedure = SequentialCurve(
        world.low, world.high, (world.threshold,), ERROR, RESOLUTION,
        assume=assumption, size=world.size, clean=clean,
    )  # fmt: skip
    spare = SPARE_INPUTS / world.size if assumption == CURVATURE else 0.0
    for seed in seeds:
        one = placed(name, seed % PLACEMENTS)
        lowest, highest = (
            one.curve.share_at_least(world.threshold + sign * spare) for sign in (1, -1)
        )
        order = np.random.default_rng([11, seed]).permutation(world.size)
        middle, off = (lowest + highest) / 2, (highest - lowest) / 2
        stays = one.curve.stays_at_least(world.threshold, world.clean)
        runs.append(scored(name, procedure, one.answers(world, order), middle, off, stays))
    return runs


def worlds_part(
    pool: Executor, runs: int, first: int, assumptions: Sequence[str]
) -> dict[str, float]:
    """All worlds under these assumptions: the tables and the figures."""
    check_worlds()
    counts = {
        (name, assumption): runs if assumption in MEETS[name] else max(5, runs // VIOLATED_SHARE)
        for name in WORLDS
        for assumption in assumptions
    }
    results = scatter(pool, world_runs, counts, first)
    kept = {key: each for key, each in results.items() if key[1] in MEETS[key[0]]}
    violated = {key: each for key, each in results.items() if key not in kept}
    print(f"\nworlds that meet the assumption, {runs:,} runs each, resolution {RESOLUTION:g};")
    print("forced: the width that the assumption leaves with all inputs at 1,025 levels")
    print_table(
        ["world", "assumption", "rise", "false", "contradicted", "median width", "forced",
         "ratio", "evaluations / N", ""],
        [kept_row(key, each) for key, each in kept.items()],
    )  # fmt: skip
    print("\nworlds that violate the assumption: how often that is said, and how often false")
    print_table(
        ["world", "assumption", "rise", "contradicted", "false", "false and not said",
         "median width", "evaluations / N"],
        [violated_row(key, each) for key, each in violated.items()],
    )  # fmt: skip
    noticed = {key: each for key, each in violated.items() if _to_be_noticed(key[0])}
    print(f"\nrises of {TO_BE_NOTICED:.0%} or more over a twentieth of the range, by assumption")
    print_table(
        ["assumption", "runs", "said", "false and not said"],
        [[assumption, str(len(each) * len(next(iter(each.values())))),
          f"{share(each, lambda run: run.contradicted):.3f}",
          f"{share(each, lambda run: not (run.covers or run.contradicted)):.3f}"]
         for assumption in assumptions
         if (each := {key: runs for key, runs in noticed.items() if key[1] == assumption})],
    )  # fmt: skip
    default = {key: each for key, each in noticed.items() if key[1] == RISE}
    widths = [median(r.width for r in each) for key, each in kept.items() if key[1] == MONOTONE]
    ratios = [width_ratio(key, each) for key, each in kept.items() if key[1] != MONOTONE]
    return {
        "false_intervals": sum(rejected(each) for each in kept.values()),
        "median_width": round(max(widths, default=math.nan) / RESOLUTION, 2),
        "width_vs_forced": round(max(ratios, default=math.nan), 2),
        "said_when_violated": round(share(default, lambda run: run.contradicted), 3),
        "false_where_violated": round(share(violated, lambda run: not run.covers), 3),
    }


def _to_be_noticed(name: str) -> bool:
    curves = (placed(name, i).curve for i in range(PLACEMENTS))
    least = min(rise_of(curve, WORLDS[name].clean) for curve in curves)
    return least >= TO_BE_NOTICED - 1e-9 and not name.startswith(NARROW)


def share(results: dict[tuple[str, str], list[Run]], true: Callable[[Run], bool]) -> float:
    """Of all runs."""
    return float(np.mean([true(run) for each in results.values() for run in each] or [np.nan]))


def forced(key: tuple[str, str]) -> float:
    """The median forced width of the world's sets."""
    name, assumption = key
    world = WORLDS[name]
    return median(
        forced_width(placed(name, i).curve, world.threshold, assumption, world.clean)
        for i in range(PLACEMENTS)
    )


def width_ratio(key: tuple[str, str], runs: Sequence[Run]) -> float:
    """The median width over the forced one, which the resolution need not go below."""
    return median(run.width for run in runs) / max(forced(key), RESOLUTION)


def rise(name: str) -> str:
    """The largest of any set of the world."""
    world = WORLDS[name]
    return f"{max(rise_of(placed(name, i).curve, world.clean) for i in range(PLACEMENTS)):.3f}"


def kept_row(key: tuple[str, str], runs: Sequence[Run]) -> list[str]:
    """A world that meets the assumption."""
    return [
        key[0], key[1], rise(key[0]),
        f"{np.mean([not run.covers for run in runs]):.3f}",
        f"{np.mean([run.contradicted for run in runs]):.3f}",
        f"{median(run.width for run in runs):.4f}", f"{forced(key):.4f}",
        f"{width_ratio(key, runs):.2f}", f"{np.mean([run.evaluations for run in runs]):.2f}",
        "FALSE TOO OFTEN" if rejected(runs) else "",
    ]  # fmt: skip


def violated_row(key: tuple[str, str], runs: Sequence[Run]) -> list[str]:
    """A world that does not."""
    return [
        key[0], key[1], rise(key[0]),
        f"{np.mean([run.contradicted for run in runs]):.3f}",
        f"{np.mean([not run.covers for run in runs]):.3f}",
        f"{np.mean([not (run.covers or run.contradicted) for run in runs]):.3f}",
        f"{median(run.width for run in runs):.4f}",
        f"{np.mean([run.evaluations for run in runs]):.2f}",
    ]  # fmt: skip
