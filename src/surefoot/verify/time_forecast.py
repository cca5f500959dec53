"""How long a proof tree will take: its lower end rises with the logarithm of the time spent.

Measured on trees of MNIST networks, the least radius proved over all open nodes rises by about the
same amount whenever the time doubles, and the time to close a tree grows exponentially with its
radius. Both are used to spend time well, never to prove anything. Where the limit is one in nodes,
"seconds" here are nodes: the time that a tree takes grows with their number.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field

_RATE_CAUTION = 1.3
"""Factor on the growth rate seen between the last two closed trees: the time grows a little faster
later. Chosen by hand; proofs are true whatever it is."""
_TRUSTED_FACTOR = 30.0
"""A forecast is believed up to so many times the seconds that a tree was really tried. Chosen by
hand; proofs are true whatever it is."""
_MOST_LOG_GROWTH = 50.0
"""Largest logarithm of a growth in time that is computed: e⁵⁰ s is never, and exp would overflow
much later."""
_MOST_DOUBLINGS = 60
"""Doublings of the time from which on a tree counts as never closing: 2⁶⁰ s exceed any limit."""


@dataclass(eq=False)
class TreeProgress:
    """The lower end of one growing tree over the seconds it has taken."""

    seconds: list[float] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)

    def record(self, seconds: float, low: float) -> None:
        """The lower end has risen."""
        self.seconds.append(seconds)
        self.lows.append(low)

    def expected_seconds(self, seconds: float, radius: float) -> float:
        """Seconds this tree is likely to need up to `radius`, `seconds` of them already spent."""
        low, before = self._low_at(seconds), self._low_at(seconds / 2)
        if low >= radius:
            return seconds
        doublings = (radius - low) / (low - before) if low > before else math.inf
        return seconds * 2.0**doublings if doublings < _MOST_DOUBLINGS else math.inf

    def _low_at(self, seconds: float) -> float:
        index = bisect_right(self.seconds, seconds)
        return self.lows[index - 1] if index else 0.0


@dataclass(frozen=True)
class TreeTime:
    """The seconds a tree took, or would have taken, at one radius; `spent` were really spent."""

    radius: float
    seconds: float
    spent: float = 0.0


@dataclass(eq=False)
class RadiusPlan:
    """Trees at growing radii: those that were closed, and the nearest that was not.

    On a scale of logarithms the time grows about evenly with the radius, a little faster later.
    """

    closed: list[TreeTime]
    unclosed: TreeTime

    def expected_seconds(self, radius: float) -> float:
        """What a tree at this radius is likely to take."""
        last = self.closed[-1]
        growth = min(self._rate() * (radius - last.radius), _MOST_LOG_GROWTH)
        return last.seconds * math.exp(growth)

    def affordable_radius(self, seconds: float) -> float:
        """The radius, up to the one not closed, whose tree is likely to take `seconds`."""
        last, rate = self.closed[-1], self._rate()
        room = self.unclosed.radius - last.radius
        if rate * room <= 0:
            return self.unclosed.radius
        return last.radius + min(max(math.log(seconds / last.seconds) / rate, 0.0), room)

    def _rate(self) -> float:
        last, unclosed = self.closed[-1], self.unclosed
        least = max(unclosed.spent, min(unclosed.seconds, _TRUSTED_FACTOR * unclosed.spent))
        rate = _log_time_slope(last, TreeTime(unclosed.radius, least))
        if len(self.closed) > 1:
            rate = max(rate, _RATE_CAUTION * _log_time_slope(self.closed[-2], last))
        return rate


def _log_time_slope(a: TreeTime, b: TreeTime) -> float:
    """How fast the logarithm of the time grows from one tree to another; 0 if it does not."""
    if b.radius <= a.radius or b.seconds <= a.seconds:
        return 0.0
    return math.log(b.seconds / a.seconds) / (b.radius - a.radius)
