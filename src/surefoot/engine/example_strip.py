"""One input at growing levels: its image, and where it fails."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.core.tasks import Subject, Task
from surefoot.engine.output_words import MOST_SIDE, host_row, png, shown_output, true_output
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.records.examples import Frame, Strip
from surefoot.system.memory_limits import pieces

_FRAMES = 7
"""Levels that are shown: as many images as fit side by side on a page."""
_CANDIDATES = 64
"""Inputs of which the clearest is chosen: enough to find one, and a single batch at each level."""


def strip(bench: SamplingBench[Any], subject: Subject, span: Interval) -> Strip | None:
    """Of the inputs of the first trials, the one that shows most clearly where it begins to fail.

    It is kept when clean, changes between kept and failed seldom, and fails at about half of the
    levels. None where inputs are not images, or where no input changes.
    """
    inputs = bench.inputs
    if not inputs.frame:
        return None
    levels = np.linspace(span.low, span.high, _FRAMES).tolist()
    candidates = min(_CANDIDATES, len(subject.rows))
    kept = np.stack([_kept(bench, subject, level, candidates) for level in levels])
    start = int(np.argmin(np.abs(levels)))
    changes = np.count_nonzero(kept[1:] != kept[:-1], axis=0)
    imbalance = np.abs(kept.sum(axis=0) - _FRAMES / 2)
    clarity = np.where(kept[start] & (changes > 0), -(2 * changes + imbalance), -np.inf)
    chosen = int(np.argmax(clarity))
    if clarity[chosen] == -np.inf:
        return None
    row = int(bench.rows_of_task(Task(subject, span.low, chosen, chosen + 1))[0])
    frames = tuple(
        _frame(bench, subject, level, chosen, bool(kept[i, chosen]))
        for i, level in enumerate(levels)
    )
    return Strip(inputs.ids[row], true_output(bench, row), frames)


def _kept(
    bench: SamplingBench[Any], subject: Subject, level: float, candidates: int
) -> NDArray[np.bool_]:
    """Which of the first trials are kept at this level."""
    severities = [
        bench.severities([Task(subject, level, trials.start, trials.stop)])
        for trials in pieces(candidates, bench.inputs.row_bytes)
    ]
    return np.concatenate(severities) < bench.prop.limit


def _frame(
    bench: SamplingBench[Any], subject: Subject, level: float, trial: int, kept: bool
) -> Frame:
    task = Task(subject, level, trial, trial + 1)
    x = bench.perturbed(task)
    perturbed = host_row(x)
    values = bench.model.signature.bounds or Interval(
        float(perturbed.min()), float(perturbed.max())
    )
    shown = shown_output(bench, x, task)
    image = png(perturbed, bench.inputs.frame, values, shown, MOST_SIDE)
    return Frame(level, image, shown.words, kept)
