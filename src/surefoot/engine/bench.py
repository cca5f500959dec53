"""The sampling bench: perturb, predict, judge, tally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.engine.streams import block_size, stream
from surefoot.errors import ModelFailed, OutOfMemory
from surefoot.evidence import Sampled
from surefoot.subject import Array, Inputs, Model, Perturbation, Property, Task

S = TypeVar("S", bound=Sampled)
E_co = TypeVar("E_co", covariant=True)


class Bench(Protocol[E_co]):
    """Turns tasks into evidence, several at a time."""

    def answer(self, tasks: Sequence[Task]) -> Sequence[E_co]:
        """One piece of evidence a task, in order."""
        ...


@dataclass(frozen=True, eq=False)
class SamplingBench(Generic[S]):
    """Answers tasks by running the model on perturbed inputs."""

    inputs: Inputs
    references: NDArray[np.int64]
    model: Model
    perturbation: Perturbation
    prop: Property
    collect: type[S]
    seed: int

    @property
    def block(self) -> int:
        """Trials whose random numbers are drawn together."""
        return block_size(self.inputs.x.shape[1:])

    def answer(self, tasks: Sequence[Task]) -> list[S]:
        """All tasks share one forward pass."""
        try:
            severities = self.severities(tasks)
        except MemoryError as error:
            raise OutOfMemory(
                f"{tasks[0]}: {error or 'no room for the perturbed inputs'}"
            ) from error
        cuts = np.cumsum([task.units for task in tasks])[:-1]
        return [self.collect.of(part, self.prop.limit) for part in np.split(severities, cuts)]

    def severities(self, tasks: Sequence[Task]) -> NDArray[np.floating]:
        """How badly each trial went, task after task."""
        x = _joined([self.perturbed(task) for task in tasks])
        labels = np.concatenate([self.references[self._rows(task)] for task in tasks])
        return to_numpy(self.prop.severity(self.scores(x, tasks), self._labels(labels, x)))

    def scores(self, x: Array, tasks: Sequence[Task]) -> Array:
        """The model's scores; a failure names the trials it happened on."""
        named = f"{tasks[0]}" + (f" and {len(tasks) - 1} more" if len(tasks) > 1 else "")
        try:
            scores = self.model.predict(x)
        except ModelFailed as error:
            raise ModelFailed(f"{named}: {error}") from error
        except OutOfMemory as error:
            raise OutOfMemory(f"{named}: {error}") from error
        if scores.shape[1] != self.model.signature.classes:
            raise ModelFailed(
                f"{named}: the model returned {scores.shape[1]} scores an input, not "
                f"{self.model.signature.classes} as before"
            )
        xp = array_namespace(scores)
        finite = xp.isfinite(scores)
        if not bool(xp.all(finite)):
            row = int(np.argmin(to_numpy(xp.all(finite, axis=1))))
            raise ModelFailed(
                f"{_name_of(row, tasks)}: the model returned NaN or an infinite score"
            )
        return scores

    def perturbed(self, task: Task) -> Array:
        """The perturbed inputs of these trials: the same whatever else is in the batch."""
        rows = self._rows(task)
        given = self.inputs.x[rows[:1] if len(task.subject.rows) == 1 else rows]
        axes = self.inputs.axes
        if axes:  # back to where the data had them
            given = given.transpose(0, *(int(a) + 1 for a in np.argsort(axes)))
        x, block = self.model.place(given), self.block
        pieces = []
        for number in range(task.start // block, (task.stop - 1) // block + 1):
            source = stream(self.seed, task.subject.name, self.perturbation.kind, number, x)
            drawn = self.perturbation.draw(source, block, given.shape[1:])
            begin = max(task.start - number * block, 0)
            end = min(task.stop - number * block, block)
            here = x if len(x) == 1 else x[number * block + begin - task.start :][: end - begin]
            pieces.append(
                self.perturbation.apply(
                    here, drawn[begin:end], task.level, self.model.signature.bounds
                )
            )
        whole = _joined(pieces)
        if not axes:
            return whole
        moved = array_namespace(whole).permute_dims(whole, (0, *(a + 1 for a in axes)))
        return np.ascontiguousarray(moved) if isinstance(moved, np.ndarray) else moved

    def _rows(self, task: Task) -> NDArray[np.intp]:
        rows = np.asarray(task.subject.rows, dtype=np.intp)
        return rows[np.arange(task.start, task.stop) % len(rows)]

    @staticmethod
    def _labels(labels: NDArray[np.int64], like: Array) -> Array:
        if isinstance(like, np.ndarray):
            return labels
        xp = array_namespace(like)
        return xp.asarray(labels, device=like.device)


def to_numpy(array: Array) -> NDArray[np.floating]:
    """The array in main memory, as NumPy."""
    if isinstance(array, np.ndarray):
        return array
    found: NDArray[np.floating] = array.detach().cpu().numpy()
    return found


def _joined(pieces: list[Array]) -> Array:
    return pieces[0] if len(pieces) == 1 else array_namespace(pieces[0]).concat(pieces, axis=0)


def _name_of(row: int, tasks: Sequence[Task]) -> str:
    for task in tasks:
        if row < task.units:
            return f"input {task.subject.name}, trial {task.start + row}"
        row -= task.units
    raise IndexError(row)
