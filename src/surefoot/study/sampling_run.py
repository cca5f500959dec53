"""Sampling at one level: every input by itself, then classes and the population."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.conclude.recorded_study import RecordedStudy
from surefoot.conclude.sampling import claims_of, with_few_histograms
from surefoot.conclude.scope import (
    by_class,
    distinct_names,
    groups_in,
    groups_within_classes,
    sampled_of,
)
from surefoot.core.procedure import Pinned
from surefoot.core.results import Estimate, Extrapolation
from surefoot.core.tasks import Subject, Task
from surefoot.engine.batching import (
    LARGEST_BATCH,
    LARGEST_GPU_BATCH,
    SMALLEST_BATCH,
    SMALLEST_GPU_BATCH,
    fastest_batch_size,
)
from surefoot.engine.examples import failed_examples
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.executors import cores
from surefoot.population.groups import averages
from surefoot.records.record import ClassRow, InputRow, RecordBody, Samples
from surefoot.statistics.contrasts import MOST_GROUPS, Contrast, contrasts
from surefoot.statistics.multiplicity import shares
from surefoot.study.clean_loss import clean_loss
from surefoot.study.measurement import Measurement
from surefoot.study.setup import Setup
from surefoot.system.memory_limits import most_trials, most_workers


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
        conclude=lambda local: with_examples(study, conclude(study, local), size),
        in_python=why_in_python(study),
        requested=workers is not None,
    )


def batch_size(study: Setup, bench: SamplingBench[Any], subject: Subject, level: float) -> int:
    """The fastest batch, measured; a device is filled by far larger ones than a processor.

    In main memory none is tried that would fill it.
    """
    largest, smallest = LARGEST_GPU_BATCH, SMALLEST_GPU_BATCH
    if study.spec.generator == "sfc64":
        together = most_trials(study.fitted.row_bytes, workers_for(study, None))
        largest, smallest = min(LARGEST_BATCH, together), SMALLEST_BATCH
    return fastest_batch_size(
        lambda n: bench.answer([Task(subject, level, 0, n)]), largest, smallest
    )


def workers_for(study: Setup, workers: int | None) -> int:
    """As many as help: on a GPU a second one prepares while the first one's batch is computed.

    On a processor no more than have room for one trial each.
    """
    devices = 1 + len(getattr(study.model, "replicas", ()))
    if workers:
        return workers
    if not study.model.signature.thread_safe:
        return devices
    if study.spec.generator != "sfc64":
        return devices * min(2, cores())
    return min(cores(), most_workers(study.fitted.row_bytes))


def why_in_python(study: Setup) -> str:
    """Why threads would wait for each other, in words; empty where they do not."""
    model: str = getattr(study.model, "in_python", "")
    if model:
        return model
    inner = getattr(study.perturbation, "inner", study.perturbation)
    return "the perturbation is a Python function" if hasattr(inner, "function") else ""


def input_rows(study: Setup | RecordedStudy, local: Sequence[Any]) -> tuple[InputRow, ...]:
    """One row an input, in the order of the inputs."""
    labels, predicted = study.fitted.labels, study.predicted if study.has_classes else None
    digests = study.fitted.row_digests()
    return tuple(
        InputRow(
            name,
            None if labels is None else int(labels[i]),
            None if predicted is None else int(predicted[i]),
            one,
            digests[i],
            study.fitted.groups[i] if study.fitted.groups else "",
            bool(study.clean_kept[i]),
        )
        for i, (name, one) in enumerate(zip(study.fitted.ids, local, strict=True))
    )


def conclude(study: Setup | RecordedStudy, local: Sequence[Any]) -> RecordBody:
    """What follows from the results of the inputs, without a model: no examples, no clean loss.

    Half of the error goes to the whole, the other half is shared by the classes.
    """
    over, rows = study.aggregate, with_few_histograms(input_rows(study, local))
    classes = by_class(rows) if study.class_by_class else {}
    classes = classes if groups_within_classes(classes) else {}
    several = len(classes) > 1
    sampled = {label: sampled_of(members) for label, members in classes.items()}
    names = distinct_names(classes, study.fitted.class_name)
    whole = over.conclude(sampled_of(rows), over.error / 2 if several else over.error)
    details = Samples(
        whole=whole,
        studied=over.studied(local),
        classes=tuple(
            ClassRow(
                names[label],
                len(members),
                over.conclude(sampled[label], shares(over.error / 2, len(classes))),
                groups_in(sampled[label]),
            )
            for label, members in classes.items()
            if several
        ),
        contrasts=_contrasts(classes, names, study.digest, over.error) if several else (),
        examples=(),
    )
    return RecordBody(rows, details, claims_of(study, rows, details), sum(r.trials for r in local))


def with_examples(study: Setup, body: RecordBody, batch: int) -> RecordBody:
    """The same with what only the model can add: failed examples and the clean loss."""
    samples: Any = body.details
    examples = failed_examples(study.bench(), body.inputs, study.level, batch)
    details = replace(samples, examples=examples, clean_loss=clean_loss(study))
    return replace(body, details=details)


def _contrasts(
    classes: Mapping[int, Sequence[InputRow]], names: dict[int, str], digest: str, error: float
) -> tuple[Contrast, ...]:
    """Which classes differ in the mean of their inputs' values, unless there are too many.

    Of groups, each has one value, the average over its inputs.
    """
    values = {names[label]: _values(members) for label, members in classes.items()}
    if sum(len(v) > 1 for v in values.values()) > MOST_GROUPS:
        return ()
    seed = int.from_bytes(hashlib.sha256(digest.encode()).digest()[:8])
    return contrasts(values, np.random.default_rng(seed), error)


def _values(rows: Sequence[InputRow]) -> NDArray[np.float64]:
    """One value for each input with an estimate, or for each group that has such inputs."""
    known = [row for row in rows if isinstance(row.result, Estimate | Extrapolation)]
    return averages(sampled_of(known), lambda result: float(result.value))
