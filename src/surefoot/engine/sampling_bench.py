"""The sampling bench: perturb the inputs, run the model, judge each trial, summarise."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Generic, TypeVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.core.counts import Counts, Sampled
from surefoot.core.tasks import Task, words_of_tasks, words_of_trial
from surefoot.engine import devices, streams
from surefoot.engine.batching import take_batch
from surefoot.engine.devices import on_device_of
from surefoot.engine.outputs import joined
from surefoot.errors import ModelFailed, OutOfMemory
from surefoot.inputs.arrays import channels_last
from surefoot.perturb._ops.compiled_numbers import Parts, Rows, compiled_noise
from surefoot.perturb._ops.definition import Normal, Uniform
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import (
    Additive,
    Array,
    Drawn,
    Level,
    Model,
    Outputs,
    Perturbation,
    Property,
    Stream,
    View,
    to_host,
)


def to_view(x: Array, inputs: Inputs, view: View) -> Array:
    """Rows in the layout of the perturbation's view; the same memory where possible.

    So no perturbation deals with layouts: docs/decisions/perturbation-seam.md.
    """
    xp = array_namespace(x)
    frame = inputs.frame
    match view:
        case View.IMAGE:
            if len(frame) == 2:
                return xp.reshape(x, (len(x), 1, *frame))
            whole = xp.reshape(x, (len(x), *frame))
            return xp.permute_dims(whole, (0, 3, 1, 2)) if channels_last(frame) else whole
        case View.SERIES:
            if x.ndim == 2:
                return x[:, None, :]
            return xp.permute_dims(x, (0, 2, 1)) if _time_first(x.shape[1:]) else x
        case View.VALUES | View.TEXT:
            if not inputs.axes:
                return x
            return xp.permute_dims(x, (0, *(int(a) + 1 for a in np.argsort(inputs.axes))))


def from_view(y: Array, inputs: Inputs, view: View) -> Array:
    """Rows back in the layout of the model."""
    xp = array_namespace(y)
    shape = inputs.x.shape[1:]
    match view:
        case View.IMAGE:
            if channels_last(inputs.frame):
                y = xp.permute_dims(y, (0, 2, 3, 1))
        case View.SERIES:
            if len(shape) == 2 and _time_first(shape):
                y = xp.permute_dims(y, (0, 2, 1))
        case View.VALUES | View.TEXT:
            if inputs.axes:
                y = xp.permute_dims(y, (0, *(a + 1 for a in inputs.axes)))
    whole = xp.reshape(y, (len(y), *shape))
    return np.ascontiguousarray(whole) if isinstance(whole, np.ndarray) else whole


def _time_first(shape: tuple[int, ...]) -> bool:
    """Whether time is the first of two axes: the longer one is time."""
    return shape[0] > shape[1]


def draws_nothing(perturbation: Perturbation, inputs: Inputs) -> bool:
    """Whether the perturbation is not random: every trial of an input is the same."""
    one = to_view(inputs.x[:1], inputs, perturbation.view)
    source = streams.stream(0, "", perturbation.kind, 0, one)
    return _is_empty(perturbation.draw(source, 1, one.shape[1:]))


def draws_blocks(perturbation: Perturbation) -> bool:
    """Whether it draws in several calls, so that the numbers of a trial need its whole block."""
    return not isinstance(perturbation.draw, Uniform | Normal)


def _all_of(parts: list[Outputs]) -> Outputs:
    return parts[0] if len(parts) == 1 else joined(parts)


def _bytes_of(outputs: Outputs) -> float:
    """A list of objects has no size that is known."""
    return math.inf if isinstance(outputs, list) else outputs.nbytes


def _beside(outputs: Outputs, values: NDArray[np.int64]) -> Array:
    """The values on the device of the outputs."""
    return values if isinstance(outputs, list) else on_device_of(outputs, values)


def _is_empty(drawn: Drawn) -> bool:
    if isinstance(drawn, tuple):
        return all(_is_empty(part) for part in drawn)
    return bool(math.prod(drawn.shape) == 0)


def _sums(marks: NDArray[np.bool_], units: Sequence[int]) -> list[int]:
    """How many are set of so many that follow each other, at least one each."""
    firsts = np.cumsum(units) - np.array(units)
    sums: list[int] = np.add.reduceat(marks, firsts, dtype=np.int64).tolist()
    return sums


_Judged = tuple[NDArray[np.floating], NDArray[np.floating] | None]
S_co = TypeVar("S_co", bound=Sampled, covariant=True)
_FEW_TRIALS = 8
"""Trials of an input below which one call for all inputs beats one call for each: with more the
calls are large already, and a perturbation may treat its one input once."""
_CACHE_BYTES = 2**21
"""Bytes of perturbed inputs that stay in the cache of a core of today."""
_MOST_RESIDENT_BYTES = 2**31
"""Bytes of inputs that stay on the device beside the model: 2 GiB, little on any GPU of today."""


@dataclass(frozen=True, eq=False)
class SamplingBench(Generic[S_co]):
    """Answers tasks by running the model on perturbed inputs.

    `references` has one row an input, as the property reads it: a label, or an output. `others`
    has the other of its two labels, the true one and that of the clean input, -1 where they agree.
    The model is given no more than `rows_at_once`; of a larger batch as many are perturbed, and
    then judged, as a core keeps at hand until the model has read them.
    """

    inputs: Inputs
    references: Outputs
    model: Model
    perturbation: Perturbation
    prop: Property
    collect: type[S_co]
    seed: int
    others: NDArray[np.int64] | None = None
    longest_block: int = streams.LONGEST_BLOCK
    rows_at_once: int | None = None

    @cached_property
    def block(self) -> int:
        """Trials whose random numbers are drawn together."""
        longest = min(self.longest_block, streams.block_size(self.inputs.x.shape[1:]))
        return 1 if self._named_by_row else longest

    def answer(self, tasks: Sequence[Task]) -> list[S_co]:
        """The evidence of each task; all tasks share one forward pass."""
        try:
            like = self._resident if self._named_by_row else None
            with devices.memory_errors(), devices.worker_stream(like):
                severities, others = self._judged(tasks)
        except MemoryError as error:
            raise OutOfMemory(
                f"{tasks[0]}: {error or 'no room for the perturbed inputs'}"
            ) from error
        units = [task.units for task in tasks]
        if issubclass(self.collect, Counts):  # counted for all tasks at once
            kept = _sums(severities < self.prop.limit, units)
            if others is None:
                return list(map(self.collect, units, kept))
            with_other = _sums(others < self.prop.limit, units)
            has_other = self._others_of(tasks) >= 0
            known = [n if has else None for n, has in zip(with_other, has_other, strict=True)]
            return list(map(self.collect, units, kept, known))
        parts = np.split(severities, list(accumulate(units))[:-1])
        return [self.collect.of(part, self.prop.limit) for part in parts]

    def _others_of(self, tasks: Sequence[Task]) -> NDArray[np.int64]:
        """The other label of the one input of each task; -1 where it has none."""
        if self.others is None:
            return np.full(len(tasks), -1)
        one = [len(task.subject.rows) == 1 for task in tasks]
        return np.where(one, self.others[[task.subject.rows[0] for task in tasks]], -1)

    def severities(self, tasks: Sequence[Task]) -> NDArray[np.floating]:
        """The severity of each trial, task after task."""
        return self._judged(tasks)[0]

    def _judged(self, tasks: Sequence[Task]) -> _Judged:
        """Each trial by its reference, and by the other label where some input has one.

        A perturbation that draws nothing gives the same trial every time: it is run once.
        """
        if self._draws_nothing and all(len(task.subject.rows) == 1 for task in tasks):
            once, others = self._run([replace(task, stop=task.start + 1) for task in tasks])
            units = [task.units for task in tasks]
            return np.repeat(once, units), None if others is None else np.repeat(others, units)
        return self._run(tasks)

    def _run(self, tasks: Sequence[Task]) -> _Judged:
        """The same, with every trial run; the device gets all work before anything waits for it."""
        if self._named_by_row:
            keys, rows = self._keys_and_rows(tasks)
            x = self._perturbed_by_row(tasks, keys, rows)
            return self._judge(self._outputs(x, tasks), tasks, rows)
        if self.rows_at_once is None:
            return self._judge(self._outputs(self.perturbed_all(tasks), tasks), tasks, None)
        queue, parts = deque(tasks), list[_Judged]()
        size = max(self.rows_at_once, _CACHE_BYTES // max(1, self.inputs.row_bytes))
        waiting, outputs = list[Task](), list[Outputs]()
        while queue:
            part = take_batch(queue, size, self.block)
            waiting += part
            outputs.append(self._outputs(self.perturbed_all(part), part))
            if not queue or sum(map(_bytes_of, outputs)) > _CACHE_BYTES:
                parts.append(self._judge(_all_of(outputs), waiting, None))
                waiting, outputs = [], []
        if len(parts) == 1:
            return parts[0]
        others = None
        if any(other is not None for _, other in parts):
            # where no input of a part has another label, nobody reads its zeros
            others = np.concatenate([np.zeros_like(s) if o is None else o for s, o in parts])
        return np.concatenate([severities for severities, _ in parts]), others

    def severities_of(self, x: Array, tasks: Sequence[Task]) -> NDArray[np.floating]:
        """The severity of each row of `x`, which is what became of the trials of these tasks."""
        return self._judge(self._outputs(x, tasks), tasks, None)[0]

    def _judge(self, outputs: Outputs, tasks: Sequence[Task], rows: Array | None) -> _Judged:
        references: Outputs
        if isinstance(self.references, list):
            references = [self.references[row] for row in self._rows_of(tasks).tolist()]
        elif rows is not None:
            references = self._resident_references[rows]
        else:
            references = _beside(outputs, self.references[self._rows_of(tasks)])
        try:
            severity = self.prop.severity(outputs, references)
        except ModelFailed as error:
            raise ModelFailed(f"{words_of_tasks(tasks)}: {error}") from error
        other = None
        if (others := self._others_of(tasks)).max(initial=-1) >= 0:
            labels = np.repeat(np.maximum(others, 0), [task.units for task in tasks])
            other = to_host(self.prop.severity(outputs, _beside(outputs, labels)))
        severities = devices.nan_where_not_finite(outputs, severity, self.prop.limit)
        self._refuse_nan(severities, tasks)
        return severities, other

    def outputs(self, x: Array, tasks: Sequence[Task]) -> Outputs:
        """The model's outputs, in main memory and finite; an error names the trials."""
        outputs = self._outputs(x, tasks)
        if isinstance(outputs, list):
            return outputs
        on_host = to_host(outputs)
        self._refuse_nan(on_host.reshape(len(on_host), -1).sum(axis=1), tasks)
        return on_host

    def _outputs(self, x: Array, tasks: Sequence[Task]) -> Outputs:
        signature = self.model.signature
        try:
            most = self.rows_at_once or len(x)
            parts = [self.model.predict(x[k : k + most]) for k in range(0, len(x), most)]
            outputs = _all_of(parts)
        except ModelFailed as error:
            raise ModelFailed(f"{words_of_tasks(tasks)}: {error}") from error
        except OutOfMemory as error:
            raise OutOfMemory(f"{words_of_tasks(tasks)}: {error}") from error
        if signature.classes and outputs.shape[1] != signature.classes:
            raise ModelFailed(
                f"{words_of_tasks(tasks)}: the model must return {signature.classes} scores for "
                f"each input, got {outputs.shape[1]}"
            )
        return outputs

    @staticmethod
    def _refuse_nan(rows: NDArray[np.floating], tasks: Sequence[Task]) -> None:
        if not np.isfinite(rows).all():
            row = int(np.argmin(np.isfinite(rows)))
            raise ModelFailed(
                f"{words_of_trial(row, tasks)}: the model returned NaN or an infinite score"
                "; let it give finite scores, or check the scale of the inputs"
            )

    def perturbed_all(self, tasks: Sequence[Task]) -> Array:
        """The perturbed inputs of all tasks, one after the other."""
        if self._named_by_row:
            return self._perturbed_by_row(tasks, *self._keys_and_rows(tasks))
        noise, kind = self._host_noise, self.perturbation.kind
        # At level 0 the inputs are left as they are, which `apply` knows and the compiled code does
        # not (docs/decisions/sampler.md).
        if noise is None or any(task.level == 0 for task in tasks):
            if self._apply_at_once(tasks):
                return self._perturbed_at_once(tasks)
            return devices.concatenated([self.perturbed(task) for task in tasks])
        parts = [
            (streams.block_key(self.seed, t.subject.name, kind, number), start, stop, t.level)
            for t in tasks
            for number, start, stop in self._blocks(t)
        ]
        return noise(self._placed, self._rows_of(tasks), parts)

    def _apply_at_once(self, tasks: Sequence[Task]) -> bool:
        """Whether one call can perturb all: few trials each of many inputs, at one level."""
        few = sum(task.units for task in tasks) < _FEW_TRIALS * len(tasks)
        single = all(len(task.subject.rows) == 1 for task in tasks)
        alike = len({task.level for task in tasks}) == 1
        return len(tasks) > 1 and few and single and alike and not self.inputs.holds_items

    def _perturbed_at_once(self, tasks: Sequence[Task]) -> Array:
        """The numbers of each task as `perturbed` draws them, then one call for all of them."""
        x = to_view(
            self.model.place(self.inputs.x[self._rows_of(tasks)]), self.inputs,
            self.perturbation.view,
        )  # fmt: skip
        bounds = self.model.signature.bounds
        if self.longest_block == 1 or self._draws_once(x):
            drawn = self._row_draws(tasks, x)
        else:
            drawn = devices.draws_together([d for task in tasks for d in self._draws(task, x)])
        y = self.perturbation.apply(x, drawn, tasks[0].level, bounds)
        return from_view(y, self.inputs, self.perturbation.view)

    def _row_draws(self, tasks: Sequence[Task], x: Array) -> Drawn:
        """What was drawn for every trial in one call: its numbers are those of its own block."""
        blocks = [(t.subject.name, *block) for t in tasks for block in self._blocks(t)]
        source = streams.row_stream(self.seed, blocks, self.perturbation.kind, x)
        return self.perturbation.draw(source, sum(t.units for t in tasks), tuple(x.shape[1:]))

    def _draws_once(self, x: Array) -> bool:
        """Whether the numbers of a block come in one call, on the host."""
        return not draws_blocks(self.perturbation) and streams.generator_for(x) == "sfc64"

    def _blocks(self, task: Task) -> Iterator[tuple[int, int, int]]:
        """The number of each block of a task, and which of its rows are asked for."""
        size = self.block
        for number in range(task.start // size, (task.stop - 1) // size + 1):
            begin = number * size
            yield number, max(task.start - begin, 0), min(task.stop - begin, size)

    def _draws(self, task: Task, x: Array) -> Iterator[Drawn]:
        """What was drawn for each block of a task."""
        for number, start, stop in self._blocks(task):
            source = streams.stream(self.seed, task.subject.name, self.perturbation.kind, number, x)
            # A whole block, however few of its trials are asked for: the numbers of a trial must
            # not depend on the batch it is in. Those of one call come row after row, so that the
            # rows behind the last one that is asked for can be left out.
            whole = draws_blocks(self.perturbation)
            drawn = self.perturbation.draw(
                source, self.block if whole else stop, tuple(x.shape[1:])
            )
            yield devices.draw_rows(drawn, start, stop)

    def _clean_inputs(self, task: Task) -> NDArray[np.float32]:
        """The input of each trial, or the only one of all."""
        rows = task.subject.rows
        x: NDArray[np.float32] = self.inputs.x
        return x[rows[0] : rows[0] + 1] if len(rows) == 1 else x[self.rows_of_task(task)]

    @cached_property
    def _host_noise(self) -> Callable[[Rows, NDArray[np.intp], Parts], Rows] | None:
        """Compiled code that draws and adds in one pass, where the perturbation is such noise."""
        noise: Additive | None = getattr(self.perturbation, "additive", None)
        like, add = self.model.place(self.inputs.x[:1]), compiled_noise()
        plain = isinstance(like, np.ndarray) and like.dtype == np.float32
        if add is None or noise is None or noise.normal or not plain or self.inputs.axes:
            return None
        return partial(add, noise, self.model.signature.bounds)

    @cached_property
    def _placed(self) -> NDArray[np.float32]:
        """All inputs as compiled code reads them."""
        return np.ascontiguousarray(self.model.place(self.inputs.x))

    @cached_property
    def _named_by_row(self) -> bool:
        """Whether random numbers are named row by row, as on a GPU."""
        return streams.draws_rows(self.model.place(self.inputs.x[:1]))

    @cached_property
    def _draws_nothing(self) -> bool:
        """Whether the perturbation draws nothing, so that all trials of an input are alike."""
        return draws_nothing(self.perturbation, self.inputs)

    @cached_property
    def _resident(self) -> Array:
        """All inputs on the model's device; only one where they would not fit beside the model."""
        x = self.inputs.x[: None if self.inputs.x.nbytes <= _MOST_RESIDENT_BYTES else 1]
        return devices.synchronized(self.model.place(x))

    @cached_property
    def _resident_references(self) -> Array:
        return devices.synchronized(on_device_of(self._resident, self.references))

    def _keys_and_rows(self, tasks: Sequence[Task]) -> tuple[Array, Array]:
        """For each trial, on the device: the key of its random numbers, and its input's row."""
        import torch

        kind, units = self.perturbation.kind, np.array([task.units for task in tasks])
        bases = np.array(
            [streams.base_of(self.seed, t.subject.name, kind) for t in tasks], dtype=np.int64
        )
        offsets = np.array([t.start for t in tasks]) - (np.cumsum(units) - units)
        firsts = np.array([task.subject.rows[0] for task in tasks])
        by_task = on_device_of(self._resident, np.stack([bases, offsets, firsts, units]))
        n = int(units.sum())
        task_of = torch.repeat_interleave(by_task[3], output_size=n)
        trials = torch.arange(n, device=by_task.device) + by_task[1][task_of]
        rows = by_task[2][task_of]
        if any(len(task.subject.rows) > 1 for task in tasks):
            rows = on_device_of(self._resident, self._rows_of(tasks))
        return streams.row_keys(by_task[0][task_of], trials), rows

    def _perturbed_by_row(self, tasks: Sequence[Task], keys: Array, rows: Array) -> Array:
        """The whole batch at once: a few large calls keep a device busy."""
        view, source = self.perturbation.view, streams.TorchRowStream(keys)
        additive: Additive | None = getattr(self.perturbation, "additive", None)
        if len(self._resident) < len(self.inputs):
            needed, index = np.unique(self._rows_of(tasks), return_inverse=True)
            table, rows = self.model.place(self.inputs.x[needed]), on_device_of(keys, index)
        else:
            table = self._resident
        if additive is not None and len({task.level for task in tasks}) == 1:
            x = to_view(table, self.inputs, view)
            bounds = self.model.signature.bounds
            y = source.added_to(x, rows, additive, tasks[0].level, bounds)
            return from_view(y, self.inputs, view)
        if self._draws_nothing and all(len(task.subject.rows) == 1 for task in tasks):
            import torch

            units = np.array([task.units for task in tasks])
            first = on_device_of(rows, np.cumsum(units) - units)
            once = self._perturb(tasks, table[rows[first]], source)
            repeats = on_device_of(rows, units)
            return once[torch.repeat_interleave(repeats, output_size=len(rows))]
        one_input = len({task.subject.rows for task in tasks}) == len(tasks[0].subject.rows) == 1
        return self._perturb(tasks, table[rows[:1] if one_input else rows], source, len(keys))

    def _perturb(
        self, tasks: Sequence[Task], x: Array, source: Stream, trials: int | None = None
    ) -> Array:
        """The inputs `x` perturbed: one row for each of `trials`, or one for each task."""
        x = to_view(x, self.inputs, self.perturbation.view)
        drawn = self.perturbation.draw(source, trials or len(tasks), tuple(x.shape[1:]))
        level: Level = tasks[0].level
        if len({task.level for task in tasks}) > 1:
            repeats = [t.units for t in tasks] if trials else 1
            levels = np.repeat([t.level for t in tasks], repeats)
            level = on_device_of(x, levels.astype(np.float32))
        y = self.perturbation.apply(x, drawn, level, self.model.signature.bounds)
        return from_view(y, self.inputs, self.perturbation.view)

    def perturbed(self, task: Task) -> Array:
        """The perturbed inputs of these trials: the same whatever else is in the batch."""
        if self._named_by_row:
            return self.perturbed_all([task])
        clean = self._clean_inputs(task)
        view, block, bounds = self.perturbation.view, self.block, self.model.signature.bounds
        x = to_view(self.model.place(clean), self.inputs, view)
        if self.longest_block == 1:
            y = self.perturbation.apply(x, self._row_draws([task], x), task.level, bounds)
            return from_view(y, self.inputs, view)
        parts, offset = [], 0
        for drawn in self._draws(task, x):
            units = min(block - (task.start + offset) % block, task.units - offset)
            part = x if len(x) == 1 else x[offset : offset + units]
            parts.append(self.perturbation.apply(part, drawn, task.level, bounds))
            offset += units
        return from_view(devices.concatenated(parts), self.inputs, view)

    def rows_of_task(self, task: Task) -> NDArray[np.intp]:
        """The input of each trial: in turn, or picked at random by the number of the trial."""
        subject, rows = task.subject, task.subject.rows
        if subject.picks:
            places = streams.picks(self.seed, subject.name, len(rows), task.start, task.stop)
        else:
            places = np.arange(task.start, task.stop) % len(rows)
        if task.units < len(rows):  # few trials of many inputs: no array of all rows
            return np.array([rows[i] for i in places.tolist()], dtype=np.intp)
        return np.asarray(rows, dtype=np.intp)[places]

    def _rows_of(self, tasks: Sequence[Task]) -> NDArray[np.intp]:
        """The input of each trial."""
        if all(len(task.subject.rows) == 1 for task in tasks):
            firsts = np.array([task.subject.rows[0] for task in tasks], dtype=np.intp)
            return np.repeat(firsts, [task.units for task in tasks])
        return np.concatenate([self.rows_of_task(task) for task in tasks])
