"""Bu & Sun's method without simulation: every pilot and every bracket, with its probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from surefoot.core.counts import Counts
from surefoot.statistics import BuSun

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]
ROUNDING = 1e-9


@dataclass(frozen=True)
class Stages:
    """The size of the pilot, of what follows each pilot, and of what follows each bracket.

    A second stage that is not among `last` was the final one.
    """

    pilot: int
    second: Wholes
    last: dict[int, Wholes]


def stages(method: BuSun) -> Stages:
    """Ask the method itself, once for each answer that makes a difference."""
    pilot = _asked(method, ())[0] or 0
    second = np.array([_asked(method, (k,))[1] for k in range(pilot + 1)])
    last: dict[int, Wholes] = {}
    for k, size in enumerate(second.tolist()):
        if size in last or _asked(method, (k, 0))[2] is None:
            continue
        last[size] = np.array([_asked(method, (k, held))[2] for held in range(size + 1)])
    return Stages(pilot, second, last)


def _asked(method: BuSun, answers: tuple[int, ...]) -> list[int | None]:
    """What the method asks in turn when so many hold; None once it has ended."""
    steps = method.steps()
    asked: list[int | None] = [next(steps)]
    for held in answers:
        try:
            asked.append(steps.send(Counts(asked[-1] or 0, held)))
        except StopIteration:
            return [*asked, None]
    return asked


def mean_trials(found: Stages, p: float) -> float:
    """Expected number of trials at p."""

    def rest(size: int) -> float:
        return size + float(_chances(size, p) @ found.last[size]) if size in found.last else size

    return found.pilot + _over_pilots(found, p, rest)


def miss(found: Stages, width: float, p: float) -> float:
    """P(|estimate - p| > width); the estimate is the rate of the final stage alone."""

    def off(size: int) -> float:
        if size not in found.last:
            return float(outside(np.array([size]), width, p)[0])
        return float(_chances(size, p) @ outside(found.last[size], width, p))

    return _over_pilots(found, p, off)


def _over_pilots(found: Stages, p: float, value: Callable[[int], float]) -> float:
    chances = _chances(found.pilot, p)
    sizes = np.unique(found.second).tolist()
    return sum(float(chances[found.second == size].sum()) * value(size) for size in sizes)


def _chances(n: int, p: float) -> Floats:
    chances: Floats = binom.pmf(np.arange(n + 1), n, p)
    return chances


def outside(n: Wholes, width: float, p: float) -> Floats:
    """P(|k/n - p| > width) for each n, exactly; `width` itself is no miss."""
    below = binom.cdf(np.ceil(n * (p - width) - ROUNDING) - 1, n, p)
    above = binom.sf(np.floor(n * (p + width) + ROUNDING), n, p)
    missed: Floats = below + above
    return missed
