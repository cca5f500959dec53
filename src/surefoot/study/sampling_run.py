"""Sampling at one level: every input by itself, then classes and the population."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from surefoot.engine.batching import LARGEST_BATCH, LARGEST_GPU_BATCH, fastest_batch_size
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.engine.worst_inputs import failed_examples
from surefoot.executors import cores
from surefoot.procedure import Pinned
from surefoot.results import Estimate, Extrapolation, Result
from surefoot.statistics.contrasts import MOST_GROUPS, Contrast, contrasts
from surefoot.statistics.multiplicity import shares
from surefoot.store.records import ClassRow, InputRow, Samples
from surefoot.study.class_groups import by_class, distinct_names
from surefoot.study.measurement import Measurement, RecordBody
from surefoot.study.sampling_claims import claims_of
from surefoot.study.setup import Setup
from surefoot.tasks import Subject, Task


def measurement(study: Setup, workers: int | None, batch: int | None) -> Measurement:
    """One procedure for every input, at the level of the perturbation."""
    bench, subjects = study.bench(), study.fitted.subjects()
    procedure: Any = Pinned(study.method, study.level)
    size = batch or batch_size(study, bench, subjects[0], study.level)
    return Measurement(
        subjects=subjects,
        procedures=dict.fromkeys(study.fitted.ids, procedure),
        bench=bench,
        batch=size,
        workers=workers_for(study, workers),
        conclude=lambda local: _conclude(study, bench, local, size),
    )


def batch_size(study: Setup, bench: SamplingBench[Any], subject: Subject, level: float) -> int:
    """The fastest batch, measured; a device is filled by far larger ones than a processor."""
    largest = LARGEST_BATCH if study.spec.generator == "sfc64" else LARGEST_GPU_BATCH
    return fastest_batch_size(lambda n: bench.answer([Task(subject, level, 0, n)]), largest)


def workers_for(study: Setup, workers: int | None) -> int:
    """As many as help: on a GPU a second one prepares while the first one's batch is computed."""
    if workers:
        return workers
    if not study.model.signature.thread_safe:
        return 1
    return cores() if study.spec.generator == "sfc64" else min(2, cores())


def input_rows(study: Setup, local: Sequence[Any]) -> tuple[InputRow, ...]:
    """One row an input, in the order of the inputs."""
    labels, digests = study.fitted.labels, study.fitted.row_digests()
    return tuple(
        InputRow(
            name,
            None if labels is None else int(labels[i]),
            int(study.predicted[i]),
            one,
            digests[i],
            bool(study.clean_kept[i]),
        )
        for i, (name, one) in enumerate(zip(study.fitted.ids, local, strict=True))
    )


def _conclude(
    study: Setup, bench: SamplingBench[Any], local: Sequence[Any], batch: int
) -> RecordBody:
    """Half of the error goes to the whole, the other half is shared by the classes."""
    over, rows = study.aggregate, input_rows(study, local)
    groups = by_class(rows) if study.class_by_class else {}
    several = len(groups) > 1
    names = distinct_names(groups, study.fitted.class_name)
    whole = over.conclude(local, over.error / 2 if several else over.error)
    details = Samples(
        whole=whole,
        studied=over.studied(local),
        classes=tuple(
            ClassRow(
                names[label],
                len(members),
                over.conclude(members, shares(over.error / 2, len(groups))),
            )
            for label, members in groups.items()
            if several
        ),
        contrasts=_contrasts(groups, names, study.digest, over.error) if several else (),
        examples=failed_examples(
            bench, local, study.level, study.predicted, batch, study.clean_kept
        ),
    )
    return RecordBody(rows, details, claims_of(study, rows, details), sum(r.trials for r in local))


def _contrasts(
    groups: dict[int, list[Result]], names: dict[int, str], digest: str, error: float
) -> tuple[Contrast, ...]:
    """Which classes differ in the mean of their inputs' values, unless there are too many."""
    values = {
        names[label]: np.array(
            [r.value for r in members if isinstance(r, Estimate | Extrapolation)]
        )
        for label, members in groups.items()
    }
    if sum(len(v) > 1 for v in values.values()) > MOST_GROUPS:
        return ()
    seed = int.from_bytes(hashlib.sha256(digest.encode()).digest()[:8])
    return contrasts(values, np.random.default_rng(seed), error)
