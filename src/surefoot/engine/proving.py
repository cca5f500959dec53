"""The proving bench: critical levels by attack and proof, input by input."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.bench import to_numpy
from surefoot.evidence import Proof
from surefoot.results import Interval
from surefoot.subject import Inputs, Model, Task

if TYPE_CHECKING:
    from surefoot.verify.network import Network


@dataclass(frozen=True, eq=False)
class ProvingBench:
    """Answers a try at one input; trial r of a subject has the time of the r-th effort."""

    inputs: Inputs
    references: NDArray[np.int64]
    model: Model
    network: Network
    bounds: Interval
    tolerance: float
    efforts: tuple[float, ...]
    seed: int

    def answer(self, tasks: Sequence[Task]) -> list[Proof]:
        """One after the other: a proof fills the processor by itself."""
        return [self._proof(task) for task in tasks]

    def _proof(self, task: Task) -> Proof:
        from surefoot.verify.critical import critical

        row = task.subject.rows[0]
        found = critical(
            self.network,
            self.inputs.x[row].reshape(-1),
            int(self.references[row]),
            tolerance=self.tolerance,
            seconds=self.efforts[min(task.start, len(self.efforts) - 1)],
            low=self.bounds.low,
            high=self.bounds.high,
            seed=self.seed + task.start,
            replay=self._label,
            clock=time.thread_time,
        )
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


def packed(x: NDArray[np.floating]) -> str:
    """The values as base64 of little-endian float64."""
    return base64.b64encode(np.asarray(x, dtype="<f8").tobytes()).decode("ascii")


def unpacked(text: str) -> NDArray[np.float64]:
    """What `packed` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)
