"""The inputs that are kept when clean and fail most often, each with a trial in which it failed."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import OutOfMemory
from surefoot.inputs.arrays import channels_last
from surefoot.results import Decision, Estimate, Extrapolation, Interval, Result, Undecided
from surefoot.store.records import Change, Example
from surefoot.subject import to_host
from surefoot.tasks import Subject, Task

_EXAMPLES = 8
"""Inputs on the page: a reader sees them at a glance."""
_CHANGES = 6
"""Changed values listed for an input that is not an image."""


def failed_examples(
    bench: SamplingBench[Any],
    local: Sequence[Result],
    level: float,
    predicted: NDArray[np.int64],
    batch_size: int,
    clean_kept: NDArray[np.bool_],
) -> tuple[Example, ...]:
    """At most eight inputs, those that fail most often first; ties in the order of ids.

    An input that fails already when clean shows nothing about perturbations: it is no example.
    """
    failing = [
        (rate, bench.inputs.ids[i], i, r.trials)
        for i, r in enumerate(local)
        if clean_kept[i] and (rate := _rate(r)) is not None and rate < 1
    ]
    subjects = bench.inputs.subjects()
    examples = []
    for rate, name, row, trials in sorted(failing)[:_EXAMPLES]:
        trial = _first_failure(bench, subjects[row], level, trials, batch_size)
        if trial is None:
            continue
        task = Task(subjects[row], level, trial, trial + 1)
        x = bench.perturbed(task)
        failed_label = int(np.argmax(to_host(bench.scores(x, [task]))[0]))
        labels = bench.inputs.labels
        examples.append(
            Example(
                id=name,
                trial=trial,
                failure=1 - rate,
                true_class="" if labels is None else bench.inputs.class_name(int(labels[row])),
                clean_class=bench.inputs.class_name(int(predicted[row])),
                failed_class=bench.inputs.class_name(failed_label),
                **_appearance(bench, row, to_host(x)[0]),
            )
        )
    return tuple(examples)


def _rate(result: Result) -> float | None:
    """The share of trials kept, for results that show how often the input fails."""
    match result:
        case Estimate(value=value):
            return value
        case Extrapolation(counted=counted) | Undecided(counted=Estimate() as counted):
            return counted.value
        case Decision(holds=False, kept=int(kept), trials=trials):
            return kept / trials
        case _:
            return None


def _first_failure(
    bench: SamplingBench[Any], subject: Subject, level: float, trials: int, batch_size: int
) -> int | None:
    """The first trial that failed."""
    start = 0
    while start < trials:
        task = Task(subject, level, start, min(start + batch_size, trials))
        try:
            failed = np.flatnonzero(bench.severities([task]) >= bench.prop.limit)
        except (OutOfMemory, MemoryError):
            if batch_size == 1:
                raise
            batch_size //= 2
            continue
        if len(failed):
            return start + int(failed[0])
        start = task.stop
    return None


def _appearance(bench: SamplingBench[Any], row: int, after: NDArray[np.floating]) -> dict[str, Any]:
    before, frame = bench.inputs.x[row], bench.inputs.frame
    if frame:
        values = bench.model.signature.bounds or Interval(float(before.min()), float(before.max()))
        return {"image": png(before, frame, values), "perturbed": png(after, frame, values)}
    moved = np.abs(after - before).reshape(-1)
    largest = np.argsort(-moved, kind="stable")[:_CHANGES]
    flat_before, flat_after = before.reshape(-1), after.reshape(-1)
    return {
        "changes": tuple(
            Change(f"value {i}", float(flat_before[i]), float(flat_after[i])) for i in largest
        )
    }


def png(x: NDArray[np.floating], frame: tuple[int, ...], values: Interval) -> str:
    """The input as a base64 PNG, `values` from black to white."""
    from PIL import Image

    shaped = np.asarray(x, dtype=np.float64).reshape(frame)
    if len(frame) == 3:
        shaped = shaped if channels_last(frame) else np.moveaxis(shaped, 0, -1)
        shaped = shaped[:, :, 0] if shaped.shape[-1] == 1 else shaped
    grey = (shaped - values.low) / max(values.width, 1e-12) * 255
    pixels = np.clip(np.rint(grey), 0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return base64.b64encode(buffer.getvalue()).decode("ascii")
