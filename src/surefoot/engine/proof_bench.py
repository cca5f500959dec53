"""Brackets of critical radii by attack and proof, input by input."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import Arithmetic
from surefoot.core.counts import Proof
from surefoot.core.tasks import Task
from surefoot.executors.pool import cores
from surefoot.region.critical_level import PROVED_AT_GOAL, ProofLimits
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import CPU, Model, to_host

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


_TOGETHER, _ON_A_DEVICE = {"": 1, CPU: 16}, 512
"""Inputs whose first bounds are made together: with more of them a run that is killed has nothing
for longer, on a GPU not by much."""


class Prover(Protocol):
    """Who brackets the critical level of one input, and in whose arithmetic."""

    @property
    def device(self) -> str:
        """Where bounds are made: "cpu" with NumPy, "" nowhere."""

    def __call__(self, x: Floats, label: int, request: ProofRequest) -> BracketResult:
        """What is proved and refuted."""

    def together(
        self, x: Floats, labels: NDArray[np.int64], level: float, start: ProofRequest
    ) -> Floats:
        """A radius of each input, up to this level, if it is not 0: on a processor it is proved."""


@dataclass(frozen=True, eq=False)
class ProofRequest:
    """One question about an input: tolerance, limits, the space of radii.

    The label is to stay among the best `rank`. Of a `goal` only the side matters. `replay` asks the
    model itself; `known` is what was proved before, and its counterexample. With a `candidate`, a
    radius or 0, first bounds are all that is asked for.
    """

    tolerance: float
    limits: ProofLimits
    space: InputSpace
    rank: int
    goal: float | None
    seed: int
    replay: Callable[[Floats], int]
    known: tuple[float, Floats | None]
    candidate: float | None = None


@dataclass(frozen=True, eq=False)
class BuiltInProver:
    """Our prover, on the network as it was read."""

    network: Network
    arithmetic: Arithmetic = Arithmetic.FLOAT32
    device: str = CPU

    def __call__(self, x: Floats, label: int, request: ProofRequest) -> BracketResult:
        """What is proved and refuted, in processor seconds; on a device in those on the wall."""
        from surefoot.verify.bracket_search import bounds_alone, bracket_radius, close_bracket

        space, candidate = request.space, request.candidate
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
            clock=time.thread_time if self.device == CPU else time.monotonic,
            known=request.known,
            narrow=close_bracket if candidate is None else bounds_alone(candidate),
            where=self.device,
        )

    def together(
        self, x: Floats, labels: NDArray[np.int64], level: float, start: ProofRequest
    ) -> Floats:
        """A radius of each input, up to this level, if it is not 0: on a processor it is proved."""
        from surefoot.verify.first_bounds import InputBatch, first_radii, proved_at

        end = time.thread_time() + start.limits.seconds
        batch = InputBatch(self.network, x, labels, start.space, start.rank, self.arithmetic)
        if level:
            return proved_at(batch, level)
        return first_radii(batch, self.device, lambda: time.thread_time() > end)


@dataclass(frozen=True, eq=False)
class ExternalProver:
    """Another program, on the file itself; its seconds are wall-clock time."""

    verifier: ExternalVerifier
    graph: Path
    classes: int
    device: str = ""

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

    def together(
        self, x: Floats, labels: NDArray[np.int64], level: float, start: ProofRequest
    ) -> Floats:
        """Nothing."""
        del labels, level, start
        return np.zeros(len(x))


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
        """Of first bounds; what goes on from a proof fills the processor by itself."""
        return _TOGETHER.get(self.prover.device, _ON_A_DEVICE)

    def answer(self, tasks: Sequence[Task]) -> list[Proof]:
        """First bounds of all that are new; then one after the other, in threads beside a GPU."""
        new, begun = [i for i, task in enumerate(tasks) if self._begins(task)], time.thread_time()
        radii, done = np.zeros(len(tasks)), np.zeros(len(tasks), np.bool_)
        for level in {tasks[i].level for i in new}:
            some = [i for i in new if tasks[i].level == level]
            rows = [self._row(tasks[i]) for i in some]
            x, labels = self.inputs.x[rows], self.references[rows]
            start = replace(self._request(tasks[some[0]]), space=self.space)
            limits = replace(start.limits, seconds=start.limits.seconds * len(some))
            flat = np.asarray(x, np.float64).reshape(len(x), -1)
            start = replace(start, limits=limits)
            radii[some] = self.prover.together(flat, labels, level, start)
            if level and radii[some].any():
                done[some] = (radii[some] >= level) & (self._labels(x, labels) == labels)
        spent = round((time.thread_time() - begun) / max(1, len(new)), 4)
        proved = Proof(0.0, None, "", PROVED_AT_GOAL, 0, spent)

        def proof(i: int) -> Proof:
            if done[i]:
                return replace(proved, low=tasks[i].level)
            own = self._proof(tasks[i], float(radii[i]))
            return replace(own, seconds=round(own.seconds + spent, 4)) if i in new else own

        if len(new) < 2 or self.prover.device == CPU:
            return [proof(i) for i in range(len(tasks))]
        with ThreadPoolExecutor(cores()) as threads:  # each confirms what the GPU proposed
            return list(threads.map(proof, range(len(tasks))))

    def _begins(self, task: Task) -> bool:
        """Whether a task asks for first bounds, or whether they may do.

        They may do again at another level, where no counterexample is known.
        """
        before = task.known
        unrefuted = isinstance(before, Proof) and before.high is None
        may = before is None or (unrefuted and task.level > 0)
        return bool(self.prover.device) and may and not self._whole(task)

    def _whole(self, task: Task) -> bool:
        return task.level >= self.space.widest(self.inputs.x.shape[1:])

    def _row(self, task: Task) -> int:
        return task.subject.rows[task.start % len(task.subject.rows)]

    def _request(self, task: Task) -> ProofRequest:
        row, round_ = self._row(task), task.start // len(task.subject.rows)
        before = task.known if isinstance(task.known, Proof) else None
        point = decode_point(before.witness) if before and before.witness else None
        return ProofRequest(
            tolerance=self.tolerance,
            limits=self._limits(task, round_),
            space=self.space.around(np.asarray(self.inputs.x[row], np.float64).reshape(-1)),
            rank=self.rank,
            goal=task.level or None,
            seed=self.seed + round_,
            replay=partial(self._label, int(self.references[row])),
            known=(0.0, None) if before is None else (before.low, point),
        )

    def _proof(self, task: Task, radius: float) -> Proof:
        row, request = self._row(task), self._request(task)
        x, label = np.asarray(self.inputs.x[row], np.float64).reshape(-1), int(self.references[row])
        low, point = request.known
        if self._begins(task) and not task.level:
            proved, proposed = (radius, 0.0) if self.prover.device == CPU else (0.0, radius)
            request = replace(request, known=(max(low, proved), point), candidate=proposed)
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
        if self._whole(task):
            if nodes is None:
                seconds = min(seconds, _WHOLE_DOMAIN_SECONDS)
            else:
                nodes = min(nodes, _WHOLE_DOMAIN_NODES)
        if before is None:
            return ProofLimits(seconds, nodes)
        seconds = max(seconds - before.seconds, _LEAST_SECONDS)  # of all radii and tries together
        if task.level and nodes is not None:
            nodes = max(nodes - before.nodes, 1)
        return ProofLimits(seconds, nodes)

    def _label(self, label: int, x: NDArray[np.float64]) -> int:
        """The label by the model itself, in its own arithmetic."""
        shaped = np.asarray(x, dtype=np.float32).reshape(1, *self.inputs.x.shape[1:])
        return int(self._labels(shaped, np.array([label]))[0])

    def _labels(self, x: NDArray[np.generic], labels: NDArray[np.integer]) -> NDArray[np.int64]:
        scores = to_host(self.model.predict(self.model.place(np.asarray(x, np.float32))))
        return labels_given(scores, labels, self.rank)


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
