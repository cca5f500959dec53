"""How long a proof tree will take: its lower end rises with the logarithm of the time spent.

Measured on trees of MNIST networks, the least radius proved over all open nodes rises by about the
same amount whenever the time doubles, and the time to close a tree grows exponentially with its
radius. Both are used to spend time well, never to prove anything.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field

_BLIND = 0.4


@dataclass(eq=False)
class Pace:
    """The lower end of one growing tree over the seconds it has taken."""

    seconds: list[float] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)

    def mark(self, seconds: float, low: float) -> None:
        """The lower end has risen."""
        self.seconds.append(seconds)
        self.lows.append(low)

    def total(self, seconds: float, radius: float) -> float:
        """Seconds this tree is likely to need up to `radius`, `seconds` of them already spent."""
        low, before = self._at(seconds), self._at(seconds / 2)
        if low >= radius:
            return seconds
        doublings = (radius - low) / (low - before) if low > before else math.inf
        return seconds * 2.0**doublings if doublings < 60 else math.inf

    def _at(self, seconds: float) -> float:
        index = bisect_right(self.seconds, seconds)
        return self.lows[index - 1] if index else 0.0


@dataclass(frozen=True)
class Spent:
    """The seconds a tree took, or would have taken, at one radius."""

    radius: float
    seconds: float


def affordable(easy: Spent, hard: Spent, seconds: float) -> float:
    """The radius whose tree is likely to take `seconds`, on a line of logarithms between two."""
    if hard.radius <= easy.radius or hard.seconds <= easy.seconds:
        return hard.radius
    if math.isinf(hard.seconds):
        share = _BLIND
    else:
        share = math.log(seconds / easy.seconds) / math.log(hard.seconds / easy.seconds)
    return easy.radius + min(max(share, 0.0), 1.0) * (hard.radius - easy.radius)
