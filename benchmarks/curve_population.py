"""Curves over a population, and under noise that draws: coverage, and widths beside a reference.

The reference is Clopper-Pearson at levels fixed beforehand, tested in order from each end with half
of the error, all inputs at every level: what the data can say of a falling curve. With inputs whose
critical levels are uniform it gives .114 / .147 (200 inputs, thresholds .8 / .5) and .051 / .064
(1,000 inputs).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from curve_cases import Answer, Floats, Run, drawn, ranked, scored
from curve_coverage import ERROR, RESOLUTION, rejected, scatter
from curve_sets import (
    ASSUMPTIONS,
    BELL,
    CURVATURE,
    DEFAULT,
    FLAT,
    MONOTONE,
    ONE,
    RISE,
    TWO_SIDED,
    Points,
    evenly_spread,
    plateau,
    points,
    smooth,
)
from curve_steps import (
    StepCurve,
    bend_of,
    crosses_once,
    inputs_fall_once,
    right_at,
    rise_of,
    rows_of,
    turns_of,
)
from scipy.stats import beta, norm
from tables import print_table

from surefoot.curves import SequentialCurve

UNIFORM = points((0, 1), (1, 0))
DIP = points((0, 0.9), (0.4, 0.88), (0.4, 0.7), (0.5, 0.7), (0.5, 0.88), (0.8, 0.85), (1, 0.5))
BLIP, BLIP_SHARE = 0.08, 0.5
"""Length of a flicker, and the share of inputs that have one, anywhere from -BLIP to 1."""
FLIPPED = BLIP_SHARE * BLIP / (1 + BLIP)
"""The share of inputs that are flipped at any level."""
LINEAR_SIZE = 200
_MARGINS = np.random.default_rng(5).lognormal(-1.3, 0.5, LINEAR_SIZE)
"""Of a linear model: trials at a level are right with probability Φ(margin / level)."""
LINEAR = smooth(lambda x: np.mean(norm.cdf(_MARGINS[:, None] / np.maximum(x, 1e-9)), axis=0))
REFERENCE_LEVELS = 1000
WIDTHS = ((200, 0.8), (200, 0.5), (1000, 0.8), (1000, 0.5))
MANY, VERY_MANY = 4000, 2000
WIDTH_RUNS = 200


@dataclass(frozen=True)
class Case:
    """A population or an expected curve; `flickers`: inputs change on their own."""

    shape: Points
    size: int
    threshold: float = 0.8
    clean: float = 0.0
    flickers: bool = False

    @property
    def curve(self) -> Points:
        """Of the population."""
        levels, accuracies = self.shape
        if not self.flickers:
            return self.shape
        return levels, accuracies * (1 - FLIPPED) + (1 - accuracies) * FLIPPED

    @property
    def truth(self) -> float:
        """The share of the range on which the curve is at or above the threshold."""
        turns = turns_of(*self.curve, np.array([self.threshold - 1e-12]))
        return StepCurve.of(turns).share_at_least(1.0)

    def accuracy(self, share: float) -> Floats:
        """Of the population."""
        return np.asarray(np.interp(share, *self.curve))


_FALLS = {"uniform": UNIFORM, "bell": BELL, "flat": FLAT}
POPULATIONS: dict[str, Case] = {
    **{f"{name}, {n}": Case(shape, n) for name, shape in _FALLS.items() for n in (200, 1000)},
    "uniform at 0.5, 200": Case(UNIFORM, 200, 0.5),
    "two-sided, 500": Case(TWO_SIDED, 500, clean=0.5),
    "dip of 10%, 500": Case(DIP, 500),
    "plateau at the threshold, 500": Case(plateau(0), 500),
    "inputs that flicker, 500": Case(BELL, 500, flickers=True),
}
NOISES: dict[str, Case] = {
    "linear": Case(LINEAR, LINEAR_SIZE),
    "linear at 0.7": Case(LINEAR, LINEAR_SIZE, 0.7),
    "dip of 10%": Case(DIP, LINEAR_SIZE),
    "plateau at the threshold": Case(plateau(0), LINEAR_SIZE),
}
_DIPS: tuple[str, ...] = ()
_FALLING = (RISE, ONE, MONOTONE)
MEETS_POPULATION: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(POPULATIONS, ASSUMPTIONS),
    "dip of 10%, 500": _DIPS,
    "plateau at the threshold, 500": _FALLING,
    "inputs that flicker, 500": (RISE, ONE, CURVATURE),
}
MEETS_NOISE: dict[str, tuple[str, ...]] = {
    "linear": (RISE, ONE, CURVATURE),
    "linear at 0.7": (RISE, ONE, CURVATURE),
    "dip of 10%": _DIPS,
    "plateau at the threshold": (RISE, ONE),
}
"""Noise that draws has no critical level of an input, so monotone per input says nothing there."""


def check_cases() -> None:
    """Hold both tables to the curves, as a very large set of inputs shows them."""
    for cases, meets in ((POPULATIONS, MEETS_POPULATION), (NOISES, MEETS_NOISE)):
        for name, case in cases.items():
            turns = turns_of(*case.curve, evenly_spread(VERY_MANY))
            whole = StepCurve.of(turns)
            checks = {
                RISE: rise_of(whole, case.clean) <= 0.005,
                ONE: crosses_once(whole, case.threshold, case.clean),
                MONOTONE: cases is POPULATIONS
                and not case.flickers
                and inputs_fall_once(turns, case.clean),
                CURVATURE: bend_of(*case.curve) <= float(CURVATURE.partition(":")[2]),
            }
            actual = {assumption for assumption, true in checks.items() if true}
            assert actual == set(meets[name]), f"{name} meets {sorted(actual)}: correct the table"


def procedure_of(case: Case, assumption: str, scope: str, *, fresh: bool) -> SequentialCurve:
    """Ours for this case."""
    return SequentialCurve(
        0, 1, (case.threshold,), ERROR, RESOLUTION,
        scope=scope, assume=assumption, size=case.size, fresh=fresh, clean=case.clean,
    )  # fmt: skip


def sample(case: Case, rng: np.random.Generator) -> Answer:
    """Inputs drawn from the population."""
    ranks = rng.uniform(size=case.size)
    if not case.flickers:
        return ranked(ranks, lambda share: np.asarray(np.interp(share, *case.shape)))
    steady = turns_of(*case.shape, ranks)
    inputs, places = np.nonzero(np.isfinite(steady))
    chosen = np.flatnonzero(rng.random(case.size) < BLIP_SHARE)
    begin = rng.uniform(-BLIP, 1, len(chosen))
    where = np.concatenate([steady[inputs, places], begin, begin + BLIP])
    turns = rows_of(np.concatenate([inputs, chosen, chosen]), where, case.size)
    return lambda level, start, units: right_at(turns[start : start + units], level)


def population_runs(key: tuple[str, str], seeds: range) -> list[Run]:
    """A new sample of the population for each seed."""
    name, assumption = key
    case = POPULATIONS[name]
    procedure = procedure_of(case, assumption, "population", fresh=False)
    return [
        scored(name, procedure, sample(case, np.random.default_rng([13, seed])), case.truth)
        for seed in seeds
    ]


def noise_runs(key: tuple[str, str], seeds: range) -> list[Run]:
    """New draws for each seed."""
    name, assumption = key
    case = NOISES[name]
    procedure = procedure_of(case, assumption, "set", fresh=True)
    return [
        scored(name, procedure, drawn(case.accuracy, np.random.default_rng([17, seed])), case.truth)
        for seed in seeds
    ]


def width_runs(key: tuple[int, float, str], seeds: range) -> list[Run]:
    """Uniform critical levels: ours, or the reference where no assumption is named."""
    size, threshold, assumption = key
    case, runs = Case(UNIFORM, size, threshold), []
    for seed in seeds:
        rng = np.random.default_rng([19, size, seed])
        if assumption:
            procedure = procedure_of(case, assumption, "population", fresh=False)
            runs.append(scored("ours", procedure, sample(case, rng), case.truth))
        else:
            low, high = reference(1 - rng.uniform(size=size), threshold)
            cost = float(REFERENCE_LEVELS + 1)
            runs.append(Run("reference", REFERENCE_LEVELS + 1, cost, low, low, high, case.truth,
                            contradicted=False))  # fmt: skip
    return runs


def reference(critical: Floats, threshold: float) -> tuple[float, float]:
    """Clopper-Pearson at fixed levels, in order from each end, until one is not decided."""
    size = len(critical)
    levels = np.linspace(0, 1, REFERENCE_LEVELS + 1)
    kept = size - np.searchsorted(np.sort(critical), levels, "right")
    above = (kept > 0) & (beta.ppf(ERROR / 2, kept, size - kept + 1) >= threshold)
    below = (kept < size) & (beta.ppf(1 - ERROR / 2, kept + 1, size - kept) < threshold)
    first, last = int(np.argmin(above)), int(np.argmin(below[::-1]))
    low = levels[first - 1] if first else 0.0
    high = levels[REFERENCE_LEVELS + 1 - last] if last else 1.0
    return float(low), float(high)


def rows(results: dict[tuple[str, str], list[Run]]) -> list[list[str]]:
    """One for each case and assumption."""
    return [
        [*key, f"{len(runs):,}", f"{np.mean([not run.covers for run in runs]):.3f}",
         f"{np.mean([run.contradicted for run in runs]):.3f}",
         f"{np.mean([run.width for run in runs]):.4f}",
         f"{np.mean([run.evaluations for run in runs]):.2f}",
         "FALSE TOO OFTEN" if rejected(runs) else ""]
        for key, runs in results.items()
    ]  # fmt: skip


_HEADER = (
    "curve",
    "assumption",
    "runs",
    "false",
    "contradicted",
    "mean width",
    "evaluations / N",
    "",
)


def population_part(pool: Executor, runs: int, first: int) -> dict[str, float]:
    """Coverage, then widths beside the reference."""
    check_cases()
    counts = {
        (name, a): runs
        for name in POPULATIONS
        for a in MEETS_POPULATION[name]
        if a != CURVATURE  # refused for a population
    }
    results = scatter(pool, population_runs, counts, first)
    print("\nover the population, a new sample in each run")
    print_table(_HEADER, rows(results))
    few = max(10, min(runs, WIDTH_RUNS))
    assumptions = (MONOTONE, DEFAULT, "")
    wanted = {(*each, a): few for each in WIDTHS for a in assumptions}
    wanted |= {(MANY, t, a): max(5, few // 4) for t in (0.8, 0.5) for a in assumptions}
    widths = {
        key: float(np.mean([run.width for run in each]))
        for key, each in scatter(pool, width_runs, wanted, first).items()
    }
    print("\nmean width over the population, critical levels uniform")
    print_table(["inputs", "threshold", "reference", *assumptions[:2], "ratio", "ratio"], [
        [f"{n:,}", f"{t:g}", f"{widths[n, t, '']:.4f}",
         *(f"{widths[n, t, a]:.4f}" for a in assumptions[:2]),
         *(f"{widths[n, t, a] / widths[n, t, '']:.2f}" for a in assumptions[:2])]
        for n, t in (*WIDTHS, (MANY, 0.8), (MANY, 0.5))
    ])  # fmt: skip
    over = {a: max(widths[n, t, a] / widths[n, t, ""] for n, t in WIDTHS) for a in assumptions[:2]}
    return {
        "false_intervals": sum(rejected(each) for each in results.values()),
        "population_width": round(max(over.values()), 3),
        "population_width_monotone": round(over[MONOTONE], 3),
        "population_width_default": round(over[DEFAULT], 3),
        "population_narrows": all(
            widths[MANY, t, a] < widths[1000, t, a] for t in (0.8, 0.5) for a in assumptions[:2]
        ),
    }


def noise_part(pool: Executor, runs: int, first: int) -> dict[str, float]:
    """Expected curves under noise, every trial with draws of its own."""
    check_cases()
    counts = {(name, a): runs for name in NOISES for a in MEETS_NOISE[name]}
    results = scatter(pool, noise_runs, counts, first)
    print("\nnoise that draws: the expected curve of 200 inputs")
    print_table(_HEADER, rows(results))
    linear: Sequence[Run] = results["linear", DEFAULT]
    return {
        "false_intervals": sum(rejected(each) for each in results.values()),
        "noise_false": round(float(np.mean([not run.covers for run in linear])), 4),
    }
