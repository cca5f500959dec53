"""One input along the levels: what it looks like, and where it fails."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.sampling_bench import SamplingBench
from surefoot.engine.worst_inputs import png
from surefoot.results import Interval
from surefoot.store.records import Frame, Strip
from surefoot.subject import to_host
from surefoot.tasks import Subject, Task

_FRAMES, _TRIED = 7, 64


def strip(bench: SamplingBench[Any], subject: Subject, span: Interval) -> Strip | None:
    """The input, of the first few, that is kept when clean and changes sides most plainly.

    Few changes of side, and about half of the levels on either; the first of equals. None where
    inputs are no images, or where no input changes.
    """
    inputs = bench.inputs
    if not inputs.frame:
        return None
    levels = np.linspace(span.low, span.high, _FRAMES).tolist()
    tried = min(_TRIED, len(subject.rows))
    held = np.stack([_held(bench, subject, level, tried) for level in levels])
    start = int(np.argmin(np.abs(levels)))
    changes = np.count_nonzero(held[1:] != held[:-1], axis=0)
    unequal = np.abs(held.sum(axis=0) - _FRAMES / 2)
    worth = np.where(held[start] & (changes > 0), -(2 * changes + unequal), -np.inf)
    chosen = int(np.argmax(worth))
    if worth[chosen] == -np.inf:
        return None
    row = subject.rows[chosen]
    frames = tuple(
        _frame(bench, subject, level, chosen, bool(held[i, chosen]))
        for i, level in enumerate(levels)
    )
    labels = inputs.labels
    known = "" if labels is None else inputs.class_name(int(labels[row]))
    return Strip(inputs.ids[row], known, frames)


def _held(
    bench: SamplingBench[Any], subject: Subject, level: float, tried: int
) -> NDArray[np.bool_]:
    return bench.severities([Task(subject, level, 0, tried)]) < bench.prop.limit


def _frame(
    bench: SamplingBench[Any], subject: Subject, level: float, trial: int, held: bool
) -> Frame:
    task = Task(subject, level, trial, trial + 1)
    x = bench.perturbed(task)
    shown = to_host(x)[0]
    values = bench.model.signature.bounds or Interval(float(shown.min()), float(shown.max()))
    label = int(np.argmax(to_host(bench.scores(x, [task]))[0]))
    image = png(shown, bench.inputs.frame, values)
    return Frame(level, image, bench.inputs.class_name(label), held)
