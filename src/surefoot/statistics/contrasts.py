"""Do two groups of values differ in their mean? Many pairs at once, with one error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.statistics.multiplicity import holm

Values = NDArray[np.float64]
MOST_GROUPS = 30
_ORDERS = 9_999
_WORK = 1.5e8


@dataclass(frozen=True)
class Contrast:
    """Two groups: the difference of their means, and p-values adjusted for all pairs (Holm).

    `welch` trusts that means of this many values are nearly normal. `permutation` asks how often
    a random relabelling differs as much: exact if the groups have the same distribution.
    """

    first: str
    second: str
    difference: float
    welch: float
    permutation: float


def contrasts(groups: Mapping[str, Values], rng: np.random.Generator) -> tuple[Contrast, ...]:
    """Every pair of groups of at least two values, compared by Welch's t and by permutation."""
    usable = {name: np.asarray(v, dtype=np.float64) for name, v in groups.items() if len(v) > 1}
    if len(usable) > MOST_GROUPS:
        raise InvalidArgument(
            f"{len(usable)} groups make too many pairs to compare: choose at most {MOST_GROUPS}"
        )
    pairs = list(combinations(usable, 2))
    orders = _orders([len(usable[a]) + len(usable[b]) for a, b in pairs])
    by_welch = holm([welch(usable[a], usable[b]) for a, b in pairs])
    by_order = holm([permutation(usable[a], usable[b], rng, orders) for a, b in pairs])
    return tuple(
        Contrast(a, b, float(usable[a].mean() - usable[b].mean()), t, p)
        for (a, b), t, p in zip(pairs, by_welch, by_order, strict=True)
    )


def _orders(sizes: list[int]) -> int:
    """Relabellings a pair: enough for an adjusted p-value of 0.025, more if they are cheap."""
    return max(40 * len(sizes), min(_ORDERS, int(_WORK / max(sum(sizes), 1))))


def welch(a: Values, b: Values) -> float:
    """Two-sided p-value of Welch's t-test, which does not suppose equal variances.

    Where neither group varies at all it has no yardstick and says 1.
    """
    from scipy.special import stdtr

    t, freedom = _welch_t(np.concatenate([a, b])[None, :], len(a))
    return float(2 * stdtr(freedom[0], -abs(t[0]))) if np.isfinite(t[0]) else 1.0


def permutation(a: Values, b: Values, rng: np.random.Generator, orders: int = _ORDERS) -> float:
    """Two-sided p-value of Welch's t over random relabellings (Janssen 1997).

    The order that was observed counts as one of them, so that the test is exact.
    """
    both = np.concatenate([a, b])
    observed = abs(_welch_t(both[None, :], len(a))[0][0])
    as_far = 0
    for start in range(0, orders, 1000):
        some = np.tile(both, (min(1000, orders - start), 1))
        drawn = np.abs(_welch_t(rng.permuted(some, axis=1), len(a))[0])
        as_far += int(np.count_nonzero(drawn >= observed * (1 - 1e-12)))
    return (1 + as_far) / (1 + orders)


def _welch_t(rows: Values, n: int) -> tuple[Values, Values]:
    """Welch's t and its degrees of freedom, the first n columns against the others."""
    a, b = rows[:, :n], rows[:, n:]
    m = b.shape[1]
    of_a, of_b = a.var(axis=1, ddof=1) / n, b.var(axis=1, ddof=1) / m
    noise, apart = of_a + of_b, a.mean(axis=1) - b.mean(axis=1)
    rounding = 1e-14 * np.abs(rows).max(axis=1)
    flat, same = noise <= rounding**2, np.abs(apart) <= rounding
    noise = np.where(flat, 1.0, noise)
    t = np.where(flat, np.where(same, 0.0, np.inf), apart / np.sqrt(noise))
    freedom = noise**2 / (of_a**2 / (n - 1) + of_b**2 / (m - 1) + flat)
    return t, freedom
