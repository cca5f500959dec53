"""Is p at most κ, and what share of inputs is robust?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from figures.panels import DASHED, DOTTED, OCHRE, Axis, Curve, Drawing, beside, level, note, panel
from surefoot.core.results import Decision, Estimate, Footing, Guarantee
from surefoot.population import RobustShare
from surefoot.report.figures import INK, STEADY, WEAK
from surefoot.statistics import KappaTest
from surefoot.statistics.kappa import (
    clean_size,
    log_evidence_above,
    log_evidence_below,
    tail_above,
    tail_below,
)
from surefoot.statistics.planning import simulate_trials

KAPPA, ERROR = 0.01, 0.05
MOST = 40_000
Rule = Callable[[int, int], bool]


def kappa_test() -> str:
    """Mean trials against p/κ beside the floor; false certificates against the number of looks."""
    return beside(_kappa_costs(), _kappa_errors())


def _kappa_costs() -> Drawing:
    below, above = np.geomspace(0.02, 0.65, 11).tolist(), np.geomspace(1.5, 50, 10).tolist()
    gap, ratios = (1.0, math.nan), (0.02, 0.1, 0.5, 1, 2, 10, 50)
    drawn = panel(
        "Mean trials (κ = 0.01, error 5 %)",
        [
            Curve("κ-test", [*_means(below), gap, *_means(above)], STEADY),
            Curve("least any test needs", [*_floor(below), gap, *_floor(above)], INK, DASHED),
        ],
        Axis("failure probability, in units of κ (log scale)", (0.02, 50), "log", "~g", ratios),
        Axis("trials, in units of 1/κ (log scale)", (0.1, 100), "log", "~g", (0.1, 1, 10, 100)),
    )
    return drawn + note(1.0, 0.3, "at κ no test\ncan finish", align="center")


def _kappa_errors() -> Drawing:
    looks = [2**i for i in range(11)]
    published, ours = (
        [(k, 100 * false_certificates(_sizes(k), *rules)) for k in looks]
        for rules in (PUBLISHED, OURS)
    )
    return panel(
        "Falsely declared robust at p = κ",
        [
            Curve("published rule", published, WEAK),
            Curve("κ-test", ours, STEADY),
            Curve("allowed", level(100 * ERROR, 1, 1024), INK, DOTTED),
        ],
        Axis("looks from 299 to 40,000 trials (log scale)", (1, 1024), "log", ",d", looks[::2]),
        Axis("false certificates (%)", (0, 40)),
        columns=3,
    )


def _means(ratios: list[float]) -> list[tuple[float, float]]:
    """Rehearsed, 400 runs each, always on the same random numbers."""
    test = KappaTest(KAPPA, ERROR)
    return [(r, KAPPA * simulate_trials(test, 1 - r * KAPPA, runs=400).mean) for r in ratios]


def _floor(ratios: list[float]) -> list[tuple[float, float]]:
    """Wald: mean trials times the divergence of p from κ is at least that of the two answers."""
    return [
        (r, KAPPA * _divergence(1 - ERROR, ERROR) / _divergence(r * KAPPA, KAPPA)) for r in ratios
    ]


def _divergence(a: float, b: float) -> float:
    return a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))


def _sizes(looks: int) -> list[int]:
    """From the first size at which the published rule can certify to the most, in equal ratios."""
    if looks == 1:
        return [MOST]
    sizes = np.geomspace(clean_size(KAPPA, ERROR), MOST, looks)
    return sorted({round(size) for size in sizes.tolist()})


PUBLISHED: tuple[Rule, Rule] = (
    lambda failed, trials: tail_below(failed, trials, KAPPA) <= ERROR,
    lambda failed, trials: tail_above(failed, trials, KAPPA) <= ERROR,
)
OURS: tuple[Rule, Rule] = (
    lambda failed, trials: log_evidence_below(failed, trials, KAPPA) >= math.log(1 / ERROR),
    lambda failed, trials: log_evidence_above(failed, trials, KAPPA) >= math.log(1 / ERROR),
)


def false_certificates(sizes: Sequence[int], robust: Rule, fragile: Rule) -> float:
    """P(declared robust) at p = κ when one looks at these sizes, by an exact recursion."""
    alive, first, wrong = np.ones(1), 0, 0.0
    few, many = -1, 1
    for before, size in pairwise([0, *sizes]):
        new = np.arange(int(binom.isf(1e-15, size - before, KAPPA)) + 1)
        alive = np.convolve(alive, binom.pmf(new, size - before, KAPPA))
        while robust(few + 1, size):
            few += 1
        while not fragile(many, size):
            many += 1
        failed = first + np.arange(len(alive))
        wrong += float(alive[failed <= few].sum())
        on = (failed > few) & (failed < many)
        first, alive = int(failed[on][0]), alive[on]
    return wrong


def robust_share() -> str:
    """The bounds for the robust share against the share declared robust."""
    shares, a = np.linspace(0.5, 1, 101), ERROR

    def bound(values: NDArray[np.float64]) -> list[tuple[float, float]]:
        clipped = 100 * np.clip(values, 0, 1)
        return list(zip((100 * shares).tolist(), clipped.tolist(), strict=True))

    known = [
        Curve("at most", bound(shares / (1 - a)), STEADY),
        Curve("at least", bound((shares - a) / (1 - a)), STEADY, DASHED),
        Curve("at least, as printed", bound((shares - a) / (1 + a)), WEAK, DASHED),
    ]
    axes = Axis("declared robust (%)", (50, 100)), Axis("robust (%)", (40, 100))
    estimated = [*_estimated(100, OCHRE), *_estimated(1000, STEADY)]
    return beside(
        panel("If the share declared robust were known", known, *axes),
        panel("Estimated from inputs", estimated, *axes),
    )


def _estimated(inputs: int, colour: str) -> list[Curve]:
    """The interval of `RobustShare` for so many inputs, all of them decided."""
    ends = []
    for robust in np.linspace(inputs // 2, inputs, 51).round().astype(int).tolist():
        local = [_decided(True)] * robust + [_decided(False)] * (inputs - robust)
        found = RobustShare(ERROR).conclude(local, ERROR)
        assert isinstance(found, Estimate)
        low, high = found.interval.low, found.interval.high
        ends.append((100 * robust / inputs, 100 * low, 100 * high))
    return [
        Curve(f"at most, {inputs:,} inputs", [(w, high) for w, _, high in ends], colour),
        Curve(f"at least, {inputs:,} inputs", [(w, low) for w, low, _ in ends], colour, DASHED),
    ]


def _decided(holds: bool) -> Decision:
    return Decision("p is at most κ", holds, Guarantee(Footing.SOUND, ERROR), 1)
