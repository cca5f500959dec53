"""The bracket while it is being closed: every end enters through a check."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.graph.network import Floats, Network

Replay = Callable[[Floats], int]

_PUSHES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3)
"""How much farther from the input a point is moved, as shares of its distance, until the model
itself gives it another label: a point on the boundary in real arithmetic may keep it in float32.
Chosen by hand; a larger push only makes the upper end larger."""


@dataclass(frozen=True, eq=False)
class BracketResult:
    """The label is proved constant within `low`; `witness`, at distance `high`, has another.

    `high` is infinite without a witness. `reason` says why the search ended; `discarded` counts
    points that failed here only, not when the model itself was run; `prover` is whose arithmetic
    the lower end rests on.
    """

    low: float
    high: float
    witness: Floats | None
    nodes: int
    seconds: float
    reason: str
    discarded: int = 0
    prover: str = "surefoot"


@dataclass(eq=False)
class BracketState:
    """What is proved (`low`) and what is refuted (`high`, `witness`) so far about one input."""

    network: Network
    x: Floats
    label: int
    domain: tuple[float, float]
    replay: Replay | None
    on_change: Callable[[float, float], None]
    low: float = 0.0
    high: float = math.inf
    witness: Floats | None = None
    discarded: int = 0
    nodes: int = 0

    def count_nodes(self, number: int) -> None:
        """So many nodes of branch and bound more."""
        self.nodes += number

    def record_proof(self, radius: float) -> None:
        """Raise the lower end to a radius within which the label is proved constant."""
        if radius > self.low:
            self.low = radius
            self.on_change(self.low, self.high)

    def try_counterexample(self, point: Floats) -> bool:
        """Whether a point is a nearer counterexample; it may be pushed outwards a little to be one.

        It is accepted in float32, so that the model gets the very same point, if it lies in the
        domain, has another label in float64 here and another label in the model itself.
        """
        breaks_here = False
        for push in _PUSHES:
            pushed = np.clip(self.x + (point - self.x) * (1 + push), *self.domain)
            single = pushed.astype(np.float32).astype(np.float64)
            inside = ((single >= self.domain[0]) & (single <= self.domain[1])).all()
            distance = float(np.nextafter(np.abs(single - self.x).max(), np.inf))
            if not inside or distance >= self.high:
                continue
            if self.network.label(single) == self.label:
                continue
            breaks_here = True
            if self.replay is None or self.replay(single) != self.label:
                self.high, self.witness = distance, single
                self.on_change(self.low, self.high)
                return True
        self.discarded += breaks_here
        return False

    def result(self, reason: str, seconds: float) -> BracketResult:
        """The bracket as it is."""
        return BracketResult(
            self.low, self.high, self.witness, self.nodes, seconds, reason, self.discarded
        )
