"""The quantile of the critical level, with no more proofs than it needs."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from surefoot.errors import InvalidArgument
from surefoot.evidence import Proof
from surefoot.population.quantile import ShortestRanks
from surefoot.population.quantile_within import QuantileWithin
from surefoot.procedure import Ask, Needs
from surefoot.results import Bracket, Quantile, Undecided
from surefoot.search.critical import bracket_of, check_proving
from surefoot.statistics.ranks import Ranks, shortest

Step = Generator[tuple[Ask, ...], list[Proof], None]
_NEAREST = 0.1


@dataclass(frozen=True)
class Settled:
    """The brackets of the inputs that were looked at, in order, and the quantile they give."""

    brackets: tuple[Bracket, ...]
    quantile: Quantile | Undecided


@dataclass(frozen=True)
class CriticalQuantile:
    """Settle on which side of a radius each input lies, as far as the quantile asks for it.

    Of n inputs, the i-th and the j-th smallest critical level enclose the quantile. Every input is
    attacked, so the j-th nearest counterexample is an upper end. The lower end is the i-th nearest
    less `tolerance`, once all inputs but i - 1 are proved that far; the same for the rank in the
    middle, which gives the estimate. Most inputs are far more robust, so their proofs are short.

    With a `width` it takes inputs in their order until the quantile is known to ± `width`, and the
    error covers every look. With a `goal` the lower end is sought there, as a requirement wants it.
    `size` is the number of inputs there are and `top` the widest radius: the study sets both.
    """

    tolerance: float = 0.002
    seconds: float = 60.0
    quantile: float = 0.05
    error: float = 0.05
    samples: int = 200
    width: float | None = None
    goal: float | None = None
    size: int = 0
    top: float = 1.0
    needs: ClassVar[Needs] = Needs.RADII
    evidence: ClassVar[type[Proof]] = Proof

    def __post_init__(self) -> None:
        check_proving(self)
        if self.width is not None and not 0 < self.width < math.inf:
            raise InvalidArgument(
                f"the quantile is to be known to ± a radius above 0, got {self.width:g}: try 0.005"
            )
        if self.goal is not None and not 0 < self.goal < math.inf:
            raise InvalidArgument(f"a goal is a radius above 0, got {self.goal:g}: try 8/255")

    @property
    def efforts(self) -> tuple[float, ...]:
        """The seconds of each try."""
        return (self.seconds,)

    @property
    def forecast(self) -> int:
        """About how many questions there will be: an attack and a proof for each input."""
        return 2 * self.size

    @property
    def _rule(self) -> QuantileWithin | None:
        if self.width is None:
            return None
        return QuantileWithin(self.width, self.quantile, self.error, self.size)

    def steps(self) -> Generator[tuple[Ask, ...], list[Proof], Settled]:
        """Ask for input i at a radius as trial i; at the widest one any counterexample will do."""
        rule, seen = self._rule, list[Proof]()
        if rule is None:
            yield from self._look(seen, self.size, shortest(self.size, self.quantile, self.error))
            local = _brackets(seen)
            over = ShortestRanks(self.quantile, self.error)
            return Settled(local, over.conclude(local, self.error))
        for size, ranks in zip(rule.looks, rule.ranks, strict=True):
            yield from self._look(seen, size, ranks)
            found = rule.look(_brackets(seen), ranks)
            if not found.note:
                break
        return Settled(_brackets(seen), found)

    def _look(self, seen: list[Proof], size: int, ranks: Ranks) -> Step:
        """Attack the inputs that are new, then prove what the ranks need, until nothing is left."""
        if size > len(seen):
            seen += yield tuple(Ask(self.top, 1, i) for i in range(len(seen), size))
        tried: set[tuple[int, float]] = set()
        while asked := [pair for pair in self._open(seen, ranks) if pair not in tried]:
            told = yield tuple(Ask(radius, 1, i, seen[i]) for i, radius in asked)
            tried.update(asked)
            for (i, _), proof in zip(asked, told, strict=True):
                seen[i] = seen[i] + proof

    def _open(self, seen: Sequence[Proof], ranks: Ranks) -> list[tuple[int, float]]:
        """Which inputs must be proved how far, by what is known so far."""
        order = sorted(range(len(seen)), key=lambda i: (seen[i].far, i))
        aims: dict[int, float] = {}
        for rank in (ranks.low, math.ceil(self.quantile * len(seen) - 1e-9)):
            if 1 <= rank <= len(seen):
                aims[rank] = self._aim(seen[order[rank - 1]].far, last=rank == ranks.low)
        found = []
        for place, i in enumerate(order, start=1):
            radius = max((aim for rank, aim in aims.items() if rank <= place), default=0.0)
            if seen[i].low < radius < seen[i].far and seen[i].seconds < self.seconds:
                found.append((i, radius))
        return found

    def _aim(self, high: float, *, last: bool) -> float:
        """How far to prove where the nearest counterexample is at `high`."""
        if last and self.goal is not None and self.goal < high:
            return self.goal
        return self.top if math.isinf(high) else max(high - self.tolerance, _NEAREST * high)


def _brackets(seen: Sequence[Proof]) -> tuple[Bracket, ...]:
    return tuple(bracket_of(proof) for proof in seen)
