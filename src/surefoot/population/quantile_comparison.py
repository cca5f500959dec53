"""Quantiles of two or more models on the same inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.population.comparison import Difference
from surefoot.population.quantile import Ends, ShortestRanks, sample_quantile
from surefoot.population.requirement import SAMPLED
from surefoot.results import Bracket, Footing, Guarantee, Interval, Quantile
from surefoot.statistics.multiplicity import shares
from surefoot.statistics.ranks import check_share

Floats = NDArray[np.float64]
_ROOM = 2**22
"""Inputs drawn at a time: enough to be quick, few enough to fit."""
RESAMPLED = "the inputs are enough for resampling to stand for sampling"


class QuantileContrast(Protocol):
    """How much larger one quantile is than another, from two brackets of each input."""

    @property
    def share(self) -> float:
        """Which quantile."""
        ...

    @property
    def assumption(self) -> str:
        """What its error rests on."""
        ...

    def difference(
        self, first: Sequence[Bracket], second: Sequence[Bracket], error: float
    ) -> Interval:
        """The interval, spending `error`; both in the same order of inputs."""
        ...


@dataclass(frozen=True)
class ApartRanks:
    """Each quantile enclosed by itself at half the error; nothing supposed of how they go along."""

    share: float = 0.05
    assumption: ClassVar[str] = SAMPLED

    def __post_init__(self) -> None:
        check_share(self.share, 0.5)

    def difference(
        self, first: Sequence[Bracket], second: Sequence[Bracket], error: float
    ) -> Interval:
        """From the ends of the one less the opposite ends of the other."""
        over = ShortestRanks(self.share, error / 2)
        a, b = (over.conclude(local, error / 2) for local in (first, second))
        if not (isinstance(a, Quantile) and isinstance(b, Quantile)):
            raise InvalidArgument("there are no inputs to compare on")
        return Interval(a.interval.low - b.interval.high, a.interval.high - b.interval.low)


@dataclass(frozen=True)
class PairedBootstrap:
    """Inputs drawn again, both brackets of an input together: what both share cancels out.

    Each end is read from the unfavourable ends of the brackets. The resamples are always the same.
    """

    share: float = 0.05
    draws: int = 2000
    assumption: ClassVar[str] = f"{SAMPLED}; {RESAMPLED}"

    def __post_init__(self) -> None:
        check_share(self.share, 0.5)
        if self.draws < 100:
            raise InvalidArgument(f"draws must be 100 or more, got {self.draws}: try 2000")

    def difference(
        self, first: Sequence[Bracket], second: Sequence[Bracket], error: float
    ) -> Interval:
        """The percentiles of the differences in the resamples, rounded outwards."""
        n = len(first)
        if n < 1:
            raise InvalidArgument("there are no inputs to compare on")
        rng, rank = np.random.default_rng(1), math.ceil(self.share * n - 1e-9) - 1
        ends = [
            np.array([b.low for b in first]),
            np.array([b.high for b in second]),
            np.array([b.high for b in first]),
            np.array([b.low for b in second]),
        ]
        found: list[np.ndarray] = []
        for begin in range(0, self.draws, max(1, _ROOM // n)):
            size = min(self.draws - begin, max(1, _ROOM // n))
            chosen = rng.integers(0, n, (size, n)) + n * np.arange(size)[:, None]
            times = np.bincount(chosen.ravel(), minlength=size * n).reshape(size, n)
            found.append(np.stack([_at_rank(end, times, rank) for end in ends]))
        low_first, high_second, high_first, low_second = np.concatenate(found, axis=1)
        with np.errstate(invalid="ignore"):
            least, most = low_first - high_second, high_first - low_second
        low = np.quantile(least, error / 2, method="lower")
        high = np.quantile(most, 1 - error / 2, method="higher")
        return Interval(float(low), float(high))


def _at_rank(values: Floats, times: NDArray[np.int64], rank: int) -> Floats:
    """For each row of `times`, how often each value came, the value that `rank` are before."""
    order = np.argsort(values)
    near = min(len(values), rank + 8 * math.isqrt(rank) + 16)  # a resample almost never needs more
    for first in (order[:near], order):
        heaped = np.cumsum(times[:, first], axis=1)
        if heaped[:, -1].min() > rank:
            break
    found: Floats = values[first[(heaped > rank).argmax(axis=1)]]
    return found


def quantile_differences(
    over: QuantileContrast, local: Mapping[str, Sequence[Bracket]], error: float
) -> tuple[Difference, ...]:
    """Every pair of models, all intervals holding together within `error` (Bonferroni).

    `local` holds one bracket for each input, in the same order for every name.
    """
    sizes = {len(brackets) for brackets in local.values()}
    if len(local) < 2 or len(sizes) != 1:
        raise InvalidArgument(
            "a comparison needs two or more models with a bracket for each of the same inputs, got "
            + ", ".join(f"{name}: {len(brackets)}" for name, brackets in local.items())
        )
    pairs = list(combinations(local, 2))
    promise = Guarantee(Footing.CONDITIONAL, error, (over.assumption,))
    found = []
    for a, b in pairs:
        around = over.difference(local[a], local[b], shares(error, len(pairs)))
        mine, other = (sample_quantile(Ends.of(local[name]), over.share) for name in (a, b))
        value = mine - other
        within = Interval(min(around.low, value), max(around.high, value))
        found.append(Difference(a, b, value, within, promise))
    return tuple(found)
