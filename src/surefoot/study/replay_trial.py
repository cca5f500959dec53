"""One trial of a study, run again by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.procedure import Needs
from surefoot.core.tasks import Task
from surefoot.errors import InvalidArgument
from surefoot.study.parts import StudyParts
from surefoot.subject.protocols import to_host

_TRIALS_AT_ONCE = 64
"""In a batch that looks for a failure: few enough for any model that was studied."""


@dataclass(frozen=True, eq=False)
class Replay:
    """One trial, run again: the input before and after, the model's output and its label.

    The labels are None where the model has no classes.
    """

    clean: NDArray[np.floating]
    perturbed: NDArray[np.floating]
    clean_label: int | None
    label: int | None
    severity: float
    kept: bool
    clean_output: Any = None
    output: Any = None


def replay(study: StudyParts, subject: str, trial: int) -> Replay:
    """The same perturbation as in the run."""
    if study.needs not in (Needs.SAMPLES, Needs.MEAN, Needs.SMOOTHING):
        raise InvalidArgument(
            f"{type(study.method).__name__} has no trials at one level to replay"
            ": replay a run of estimate or certify"
        )
    bench = study.bench()
    subjects = {s.name: s for s in study.fitted.subjects()}
    if subject not in subjects:
        raise InvalidArgument(
            f"there is no input {subject!r} among the {len(subjects)} of this study: its inputs "
            f"have ids such as {next(iter(subjects))}; `surefoot show --json` has all of them"
        )
    if trial < 0:
        raise InvalidArgument(f"trials count from 0, got {trial}: give 0 or more")
    task = Task(subjects[subject], study.level, trial, trial + 1)
    x = bench.perturbed(task)
    output = bench.outputs(x, [task])[0]
    severity = float(bench.severities([task])[0])
    row = subjects[subject].rows[0]
    predicted = study.predicted if study.has_classes else None
    clean = study.fitted.x[row : row + 1]
    return Replay(
        clean=clean[0],
        perturbed=to_host(x)[0],
        clean_label=None if predicted is None else int(predicted[row]),
        label=None if predicted is None else int(np.argmax(output)),
        severity=severity,
        kept=severity < study.property.limit,
        clean_output=bench.outputs(study.model.place(clean), [task])[0],
        output=output,
    )


def first_failing(study: StudyParts, subject: str, start: int, stop: int) -> int | None:
    """The first of the trials [start, stop) of an input that fails; None where all are kept."""
    subjects = {s.name: s for s in study.fitted.subjects()}
    if subject not in subjects or study.needs not in (Needs.SAMPLES, Needs.MEAN, Needs.SMOOTHING):
        return None
    bench = study.bench()
    for first in range(start, stop, _TRIALS_AT_ONCE):
        task = Task(subjects[subject], study.level, first, min(first + _TRIALS_AT_ONCE, stop))
        failed = np.flatnonzero(bench.severities([task]) >= study.property.limit)
        if len(failed):
            return first + int(failed[0])
    return None
