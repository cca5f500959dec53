"""The sampling bench: perturb, predict, judge, tally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.engine.cuda_streams import lane, settled
from surefoot.engine.input_layout import draws_nothing, seen, unseen
from surefoot.engine.streams import (
    TorchRowStream,
    base_of,
    block_size,
    draws_rows,
    row_keys,
    stream,
)
from surefoot.errors import ModelFailed, OutOfMemory
from surefoot.evidence import Sampled
from surefoot.subject import (
    Additive,
    Array,
    Drawn,
    Inputs,
    Level,
    Model,
    Perturbation,
    Property,
    Stream,
    to_host,
)
from surefoot.tasks import Task

S = TypeVar("S", bound=Sampled)
E_co = TypeVar("E_co", covariant=True)
_ROOM = 2**31
"""Bytes of inputs that are kept beside the model."""


class Bench(Protocol[E_co]):
    """Turns tasks into evidence, several at a time. An answer depends on its task alone."""

    @property
    def block(self) -> int:
        """Trials that are best run together, because their random numbers are drawn together."""
        ...

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
        return 1 if self._row_by_row else block_size(self.inputs.x.shape[1:])

    def answer(self, tasks: Sequence[Task]) -> list[S]:
        """All tasks share one forward pass."""
        try:
            with lane(self._placed if self._row_by_row else None):
                severities = self.severities(tasks)
        except MemoryError as error:
            raise OutOfMemory(
                f"{tasks[0]}: {error or 'no room for the perturbed inputs'}"
            ) from error
        cuts = np.cumsum([task.units for task in tasks])[:-1]
        return [self.collect.of(part, self.prop.limit) for part in np.split(severities, cuts)]

    def severities(self, tasks: Sequence[Task]) -> NDArray[np.floating]:
        """How badly each trial went, task after task.

        Where nothing is drawn, all trials of an input are one, and it is run once.
        """
        if self._certain and all(len(task.subject.rows) == 1 for task in tasks):
            each = self._severities([replace(task, stop=task.start + 1) for task in tasks])
            return np.repeat(each, [task.units for task in tasks])
        return self._severities(tasks)

    def _severities(self, tasks: Sequence[Task]) -> NDArray[np.floating]:
        """Nothing waits for the device before all of the batch's work is handed to it."""
        if self._row_by_row:
            keys, rows = self._names(tasks)
            x, labels = self._by_rows(tasks, keys, rows), self._placed_labels[rows]
        else:
            x = self.perturbed_all(tasks)
            labels = self._beside(self.references[self._rows_of(tasks)], x)
        scores = self._scores(x, tasks)
        xp = array_namespace(scores)
        found = self.prop.severity(scores, labels)
        finite = xp.all(xp.isfinite(scores), axis=1)
        severities = to_host(xp.where(finite, found, xp.nan))
        self._refuse_nan(severities, tasks)
        return severities

    def scores(self, x: Array, tasks: Sequence[Task]) -> Array:
        """The model's scores, all finite; a failure names the trials it happened on."""
        scores = self._scores(x, tasks)
        self._refuse_nan(to_host(scores).sum(axis=1), tasks)
        return scores

    def _scores(self, x: Array, tasks: Sequence[Task]) -> Array:
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
        return scores

    @staticmethod
    def _refuse_nan(rows: NDArray[np.floating], tasks: Sequence[Task]) -> None:
        if not np.isfinite(rows).all():
            row = int(np.argmin(np.isfinite(rows)))
            raise ModelFailed(
                f"{_name_of(row, tasks)}: the model returned NaN or an infinite score"
            )

    def perturbed_all(self, tasks: Sequence[Task]) -> Array:
        """The perturbed inputs of all tasks, one after the other."""
        if self._row_by_row:
            return self._by_rows(tasks, *self._names(tasks))
        return _joined([self.perturbed(task) for task in tasks])

    @cached_property
    def _row_by_row(self) -> bool:
        """Whether random numbers are named row by row, as on a GPU."""
        return draws_rows(self.model.place(self.inputs.x[:1]))

    @cached_property
    def _certain(self) -> bool:
        """Whether the perturbation draws nothing, so that all trials of an input are alike."""
        return draws_nothing(self.perturbation, self.inputs)

    @cached_property
    def _placed(self) -> Array:
        """All inputs where the model wants them, or one if they would not fit beside it."""
        x = self.inputs.x
        return settled(self.model.place(x if x.nbytes <= _ROOM else x[:1]))

    @cached_property
    def _placed_labels(self) -> Array:
        return settled(self._beside(self.references, self._placed))

    def _names(self, tasks: Sequence[Task]) -> tuple[Array, Array]:
        """For each trial, on the device: the key of its random numbers, and its input's row."""
        kind, units = self.perturbation.kind, np.array([task.units for task in tasks])
        bases = np.array([base_of(self.seed, t.subject.name, kind) for t in tasks], dtype=np.int64)
        starts = np.array([t.start for t in tasks]) - (np.cumsum(units) - units)
        firsts = np.array([task.subject.rows[0] for task in tasks])
        each = np.stack([bases, starts, firsts, units])
        placed = self._beside(each, self._placed)
        import torch

        n = int(units.sum())
        which = torch.repeat_interleave(placed[3], output_size=n)
        trials = torch.arange(n, device=placed.device) + placed[1][which]
        rows = placed[2][which]
        if any(len(task.subject.rows) > 1 for task in tasks):
            rows = self._beside(self._rows_of(tasks), self._placed)
        return row_keys(placed[0][which], trials), rows

    def _by_rows(self, tasks: Sequence[Task], keys: Array, rows: Array) -> Array:
        """The whole batch at once: a device is kept busy by few large calls."""
        made, bounds = self.perturbation, self.model.signature.bounds
        source = TorchRowStream(keys)
        levels = {task.level for task in tasks}
        additive: Additive | None = getattr(made, "additive", None)
        if len(self._placed) < len(self.inputs):
            wanted, index = np.unique(self._rows_of(tasks), return_inverse=True)
            table, rows = self.model.place(self.inputs.x[wanted]), self._beside(index, keys)
        else:
            table = self._placed
        if additive is not None and len(levels) == 1:
            x = seen(table, self.inputs, made.view)
            y = source.added_to(x, rows, additive, tasks[0].level, bounds)
            return unseen(y, self.inputs, made.view)
        if self._certain and all(len(task.subject.rows) == 1 for task in tasks):
            units = np.array([task.units for task in tasks])
            first = self._beside(np.cumsum(units) - units, rows)
            each = self._applied(tasks, table[rows[first]], source)
            import torch

            return each[torch.repeat_interleave(self._beside(units, rows), output_size=len(rows))]
        alike = len({task.subject.rows for task in tasks}) == len(tasks[0].subject.rows) == 1
        return self._applied(tasks, table[rows[:1] if alike else rows], source, len(keys))

    def _applied(
        self, tasks: Sequence[Task], x: Array, source: Stream, trials: int | None = None
    ) -> Array:
        """These inputs perturbed: one for each of so many trials, or one for each task."""
        made = self.perturbation
        x = seen(x, self.inputs, made.view)
        drawn = made.draw(source, trials or len(tasks), tuple(x.shape[1:]))
        level: Level = tasks[0].level
        if len({task.level for task in tasks}) > 1:
            times = [t.units for t in tasks] if trials else 1
            each = np.repeat([t.level for t in tasks], times)
            level = self._beside(each.astype(np.float32), x)
        y = made.apply(x, drawn, level, self.model.signature.bounds)
        return unseen(y, self.inputs, made.view)

    def perturbed(self, task: Task) -> Array:
        """The perturbed inputs of these trials: the same whatever else is in the batch."""
        if self._row_by_row:
            return self.perturbed_all([task])
        rows = self._rows(task)
        given = self.inputs.x[rows[:1] if len(task.subject.rows) == 1 else rows]
        view, block = self.perturbation.view, self.block
        x = seen(self.model.place(given), self.inputs, view)
        pieces = []
        for number in range(task.start // block, (task.stop - 1) // block + 1):
            source = stream(self.seed, task.subject.name, self.perturbation.kind, number, x)
            drawn = self.perturbation.draw(source, block, tuple(x.shape[1:]))
            begin = max(task.start - number * block, 0)
            end = min(task.stop - number * block, block)
            here = x if len(x) == 1 else x[number * block + begin - task.start :][: end - begin]
            pieces.append(
                self.perturbation.apply(
                    here, cut(drawn, begin, end), task.level, self.model.signature.bounds
                )
            )
        return unseen(_joined(pieces), self.inputs, view)

    def _rows(self, task: Task) -> NDArray[np.intp]:
        rows = np.asarray(task.subject.rows, dtype=np.intp)
        return rows[np.arange(task.start, task.stop) % len(rows)]

    def _rows_of(self, tasks: Sequence[Task]) -> NDArray[np.intp]:
        """The input of each trial."""
        if all(len(task.subject.rows) == 1 for task in tasks):
            firsts = np.array([task.subject.rows[0] for task in tasks], dtype=np.intp)
            return np.repeat(firsts, [task.units for task in tasks])
        return np.concatenate([self._rows(task) for task in tasks])

    @staticmethod
    def _beside(values: NDArray[Any], like: Array) -> Array:
        """These values where `like` is; to a GPU without waiting for what it is busy with."""
        if isinstance(like, np.ndarray):
            return values
        if getattr(like, "is_cuda", False):
            import torch

            return torch.from_numpy(values).pin_memory().to(like.device, non_blocking=True)
        xp = array_namespace(like)
        return xp.asarray(values, device=like.device)


def cut(drawn: Drawn, begin: int, end: int) -> Drawn:
    """These rows of what was drawn."""
    if isinstance(drawn, tuple):
        return tuple(cut(part, begin, end) for part in drawn)
    return drawn[begin:end]


def _joined(pieces: list[Array]) -> Array:
    return pieces[0] if len(pieces) == 1 else array_namespace(pieces[0]).concat(pieces, axis=0)


def _name_of(row: int, tasks: Sequence[Task]) -> str:
    for task in tasks:
        if row < task.units:
            return f"input {task.subject.name}, trial {task.start + row}"
        row -= task.units
    raise IndexError(row)
