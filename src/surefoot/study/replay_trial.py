"""One trial of a study, run again by its name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.device_arrays import to_numpy
from surefoot.errors import InvalidArgument
from surefoot.procedure import Needs
from surefoot.study.setup import Setup
from surefoot.tasks import Task


@dataclass(frozen=True, eq=False)
class Replay:
    """One trial, run again."""

    clean: NDArray[np.floating]
    perturbed: NDArray[np.floating]
    clean_label: int
    label: int
    severity: float
    kept: bool


def replay(study: Setup, subject: str, trial: int) -> Replay:
    """The same perturbation as in the run."""
    if study.needs is not Needs.SAMPLES:
        raise InvalidArgument(f"{type(study.method).__name__} has no trials at one level to replay")
    bench = study.bench()
    named = {s.name: s for s in study.fitted.subjects()}
    if subject not in named:
        raise InvalidArgument(f"there is no input {subject!r} among the {len(named)} of this study")
    if trial < 0:
        raise InvalidArgument(f"trials count from 0, got {trial}")
    task = Task(named[subject], study.level, trial, trial + 1)
    x = bench.perturbed(task)
    scores = bench.scores(x, [task])
    severity = float(bench.severities([task])[0])
    row = named[subject].rows[0]
    return Replay(
        clean=study.fitted.x[row],
        perturbed=to_numpy(x)[0],
        clean_label=int(study.predicted[row]),
        label=int(np.argmax(to_numpy(scores)[0])),
        severity=severity,
        kept=severity < study.property.limit,
    )
