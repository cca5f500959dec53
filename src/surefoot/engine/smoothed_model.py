"""A model that votes: the class that another model gives most often to the input plus noise."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts
from surefoot.core.tasks import Subject, Task
from surefoot.engine.devices import on_device_of
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import InvalidArgument
from surefoot.models import load_model
from surefoot.perturb.grid import BYTES, GaussianGrid
from surefoot.properties import SameLabel
from surefoot.statistics.bounds import check_error
from surefoot.statistics.kappa import tail_above
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Array, Outputs, Scores, Signature, to_host

_FIRST, _GROWTH = 16, 4
"""Trials at the first look, and how many times as many at the next: most inputs need one look."""
_TOGETHER = 2**22
"""Values of the inputs that the model gets in one batch."""


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The vote of a model over Gaussian noise: what `sf.smooth` certifies, as a model.

    `model` is a loaded model, or what `sf.load_model` takes. Input and noise are rounded to
    `grid`; the scores are the shares of the votes. Of each input at most `votes` are taken, fewer
    where the answer is clear; the class with the most of them is the one of the smoothed model
    with probability 1 - `error` (Cohen et al. 2019). Where that is not clear all scores are
    equal: it abstains, and a tie counts as wrong everywhere. The noise is named by the input's
    content and the seed, so that an answer depends on its input alone.

    Example: sf.estimate(sf.Smoothed("model.onnx", 0.25), "test.npz", "linf:8/255")
    """

    model: Any
    sigma: float
    votes: int = 1024
    error: float = 0.001
    grid: float = BYTES
    clip: bool = False
    seed: int = 1
    noise: GaussianGrid = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not hasattr(self.model, "signature"):
            object.__setattr__(self, "model", load_model(self.model))
        if not 0 < self.sigma < math.inf:
            raise InvalidArgument(f"sigma must be above 0, got {self.sigma:g}: try 0.25")
        check_error(self.error)
        if self.votes < _FIRST:
            raise InvalidArgument(
                f"votes must be {_FIRST} or more, got {self.votes}: fewer tell nothing"
            )
        given = self.model.signature
        if not given.classes:
            raise InvalidArgument(
                f"a vote is over classes, and the model gives {given.scores}: give one of classes"
            )
        clip = self.clip or given.whole_numbers
        noise = GaussianGrid(float(self.sigma), grid=self.grid, rounds=True, clip=clip)
        object.__setattr__(self, "noise", noise)

    @cached_property
    def signature(self) -> Signature:
        """That of the model; its digest names the noise and the votes too."""
        own: Signature = self.model.signature
        settings = (self.noise, self.votes, self.error, self.seed)
        digest = hashlib.sha256(f"{own.digest}\0{settings!r}".encode()).hexdigest()
        covers = f"{own.covers}, and the noise over which it votes"
        return replace(own, scores=Scores.PROBABILITIES, digest=digest, covers=covers)

    @property
    def in_python(self) -> str:
        """Why threads wait for each other, where those of the model do."""
        return getattr(self.model, "in_python", "")

    @property
    def assumption(self) -> Any:  # noqa: ANN401  as the model has it
        """What claims take for granted about the model."""
        return getattr(self.model, "assumption", None)

    def place(self, x: NDArray[np.float32]) -> Array:
        """Where the model needs it."""
        return self.model.place(x)

    def predict(self, x: Array) -> Array:
        """The share of votes of each class; all equal where it abstains."""
        on_host = to_host(x)
        steps = self.noise.steps_of(np.asarray(on_host, dtype=np.float64)).astype(np.int64)
        names = [hashlib.sha256(row.tobytes()).hexdigest() for row in steps]
        places = {name: i for i, name in enumerate(names)}  # equal inputs get one vote
        inputs = Inputs(on_host[list(places.values())], None, tuple(places), "a batch")
        shares = dict(zip(places, self._vote(inputs), strict=True))
        return on_device_of(x, np.stack([shares[name] for name in names]))

    def _vote(self, inputs: Inputs) -> NDArray[np.float32]:
        """One row of shares an input; those still open go on to the next look."""
        labels = np.zeros(len(inputs), dtype=np.int64)
        bench = SamplingBench(
            inputs, labels, self.model, self.noise, SameLabel(), Counts, self.seed
        )
        counts = np.zeros((len(inputs), self.signature.classes), dtype=np.int64)
        looks = _looks(self.votes)
        limit, start = self.error / len(looks), 0
        open_ = list(range(len(inputs)))
        for stop in looks:
            subjects = (Subject(inputs.ids[i], (i,)) for i in open_)
            _count(bench, [Task(one, self.sigma, start, stop) for one in subjects], counts)
            open_ = [i for i in open_ if not _is_clear(counts[i], limit)]
            start = stop
        counts[open_] = 1
        shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
        return shares.astype(np.float32)


def _count(bench: SamplingBench[Counts], tasks: Sequence[Task], counts: NDArray[np.int64]) -> None:
    """Add how often each class was first, alone, in these trials; as many at once as fit."""
    values = max(1, math.prod(bench.inputs.x.shape[1:]))
    size = max(1, _TOGETHER // (values * tasks[0].units)) if tasks else 1
    for place in range(0, len(tasks), size):
        batch = tasks[place : place + size]
        first = _winners(bench.outputs(bench.perturbed_all(batch), batch))
        owner = np.repeat([task.subject.rows[0] for task in batch], [t.units for t in batch])
        np.add.at(counts, (owner[first >= 0], first[first >= 0]), 1)


def _looks(votes: int) -> list[int]:
    """Trials at each look, up to all of them."""
    looks = [_FIRST]
    while looks[-1] * _GROWTH < votes:
        looks.append(looks[-1] * _GROWTH)
    return looks if looks[-1] == votes else [*looks, votes]


def _is_clear(counts: NDArray[np.int64], error: float) -> bool:
    """Whether the first class leads the second too far for a tie between them to explain it."""
    second, first = sorted(counts.tolist())[-2:]
    return bool(first) and 2 * tail_above(first, first + second, 0.5) <= error


def _winners(outputs: Outputs) -> NDArray[np.int64]:
    """The class with the highest score; -1 where two have it, a vote for none."""
    scores = np.asarray(outputs)
    highest = scores.max(axis=1, keepdims=True)
    tied = (scores == highest).sum(axis=1) > 1
    winners: NDArray[np.int64] = np.where(tied, -1, scores.argmax(axis=1)).astype(np.int64)
    return winners
