"""The inputs that are right when clean and fail most often, each with a trial that failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from surefoot.core.results import (
    Decision,
    Estimate,
    Extrapolation,
    InputResult,
    Interval,
    Undecided,
)
from surefoot.core.tasks import Subject, Task
from surefoot.engine.changed_features import changed_features
from surefoot.engine.output_words import (
    MOST_SIDE,
    Shown,
    host_row,
    png,
    shown_clean,
    shown_output,
    true_output,
)
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import OutOfMemory
from surefoot.records.examples import Change, Example
from surefoot.records.record import InputRow
from surefoot.subject.item_words import item_change

_EXAMPLES = 8
"""Inputs on the page: a reader sees them at a glance."""
_CHANGES = 6
"""Changed values listed for an input that is not an image."""


def failed_examples(
    bench: SamplingBench[Any],
    inputs: Sequence[InputRow],
    level: float,
    batch_size: int,
) -> tuple[Example, ...]:
    """At most eight inputs, those first that are known to fail most often; ties in order of ids.

    What is known is the lower end of the interval; the estimate decides where these are equal. One
    trial says next to nothing: inputs that had no more are examples only where no other failed.
    An input that is wrong already when clean shows nothing about perturbations: it is no example.
    """
    failing = [
        (_most_kept(row.result), rate, row.id, i, row.result.trials)
        for i, row in enumerate(inputs)
        if row.right_when_clean and (rate := kept_share(row.result)) is not None and rate < 1
    ]
    several = [
        one for one in failing if not getattr(inputs[one[3]].result, "from_one_trial", False)
    ]
    subjects = bench.inputs.subjects()
    examples = []
    for _, rate, name, row, trials in sorted(several or failing)[:_EXAMPLES]:
        trial = _first_failure(bench, subjects[row], level, trials, batch_size)
        if trial is None:
            continue
        task = Task(subjects[row], level, trial, trial + 1)
        x = bench.perturbed(task)
        failed = shown_output(bench, x, task)
        clean = shown_clean(bench, row)
        examples.append(
            Example(
                id=name,
                trial=trial,
                failure=1 - rate,
                true_class=true_output(bench, row),
                clean_class=clean.words,
                failed_class=failed.words,
                **_appearance(bench, row, host_row(x), clean, failed),
            )
        )
    return tuple(examples)


def kept_share(result: InputResult) -> float | None:
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


def _most_kept(result: InputResult) -> float:
    """The upper end of what is known of the share kept; the share itself without an interval."""
    counted = result if isinstance(result, Estimate) else getattr(result, "counted", None)
    return kept_share(result) or 0.0 if counted is None else float(counted.interval.high)


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


def _appearance(
    bench: SamplingBench[Any],
    row: int,
    after: Any,  # noqa: ANN401  an array or an item
    clean: Shown,
    failed: Shown,
) -> dict[str, Any]:
    before, frame = bench.inputs.x[row], bench.inputs.frame
    if bench.inputs.holds_items:
        return asdict(item_change(before, after))
    if frame:
        values = bench.model.signature.bounds or Interval(float(before.min()), float(before.max()))
        return {
            "image": png(before, frame, values, clean, MOST_SIDE),
            "perturbed": png(after, frame, values, failed, MOST_SIDE),
        }
    if bench.inputs.features and before.ndim == 1:
        changed = changed_features(bench.inputs, bench.perturbation, row, after, _CHANGES)
        return {"changes": changed}
    moved = np.abs(after - before).reshape(-1)
    largest = np.argsort(-moved, kind="stable")[:_CHANGES]
    flat_before, flat_after = before.reshape(-1), after.reshape(-1)
    return {
        "changes": tuple(
            Change(f"value {i}", float(flat_before[i]), float(flat_after[i])) for i in largest
        )
    }
