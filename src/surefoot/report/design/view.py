"""A sequential design in words and numbers: what is promised, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from surefoot.report.formatting import odds
from surefoot.statistics.bounds import fixed_size, okamoto
from surefoot.statistics.designs import Design
from surefoot.statistics.proof import expected_trials


@dataclass(frozen=True)
class Expected:
    """Mean trials at p and at 1 - p; `limit` is what any sound method needs for small widths."""

    p: float
    trials: float
    limit: float


@dataclass(frozen=True)
class Cost:
    """What a design costs, beside two numbers that serve every p."""

    okamoto: int
    fixed_size: int
    expected: tuple[Expected, ...]


def cost(design: Design, probabilities: Iterable[float]) -> Cost:
    """Expected trials at these p, by the exact recursion; nothing is simulated."""
    width, error = design.width, design.error
    expected = tuple(
        Expected(p, expected_trials(design, p), limit(width, error, p)) for p in probabilities
    )
    return Cost(okamoto(width, error), fixed_size(width, error), expected)


def limit(width: float, error: float, p: float) -> float:
    """Trials that any sound method needs on average as the width goes to 0: z² p(1-p)/width²."""
    from scipy.special import ndtri

    return float(ndtri(error / 2)) ** 2 * p * (1 - p) / width**2


def sentences(design: Design) -> tuple[str, ...]:
    """The promise, the looks, and what is proved."""
    first, last = design.looks[0], design.looks[-1]
    looks = (
        f"One look, at {last:,} trials"
        if first == last
        else f"{len(design.looks)} looks, from {first:,} to {last:,} trials"
    )
    return (
        f"An estimate within {design.width:g} of the truth, whatever that is "
        f"({odds(design.error)}).",
        f"{looks}; z = {design.z:.5f}.",
        f"Proved for every p: a miss has probability at most {_up(design.proved)}.",
    )


def _up(probability: float) -> str:
    """Six digits, rounded up: the words promise no more than was proved."""
    unit = 10.0 ** (math.floor(math.log10(probability)) - 5)
    return f"{math.ceil(probability / unit) * unit:.6g}"
