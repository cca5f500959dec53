"""What a search for a critical radius begins with, may spend, and ends with."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from surefoot.core.assumptions import Arithmetic
from surefoot.errors import needing
from surefoot.graph.network import Floats, Network
from surefoot.region.critical_level import LEAST_NODES, OUT_OF_NODES, OUT_OF_TIME
from surefoot.verify.ball import InputSpace

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
    space: InputSpace
    replay: Replay | None
    on_change: Callable[[float, float], None]
    arithmetic: Arithmetic = Arithmetic.REAL
    low: float = 0.0
    high: float = math.inf
    witness: Floats | None = None
    discarded: int = 0
    nodes: int = 0
    rank: int = 1

    def count_nodes(self, number: int) -> None:
        """So many nodes of branch and bound more."""
        self.nodes += number

    def record_proof(self, radius: float) -> None:
        """Raise the lower end to a radius within which the label is proved constant."""
        if radius > self.low:
            self.low = radius
            self.on_change(self.low, self.high)

    def try_counterexample(self, point: Floats, pushes: tuple[float, ...] = _PUSHES) -> bool:
        """Whether a point is a nearer counterexample; it may be pushed outwards a little to be one.

        It is accepted in float32, so that the model gets the very same point, if it lies in the
        domain and has another label in the model itself; in real arithmetic, or where the model
        cannot be asked, in float64 here too.
        """
        as_run = self.arithmetic is Arithmetic.FLOAT32 and self.replay is not None
        breaks_here = False
        for push in pushes:
            space, pushed = self.space, self.x + (point - self.x) * (1 + push)
            pushed = np.clip(pushed, space.low, space.high)
            single = pushed.astype(np.float32).astype(np.float64)
            distance = space.distance(single - self.x)
            if not space.contains(single) or distance >= self.high:
                continue
            here = not self.network.keeps(single, self.label, self.rank)
            breaks_here = breaks_here or here
            if not (here or as_run):
                continue
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

    def time_left(self) -> float:
        """Seconds that are left; infinite where nodes are limited, whose plans know no clock."""
        return self.end - self.clock() if self.nodes is None else math.inf

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


@dataclass(frozen=True)
class Proved:
    """The label is constant within the radius; `by` is whose arithmetic that rests on."""

    by: str = "surefoot"


@dataclass(frozen=True, eq=False)
class Refuted:
    """A point within the radius that has another label."""

    witness: Floats


@dataclass(frozen=True)
class Unknown:
    """Neither was shown in the allowed time; `discarded`: the model did not confirm a point."""

    reason: str
    discarded: bool = False


_LOCK = threading.Lock()
_LIMIT = ExitStack()
"""What takes the limit back, once no thread is within it: it is one for the whole process."""
_inside = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """NumPy's library of matrix products uses one thread, in all of this process.

    A product that several threads share is summed in another order, and a proof that is a rounding
    error longer or shorter is another record. Those of proofs are small: more threads are slower.
    """
    global _inside  # noqa: PLW0603  threads enter and leave in any order
    with _LOCK:
        if not _inside:
            _LIMIT.enter_context(_limit())
        _inside += 1
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside:
                _LIMIT.close()


def _limit() -> AbstractContextManager[Any]:
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


@cache
def _libraries() -> Any:  # noqa: ANN401  a controller of threadpoolctl
    """Those of this process, looked for once: it takes as long as a proof without branching."""
    why = "proofs limit the threads of NumPy with threadpoolctl"
    with needing(f"{why}: pip install 'surefoot[verify]'"):
        from threadpoolctl import ThreadpoolController
    return ThreadpoolController()
