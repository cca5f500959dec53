"""ASAP as published (Arcaini et al., "Efficient computation of robustness of CNNs").

Algorithm 1 with its product test, the right-end sum, and the bound of theorem 1: what ours is
measured against, never the product. A level is evaluated once, as the algorithm says and their tool
does not. It asks and is answered like any procedure, so one engine runs both.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from surefoot.core.assumptions import Parabolas
from surefoot.core.counts import Counts
from surefoot.core.procedure import Ask
from surefoot.core.results import Curve, Footing, Guarantee, Interval, Point, Reading

Known = dict[float, float]


@dataclass(frozen=True)
class PublishedAsap:
    """Depth â = 128 and n = 1024 are the paper's; levels are taken as shares of the range."""

    low: float
    high: float
    threshold: float
    size: int
    depth: float = 128.0
    most: int = 1024
    evidence: ClassVar[type[Counts]] = Counts

    def steps(self) -> Generator[Ask, Counts, Curve]:
        """EVAL on the whole range, then the sum."""
        known: Known = {}
        yield from self._evaluate(0.0, 1.0, known)
        return self._concluded(known)

    def _evaluate(self, a: float, b: float, known: Known) -> Generator[Ask, Counts, None]:
        for share in (a, b):
            if share not in known:
                counts = yield Ask(self._level(share), self.size)
                known[share] = counts.kept / counts.trials
        if self._intersects(a, b, known) and b - a >= 1 / self.most:
            yield from self._evaluate(a, (a + b) / 2, known)
            yield from self._evaluate((a + b) / 2, b, known)

    def _level(self, share: float) -> float:
        return self.high if share == 1 else self.low + share * (self.high - self.low)

    def _intersects(self, a: float, b: float, known: Known) -> bool:
        return any(self._parabola(a, b, known, depth) for depth in (self.depth, -self.depth))

    def _parabola(self, x_a: float, x_b: float, known: Known, a: float) -> bool:
        """The function parabIntsct, letter by letter."""
        acc_a, acc_b, theta = known[x_a], known[x_b], self.threshold
        if (acc_a - theta) * (acc_b - theta) < 0:
            return True
        b = (acc_b - acc_a) / (x_b - x_a) - a * (x_a + x_b)
        c = acc_a - a * x_a**2 - b * x_a
        x_v, y_v = -b / (2 * a), -(b**2 - 4 * a * c) / (4 * a)
        return x_a <= x_v <= x_b and (acc_a - theta) * (y_v - theta) < 0

    def _concluded(self, known: Known) -> Curve:
        shares = sorted(known)
        value = sum(b - a for a, b in pairwise(shares) if known[b] >= self.threshold)
        bound = sum(b - a for a, b in pairwise(shares) if self._intersects(a, b, known))
        sure = Interval(max(value - bound, 0.0), min(value + bound, 1.0))
        promise = Guarantee(Footing.CONDITIONAL, 0.0, (Parabolas(self.depth),))
        points = tuple(
            Point(self._level(x), self.size, known[x], Interval(known[x], known[x])) for x in shares
        )
        return Curve(
            Interval(self.low, self.high),
            self.size,
            points,
            (Reading(self.threshold, value, sure, (), promise),),
            Guarantee(Footing.SOUND, 0.0),
            self.size * len(points),
        )
