"""The proving bench: critical levels by attack and proof, input by input."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.device_arrays import to_numpy
from surefoot.evidence import Proof
from surefoot.results import Interval
from surefoot.subject import Inputs, Model
from surefoot.tasks import Task

if TYPE_CHECKING:
    from surefoot.graph.network import Network
    from surefoot.verify.bracket import BracketResult
    from surefoot.verify.external_verifier import External

Floats = NDArray[np.float64]

_GLANCE = 2.0
_LEAST = 0.01


class Prover(Protocol):
    """Who brackets the critical level of one input, and in whose arithmetic."""

    def __call__(self, x: Floats, label: int, request: ProofRequest) -> BracketResult:
        """What is proved and refuted."""
        ...


@dataclass(frozen=True, eq=False)
class ProofRequest:
    """What is wanted of an input: how narrow, for how long, within which bounds, how far.

    `replay` asks the model itself; `known` is what was proved and found before.
    """

    tolerance: float
    seconds: float
    bounds: Interval
    goal: float | None
    seed: int
    replay: Callable[[Floats], int]
    known: tuple[float, Floats | None]


@dataclass(frozen=True, eq=False)
class OwnProver:
    """Ours, on the network as it was read."""

    network: Network

    def __call__(self, x: Floats, label: int, request: ProofRequest) -> BracketResult:
        """What is proved and refuted."""
        from surefoot.verify.bracket_search import critical

        return critical(
            self.network,
            x,
            label,
            tolerance=request.tolerance,
            seconds=request.seconds,
            low=request.bounds.low,
            high=request.bounds.high,
            goal=request.goal,
            seed=request.seed,
            replay=request.replay,
            clock=time.thread_time,
            known=request.known,
        )


@dataclass(frozen=True, eq=False)
class OtherProver:
    """Another program, on the file itself; its time is the clock's."""

    external: External
    graph: Path
    classes: int

    def __call__(self, x: Floats, label: int, request: ProofRequest) -> BracketResult:
        """What is proved and refuted."""
        from surefoot.verify.external_verifier import critical_by

        return critical_by(
            self.external,
            self.graph,
            x,
            label,
            self.classes,
            request.replay,
            tolerance=request.tolerance,
            seconds=request.seconds,
            low=request.bounds.low,
            high=request.bounds.high,
            witness=request.known[1],
        )


@dataclass(frozen=True, eq=False)
class ProvingBench:
    """Answers a try at one input; trial r is of the subject's r-th row, round and round.

    Each round has the time of the next effort. At level 0 the bracket is to be closed; at another,
    it is enough to know on which side of that radius the input lies; where that is the whole
    domain, a counterexample anywhere is soon found or given up. What is known of the input
    travels in the task, so an answer depends on its question alone.
    """

    inputs: Inputs
    references: NDArray[np.int64]
    model: Model
    prover: Prover
    bounds: Interval
    tolerance: float
    efforts: tuple[float, ...]
    seed: int

    @property
    def block(self) -> int:
        """Every input stands for itself."""
        return 1

    def batch_size(self) -> int:
        """One: a proof fills the processor by itself."""
        return 1

    def answer(self, tasks: Sequence[Task]) -> list[Proof]:
        """One after the other: a proof fills the processor by itself."""
        return [self._proof(task) for task in tasks]

    def _proof(self, task: Task) -> Proof:
        rows = task.subject.rows
        row, again = rows[task.start % len(rows)], task.start // len(rows)
        seconds = self.efforts[min(again, len(self.efforts) - 1)]
        if task.level >= self.bounds.width:
            seconds = min(seconds, _GLANCE)
        before: Proof | None = task.known
        if task.level and before is not None:  # one limit for all radii that are asked for
            seconds = max(seconds - before.seconds, _LEAST)
        request = ProofRequest(
            tolerance=self.tolerance,
            seconds=seconds,
            bounds=self.bounds,
            goal=task.level or None,
            seed=self.seed + again,
            replay=self._label,
            known=(0.0, None) if before is None else (before.low, _point(before)),
        )
        x = np.asarray(self.inputs.x[row], np.float64).reshape(-1)
        found = self.prover(x, int(self.references[row]), request)
        witness = found.witness
        return Proof(
            low=found.low,
            high=found.high if np.isfinite(found.high) else None,
            witness="" if witness is None else packed(witness),
            reason=found.reason,
            nodes=found.nodes,
            seconds=round(found.seconds, 4),
            discarded=found.discarded,
        )

    def _label(self, x: NDArray[np.float64]) -> int:
        """What the model itself says, in its own arithmetic."""
        shaped = np.asarray(x, dtype=np.float32).reshape(1, *self.inputs.x.shape[1:])
        return int(np.argmax(to_numpy(self.model.predict(self.model.place(shaped)))[0]))


def _point(proof: Proof) -> NDArray[np.float64] | None:
    return unpacked(proof.witness) if proof.witness else None


def packed(x: NDArray[np.floating]) -> str:
    """The values as base64 of little-endian float64."""
    return base64.b64encode(np.asarray(x, dtype="<f8").tobytes()).decode("ascii")


def unpacked(text: str) -> NDArray[np.float64]:
    """What `packed` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)
