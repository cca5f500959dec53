"""Do two groups of values differ in their mean? Many pairs at once, with one error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import LEAST_PROBABILITY
from surefoot.errors import InvalidArgument
from surefoot.statistics.bounds import holm

Values = NDArray[np.float64]
Pair = tuple[str, str]
Key = tuple[str, int]
"""A group, and how many of its values move together."""

MOST_GROUPS = 20
"""Groups, so at most 190 pairs: about 5 s where all differ at an error of .01, else far less."""

_FEWEST_WELCH = 10
"""Values in either group for Welch's test: with 2 to 5 beside 60 it errs in .4 to .8 of runs."""
_RELABELLINGS_PER_ERROR = 5
"""Relabellings for one pair, in units of pairs/error: an adjusted p-value can reach error/5."""
_FEWEST = 9_999
"""Relabellings at least: p-values are multiples of .0001."""
_EXCEEDING = 20
"""Relabellings as far apart that end the search (Besag & Clifford 1991): p is then about known."""
_FIRST_ROWS, _MOST_ROWS, _MOST_CELLS = 200, 2_000, 1_000_000
"""Relabellings at first and at most at a time, and values in them: 24 megabytes."""
_FEWEST_BLOCKS = 500
"""Blocks that a large group is divided into at least. Relabelling whole blocks is exact as well: it
is a subgroup of all relabellings; 500 blocks tell the spread of a mean to about 3 %."""
_FEW = 8
"""Of so many blocks one moves at most: then choosing these is faster than mixing all."""
_FLAT = 1e-14
"""A variance, where the values span 1, that is no more than rounding."""


@dataclass(frozen=True)
class Contrast:
    """Two groups: the difference of their means, and p-values adjusted for all pairs (Holm).

    `welch` trusts that means of this many values are nearly normal; None where there are too few
    for that, or a group does not vary. `permutation` asks how often a random relabelling differs
    as much: exact if the groups have the same distribution.
    """

    first: str
    second: str
    difference: float
    welch: float | None
    permutation: float


def contrasts(
    groups: Mapping[str, Values], rng: np.random.Generator, error: float
) -> tuple[Contrast, ...]:
    """Every pair of groups of at least two values, compared by Welch's t and by permutation.

    Enough relabellings are drawn for an adjusted p-value far below `error`.
    """
    usable = {name: np.asarray(v, dtype=np.float64) for name, v in groups.items() if len(v) > 1}
    if len(usable) > MOST_GROUPS:
        raise InvalidArgument(
            f"{len(usable)} groups make too many pairs to compare: choose at most {MOST_GROUPS}"
        )
    pairs = list(combinations(usable, 2))
    by_order = _permutations(usable, pairs, rng, orders_for(len(pairs), error))
    tested = {pair: p for pair in pairs if (p := welch(*(usable[n] for n in pair))) is not None}
    by_welch = dict(zip(tested, holm(list(tested.values())), strict=True))
    adjusted = holm([by_order[pair] for pair in pairs])
    return tuple(
        Contrast(a, b, float(usable[a].mean() - usable[b].mean()), by_welch.get((a, b)), p)
        for (a, b), p in zip(pairs, adjusted, strict=True)
    )


def differing(pairs: Sequence[Contrast], error: float) -> tuple[Contrast, ...]:
    """The pairs that differ: wrong about any of them with probability at most `error`.

    If two groups that do not differ have the same distribution. To be read once: neither more
    values nor another look keeps the error.
    """
    return tuple(c for c in pairs if c.permutation <= error)


def orders_for(pairs: int, error: float) -> int:
    """Relabellings for each pair."""
    return max(_FEWEST, math.ceil(_RELABELLINGS_PER_ERROR * pairs / error))


def welch(a: Values, b: Values) -> float | None:
    """Two-sided p-value of Welch's t-test, which does not suppose equal variances.

    None below ten values in either group, or where one does not vary: then its normal
    approximation has nothing to rest on. 1e-300 where it is below that.
    """
    from scipy.special import stdtr

    if min(len(a), len(b)) < _FEWEST_WELCH or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    of_a, of_b = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    t = (a.mean() - b.mean()) / math.sqrt(of_a + of_b)
    freedom = (of_a + of_b) ** 2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    return max(float(2 * stdtr(freedom, -abs(t))), LEAST_PROBABILITY)


def permutation(a: Values, b: Values, rng: np.random.Generator, orders: int = _FEWEST) -> float:
    """Two-sided p-value of Welch's t over random relabellings (Janssen 1997).

    The order that was observed counts as one of them, so that the test is exact. It ends early
    once twenty have differed as much: their number over the relabellings so far is exact as well.
    """
    return _permutations({"a": a, "b": b}, [("a", "b")], rng, orders)[("a", "b")]


def _permutations(
    groups: Mapping[str, Values], pairs: Sequence[Pair], rng: np.random.Generator, orders: int
) -> dict[Pair, float]:
    """A p-value for each pair.

    Of a random relabelling only the sums of one group are needed: how many of its blocks leave is
    hypergeometric, as many of the other group's enter, and which is the start of a random order.
    The orders of a group serve all its pairs.
    """
    if not pairs:
        return {}
    every = np.concatenate(list(groups.values()))
    centre, reach = every.mean(), max(float(np.ptp(every)), 1e-300)
    scaled = {name: (values - centre) / reach for name, values in groups.items()}
    searches = [_Search.of(pair, scaled) for pair in pairs]
    keys = dict.fromkeys(key for search in searches for key in search.keys)
    blocks = {key: _blocks(scaled[key[0]], key[1], rng) for key in keys}
    start = 0
    while start < orders and (left := [s for s in searches if s.p is None]):
        moved = {key: max(s.moved for s in left if key in s.keys) for s in left for key in s.keys}
        most = _MOST_CELLS // sum(moved.values())
        rows = min(max(1, most), max(start, _FIRST_ROWS), _MOST_ROWS, orders - start)
        running = {key: _running(blocks[key], rows, most, rng) for key, most in moved.items()}
        for search in left:
            search.go_on(running, start, rng)
        start += rows
    return {s.pair: (1 + s.as_far) / (1 + orders) if s.p is None else s.p for s in searches}


def _blocks(values: Values, size: int, rng: np.random.Generator) -> Values:
    """The sum, and the sum of squares, of each block of so many values, chosen at random."""
    mixed = values if size == 1 else rng.permutation(values)
    whole = mixed[: len(mixed) // size * size].reshape(-1, size)
    return np.array([whole.sum(axis=1), (whole**2).sum(axis=1)])


def _running(blocks: Values, rows: int, moved: int, rng: np.random.Generator) -> Values:
    """Sums of the first 0, 1, 2 … `moved` blocks in each of `rows` random orders."""
    number = blocks.shape[1]
    if moved < number / _FEW:
        order = np.array([rng.choice(number, moved, replace=False) for _ in range(rows)])
    else:
        every = np.broadcast_to(np.arange(number), (rows, number))
        order = rng.permuted(every, axis=1)[:, :moved]
    sums = np.zeros((2, rows, moved + 1))
    for own, running in zip(blocks, sums, strict=True):
        np.cumsum(own[order], axis=1, out=running[:, 1:])
    return sums


@dataclass
class _Search:
    """How many relabellings of one pair were as far apart so far; p once that is known.

    `block` is how many values move together; `own` has the sums of the first group.
    """

    pair: Pair
    sizes: tuple[int, int]
    block: int
    own: Values
    total: Values
    observed: float
    as_far: int = 0
    p: float | None = None

    @classmethod
    def of(cls, pair: Pair, groups: Mapping[str, Values]) -> _Search:
        a, b = (groups[name] for name in pair)
        of_a, of_b = (np.array([[v.sum()], [(v**2).sum()]]) for v in (a, b))
        sizes, total = (len(a), len(b)), of_a + of_b
        far = float(_far(of_a, total, sizes)[0])
        # A power of two, so that pairs of one group share their orders.
        block = int(2 ** max(0, math.floor(math.log2(min(sizes) / _FEWEST_BLOCKS))))
        return cls(pair, sizes, block, of_a, total, far)

    @property
    def keys(self) -> tuple[Key, Key]:
        """Its two groups, each in blocks of this size."""
        first, second = self.pair
        return (first, self.block), (second, self.block)

    @property
    def moved(self) -> int:
        """Blocks that leave a group at most."""
        return min(self.sizes) // self.block

    def go_on(self, running: Mapping[Key, Values], start: int, rng: np.random.Generator) -> None:
        """Look at as many relabellings as there are orders; `start` came before."""
        first, second = (running[key] for key in self.keys)
        n, m = (size // self.block for size in self.sizes)
        row = np.arange(first.shape[1])
        leave = n - rng.hypergeometric(n, m, n, size=len(row))
        part = self.own - first[:, row, leave] + second[:, row, leave]
        farther = _far(part, self.total, self.sizes) >= self.observed * (1 - 1e-9) - 1e-6
        totals = self.as_far + np.cumsum(farther)
        self.as_far = int(totals[-1])
        if self.as_far >= _EXCEEDING:
            self.p = _EXCEEDING / (start + 1 + int((totals >= _EXCEEDING).argmax()))


def _far(part: Values, total: Values, sizes: tuple[int, int]) -> Values:
    """|Welch's t| from the sum and the sum of squares of one group, and of both."""
    n, m = sizes
    rest = total - part
    of_part = (part[1] - part[0] ** 2 / n) / ((n - 1) * n)
    noise = of_part + (rest[1] - rest[0] ** 2 / m) / ((m - 1) * m)
    far: Values = np.abs(part[0] / n - rest[0] / m) / np.sqrt(np.maximum(noise, _FLAT))
    return far
