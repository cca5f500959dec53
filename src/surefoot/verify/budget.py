"""What is left of the limits of one search: seconds on a clock, nodes of branch and bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from surefoot.region.proof_limits import LEAST_NODES, OUT_OF_NODES, OUT_OF_TIME

Clock = Callable[[], float]

_BOUND_SECONDS = 0.1
"""Seconds of a bound without branching, from which the first forecast starts."""
_LEAST_SECONDS = 1e-3
"""Seconds that a tree counts at least, since forecasts take the logarithm of them."""


@dataclass(frozen=True, eq=False)
class Budget:
    """What a search may still spend, in its unit: nodes where these are limited, else seconds.

    In nodes no plan depends on the clock, and a limit in seconds beside it can only end the search.
    `end` is a time on the clock, `spent` the nodes so far, `roots` those that a tree begins with.
    """

    clock: Clock
    end: float
    nodes: int | None
    spent: Callable[[], int]
    roots: int

    def left(self) -> float:
        """What is left, in the unit; nothing once the time is over."""
        seconds = self.end - self.clock()
        return seconds if self.nodes is None or seconds <= 0 else self.nodes_left()

    def nodes_left(self) -> float:
        """Infinite without a limit in nodes."""
        return math.inf if self.nodes is None else float(self.nodes - self.spent())

    def time_over(self) -> str | None:
        """The reason to end at once, if there is one."""
        return OUT_OF_TIME if self.clock() >= self.end else None

    def over(self) -> str | None:
        """The reason to make no other node, if there is one.

        While there is none a tree may begin: its roots are counted, and may exceed the limit.
        """
        few = self.nodes_left() < LEAST_NODES
        return self.time_over() or (OUT_OF_NODES if few else None)

    @property
    def bound_cost(self) -> float:
        """What a bound without branching costs; no tree can be cheaper in nodes."""
        return _BOUND_SECONDS if self.nodes is None else max(self.roots, 1)

    @property
    def least_cost(self) -> float:
        """What a tree counts at least."""
        return _LEAST_SECONDS if self.nodes is None else 1.0
