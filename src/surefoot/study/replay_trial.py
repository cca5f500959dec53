"""One trial of a study, run again by its name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.procedure import Needs
from surefoot.study.setup import Setup
from surefoot.subject import to_host
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
    if study.needs not in (Needs.SAMPLES, Needs.MEAN):
        raise InvalidArgument(f"{type(study.method).__name__} has no trials at one level to replay")
    bench = study.bench()
    subjects = {s.name: s for s in study.fitted.subjects()}
    if subject not in subjects:
        raise InvalidArgument(
            f"there is no input {subject!r} among the {len(subjects)} of this study"
        )
    if trial < 0:
        raise InvalidArgument(f"trials count from 0, got {trial}")
    task = Task(subjects[subject], study.level, trial, trial + 1)
    x = bench.perturbed(task)
    scores = bench.scores(x, [task])
    severity = float(bench.severities([task])[0])
    row = subjects[subject].rows[0]
    return Replay(
        clean=study.fitted.x[row],
        perturbed=to_host(x)[0],
        clean_label=int(study.predicted[row]),
        label=int(np.argmax(to_host(scores)[0])),
        severity=severity,
        kept=severity < study.property.limit,
    )
