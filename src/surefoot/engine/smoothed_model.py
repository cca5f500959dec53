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
from surefoot.inputs.arrays import image_frame
from surefoot.models import load_model
from surefoot.perturb.grid import GaussianGrid, GaussianShift, UniformGrid, smoothing_noise
from surefoot.properties import SameLabel
from surefoot.statistics.bounds import check_error
from surefoot.statistics.kappa import tail_above
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Array, Outputs, Scores, Signature, to_host

_FIRST, _GROWTH = 16, 4
"""Trials at the first look, and how many times as many at the next: most inputs need one look."""
_TOGETHER = 2**22
"""Values of the inputs that the model gets in one batch."""
_AS_THE_MODEL = ("in_python", "assumption", "caution", "check_unchanged", "class_names")
"""What is true of a vote as of the model: why threads wait, whether it may change, its classes."""


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The vote of a model over noise: what `sf.smooth` certifies, as a model.

    `model` is a loaded model, or what `sf.load_model` takes. The noise is Gaussian (`sigma`), or
    that of `uniform` or `shift` in `sf.smooth`. Input and noise are rounded to `grid` (1/255;
    shifts round nothing); the scores are the shares of the votes. Of each input at most `votes`
    are taken, fewer where the answer is clear; the class with the most of them is the one of the
    smoothed model with probability 1 - `error` (Cohen et al. 2019). Where that is not clear all
    scores are equal: it abstains, and a tie counts as wrong everywhere. The noise is named by the
    input's content and the seed, so that an answer depends on its input alone.

    Example: sf.estimate(sf.Smoothed("model.onnx", 0.25), "test.npz", "linf:8/255")
    """

    model: Any
    sigma: float | None = None
    votes: int = 1024
    error: float = 0.001
    grid: float | None = None
    clip: bool = False
    seed: int = 1
    uniform: float | None = None
    shift: float | None = None
    noise: GaussianGrid | UniformGrid | GaussianShift = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not hasattr(self.model, "signature"):
            object.__setattr__(self, "model", load_model(self.model))
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
        if self.shift is not None and not image_frame(given.shape):
            raise InvalidArgument(
                f"a shift moves images, and the model takes inputs of shape {given.shape}: give "
                "sigma or uniform"
            )
        levels = {"sigma": self.sigma, "uniform": self.uniform, "shift": self.shift}
        clip = self.clip or (self.shift is None and given.whole_numbers)
        noise = smoothing_noise(levels, self.grid, rounds=True, clip=clip)
        object.__setattr__(self, "noise", noise)

    @cached_property
    def signature(self) -> Signature:
        """That of the model; its digest names the noise and the votes too."""
        own: Signature = self.model.signature
        settings = (self.noise, self.votes, self.error, self.seed)
        digest = hashlib.sha256(f"{own.digest}\0{settings!r}".encode()).hexdigest()
        covers = f"{own.covers}, and the noise over which it votes"
        return replace(own, scores=Scores.PROBABILITIES, digest=digest, covers=covers)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  as the model has it
        if name in _AS_THE_MODEL:
            return getattr(self.model, name)
        raise AttributeError(name)

    def place(self, x: NDArray[np.float32]) -> Array:
        """Where the model needs it."""
        return self.model.place(x)

    def predict(self, x: Array) -> Array:
        """The share of votes of each class; all equal where it abstains."""
        on_host = to_host(x)
        steps = self.noise.steps_of(np.asarray(on_host, dtype=np.float64)).astype(np.int64)
        names = [hashlib.sha256(row.tobytes()).hexdigest() for row in steps]
        places = {name: i for i, name in enumerate(names)}  # equal inputs get one vote
        frame = image_frame(self.signature.shape)
        inputs = Inputs(on_host[list(places.values())], None, tuple(places), "a batch", frame=frame)
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
        limit, start, level = self.error / len(looks), 0, self.noise.level or 0.0
        open_ = list(range(len(inputs)))
        for stop in looks:
            subjects = (Subject(inputs.ids[i], (i,)) for i in open_)
            _count(bench, [Task(one, level, start, stop) for one in subjects], counts)
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
