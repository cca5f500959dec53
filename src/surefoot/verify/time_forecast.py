"""How long a proof tree will take: its lower end rises with the logarithm of the time spent.

Measured on trees of MNIST networks, the least radius proved over all open nodes rises by about the
same amount whenever the time doubles, and the time to close a tree grows exponentially with its
radius. Both are used to spend time well, never to prove anything.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field

_CAUTION, _KNOWN, _MOST = 1.3, 30.0, 50.0
"""How much faster than so far the time may grow; how many times the time tried in vain a forecast
is believed; and the largest logarithm that is told.
"""


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
    """The seconds a tree took, or would have taken, at one radius; `tried` were really spent."""

    radius: float
    seconds: float
    tried: float = 0.0


@dataclass(eq=False)
class Climb:
    """Trees at growing radii: those that were closed, and the nearest that was not.

    On a scale of logarithms the time grows about evenly with the radius, a little faster later.
    """

    done: list[Spent]
    hard: Spent

    def seconds(self, radius: float) -> float:
        """What a tree at this radius is likely to take."""
        last = self.done[-1]
        return last.seconds * math.exp(min(self._rate() * (radius - last.radius), _MOST))

    def affordable(self, seconds: float) -> float:
        """The radius, up to the one not closed, whose tree is likely to take `seconds`."""
        last, rate = self.done[-1], self._rate()
        room = self.hard.radius - last.radius
        if rate * room <= 0:
            return self.hard.radius
        return last.radius + min(max(math.log(seconds / last.seconds) / rate, 0.0), room)

    def _rate(self) -> float:
        last, hard = self.done[-1], self.hard
        least = max(hard.tried, min(hard.seconds, _KNOWN * hard.tried))
        rate = _slope(last, Spent(hard.radius, least))
        if len(self.done) > 1:
            rate = max(rate, _CAUTION * _slope(self.done[-2], last))
        return rate


def _slope(a: Spent, b: Spent) -> float:
    """How fast the logarithm of the time grows from one tree to another; 0 if it does not."""
    if b.radius <= a.radius or b.seconds <= a.seconds:
        return 0.0
    return math.log(b.seconds / a.seconds) / (b.radius - a.radius)
