"""Brackets of critical radii by attack and proof, input by input."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import Arithmetic
from surefoot.core.counts import Proof
from surefoot.core.tasks import Task
from surefoot.region.critical_level import ProofLimits
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, to_host

if TYPE_CHECKING:
    from surefoot.graph.network import Network
    from surefoot.verify.ball import InputSpace
    from surefoot.verify.bracket import BracketResult
    from surefoot.verify.external_verifier import ExternalVerifier

Floats = NDArray[np.float64]

_WHOLE_DOMAIN_SECONDS = 2.0
"""Seconds for a question about the whole domain: a counterexample anywhere is soon there or not
worth the search. Chosen by hand; brackets are true whatever it is."""
_WHOLE_DOMAIN_NODES = 2_000
"""Nodes for the same, where nodes are limited: about two seconds of a small network. Chosen by
hand; brackets are true whatever it is."""
_LEAST_SECONDS = 0.01
"""Seconds of a try whose time is spent already: a prover needs some time above 0."""


class Prover(Protocol):
    """Who brackets the critical level of one input, and in whose arithmetic."""

    def __call__(self, x: Floats, label: int, request: ProofRequest) -> BracketResult:
        """What is proved and refuted."""


@dataclass(frozen=True, eq=False)
class ProofRequest:
    """One question about an input: tolerance, limits, the space of radii.

    The label is to stay among the best `rank`. Of a `goal` only the side matters. `replay` asks the
    model itself; `known` is what was proved before, and its counterexample.
    """

    tolerance: float
    limits: ProofLimits
    space: InputSpace
    rank: int
    goal: float | None
    seed: int
    replay: Callable[[Floats], int]
    known: tuple[float, Floats | None]


@dataclass(frozen=True, eq=False)
class BuiltInProver:
    """Our prover, on the network as it was read."""

    network: Network
    arithmetic: Arithmetic = Arithmetic.FLOAT32

    def __call__(self, x: Floats, label: int, request: ProofRequest) -> BracketResult:
        """What is proved and refuted."""
        from surefoot.verify.bracket_search import bracket_radius

        space = request.space
        return bracket_radius(
            self.network,
            x,
            label,
            tolerance=request.tolerance,
            seconds=request.limits.seconds,
            nodes=request.limits.nodes,
            low=space.low,
            high=space.high,
            norm=space.norm,
            unit=space.unit,
            rank=request.rank,
            goal=request.goal,
            seed=request.seed,
            arithmetic=self.arithmetic,
            replay=request.replay,
            clock=time.thread_time,
            known=request.known,
        )


@dataclass(frozen=True, eq=False)
class ExternalProver:
    """Another program, on the file itself; its seconds are wall-clock time."""

    verifier: ExternalVerifier
    graph: Path
    classes: int

    def __call__(self, x: Floats, label: int, request: ProofRequest) -> BracketResult:
        """What is proved and refuted."""
        from surefoot.verify.external_verifier import bracket_radius_externally

        return bracket_radius_externally(
            self.verifier,
            self.graph,
            x,
            label,
            self.classes,
            request.replay,
            tolerance=request.tolerance,
            seconds=request.limits.seconds,
            low=float(request.space.low),
            high=float(request.space.high),
            witness=request.known[1],
        )


@dataclass(frozen=True, eq=False)
class ProofBench:
    """Brackets one input for each task; trial r is of the subject's r-th row, round after round.

    Each round has the next limits of `efforts`. At level 0 the bracket is to be closed; at another,
    it is enough to know on which side of that radius the input lies; where that is the whole
    domain, the search for a counterexample is short. What is known of the input travels in the
    task, so an answer depends on its task alone.
    """

    inputs: Inputs
    references: NDArray[np.int64]
    model: Model
    prover: Prover
    space: InputSpace
    tolerance: float
    efforts: tuple[ProofLimits, ...]
    seed: int
    rank: int = 1

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
        row, round_ = rows[task.start % len(rows)], task.start // len(rows)
        before = task.known if isinstance(task.known, Proof) else None
        point = decode_point(before.witness) if before and before.witness else None
        x = np.asarray(self.inputs.x[row], np.float64).reshape(-1)
        label = int(self.references[row])
        request = ProofRequest(
            tolerance=self.tolerance,
            limits=self._limits(task, round_),
            space=self.space.around(x),
            rank=self.rank,
            goal=task.level or None,
            seed=self.seed + round_,
            replay=partial(self._label, label),
            known=(0.0, None) if before is None else (before.low, point),
        )
        bracket = self.prover(x, label, request)
        witness = bracket.witness
        return Proof(
            low=bracket.low,
            high=bracket.high if np.isfinite(bracket.high) else None,
            witness="" if witness is None else encode_point(witness),
            reason=bracket.reason,
            nodes=bracket.nodes,
            seconds=round(bracket.seconds, 4),
            discarded=bracket.discarded,
        )

    def _limits(self, task: Task, round_: int) -> ProofLimits:
        """What this task may take; where nodes are limited, no time decides how it begins."""
        limits = self.efforts[min(round_, len(self.efforts) - 1)]
        before = task.known if isinstance(task.known, Proof) else None
        seconds, nodes = limits.seconds, limits.nodes
        if task.level >= self.space.widest(self.inputs.x.shape[1:]):
            if nodes is None:
                seconds = min(seconds, _WHOLE_DOMAIN_SECONDS)
            else:
                nodes = min(nodes, _WHOLE_DOMAIN_NODES)
        if before is None:
            return ProofLimits(seconds, nodes)
        if task.level or nodes is not None:  # one limit for all radii, or tries, of an input
            seconds = max(seconds - before.seconds, _LEAST_SECONDS)
        if task.level and nodes is not None:
            nodes = max(nodes - before.nodes, 1)
        return ProofLimits(seconds, nodes)

    def _label(self, label: int, x: NDArray[np.float64]) -> int:
        """The label by the model itself, in its own arithmetic."""
        shaped = np.asarray(x, dtype=np.float32).reshape(1, *self.inputs.x.shape[1:])
        scores = to_host(self.model.predict(self.model.place(shaped)))
        return int(labels_given(scores, np.array([label]), self.rank)[0])


def labels_given(
    scores: NDArray[np.floating], labels: NDArray[np.integer], rank: int
) -> NDArray[np.int64]:
    """The label that each row of scores gives; above rank 1 its own while among the best, else -1.

    There a tie fails.
    """
    if rank == 1:
        return np.asarray(scores.argmax(axis=1), np.int64)
    own = np.take_along_axis(scores, labels[:, None], axis=1)
    return np.where((scores >= own).sum(axis=1) <= rank, labels, -1)


def encode_point(x: NDArray[np.floating]) -> str:
    """The values as base64 of little-endian float64."""
    return base64.b64encode(np.asarray(x, dtype="<f8").tobytes()).decode("ascii")


def decode_point(text: str) -> NDArray[np.float64]:
    """The values that `encode_point` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)
