"""What a sequential design costs, in expected trials."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
