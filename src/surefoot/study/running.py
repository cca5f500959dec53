"""How a study is answered: preflight, measure, aggregate, show the worst, record."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.attacking import Attack
from surefoot.engine.bench import SamplingBench, to_numpy
from surefoot.engine.drive import Journal, Progress, measure
from surefoot.engine.exhibits import exhibits
from surefoot.engine.preflight import Verdict, examine
from surefoot.engine.trays import best_size
from surefoot.errors import InvalidArgument
from surefoot.executors import cores, open_pool
from surefoot.procedure import Pinned
from surefoot.statistics.planning import Rehearsal, rehearse
from surefoot.store.memory import MemoryJournal
from surefoot.store.records import CriticalRecord, CurveRecord, Finding, Local, Record, Source
from surefoot.study.aggregate import aggregate
from surefoot.study.assessment import Assessment
from surefoot.study.attacking import with_attack
from surefoot.subject import Subject, Task

if TYPE_CHECKING:
    from surefoot.study.spec import Study

R = TypeVar("R", Record, CurveRecord, CriticalRecord)
_PACKAGES = ("surefoot", "numpy", "scipy", "onnxruntime", "torch", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Replay:
    """One trial, run again."""

    clean: NDArray[np.floating]
    perturbed: NDArray[np.floating]
    clean_label: int
    label: int
    severity: float
    held: bool


def run(
    study: Study,
    where: str | None,
    workers: int | None,
    batch: int | None,
    watch: Callable[[Progress], None],
    source: Source | None,
    attack: Attack | None = None,
) -> Assessment:
    """The whole flow for a study of single inputs; an attack comes when all else is kept."""
    if study.traces:
        raise InvalidArgument(
            f"{type(study.procedure).__name__} traces a curve: use sf.trace(study)"
        )
    if study.proves:
        raise InvalidArgument("critical levels are proved: use sf.prove(study, 'model.onnx')")

    def measured(findings: tuple[Finding, ...], journal: Journal) -> Record:
        return _measured(study, findings, journal, workers, batch, watch, source)

    record, known = answered(study, where, source, measured, Record)
    if attack is not None:
        record = with_attack(study, record, attack, where, batch, watch)
    return Assessment(record, from_store=known)


def answered(
    study: Study,
    where: str | None,
    source: Source | None,
    measured: Callable[[tuple[Finding, ...], Journal], R],
    kind: type[R],
) -> tuple[R, bool]:
    """The record, and whether the store had it. Nothing is written before the preflight passes."""
    if where is None:
        return measured(preflight(study), MemoryJournal()), False
    from surefoot.store.sql import SqlStore, exists

    early = () if exists(where) else preflight(study)
    with closing(SqlStore(where)) as store:
        known = store.stored(study.digest)
        if isinstance(known, kind):
            return known, True
        findings = early or preflight(study)
        store.begin(study.digest, study.spec, source, environment())
        return store.finish(measured(findings, store.journal(study.digest))), False


def _measured(
    study: Study,
    findings: tuple[Finding, ...],
    journal: Journal,
    workers: int | None,
    batch: int | None,
    watch: Callable[[Progress], None],
    source: Source | None,
) -> Record:
    bench, subjects = study.bench(), study.fitted.subjects()
    level = study.perturbation.level
    local, tray = driven(
        study, bench, Pinned(study.procedure, level), subjects, level, journal, workers, batch,
        watch,
    )  # fmt: skip
    labels = study.fitted.labels
    rows = tuple(
        Local(name, None if labels is None else int(labels[i]), int(study.predicted[i]), local[i])
        for i, name in enumerate(study.fitted.ids)
    )
    found = aggregate(study.over, rows, study.fitted.class_name, study.digest)
    return Record(
        digest=study.digest,
        spec=study.spec,
        population=found.whole,
        studied=found.studied,
        classes=found.classes,
        contrasts=found.contrasts,
        local=rows,
        exhibits=exhibits(bench, local, level, study.predicted, tray),
        findings=findings,
        trials=sum(r.trials for r in local),
        environment=environment(),
        source=source,
    )


def driven(
    study: Study,
    bench: SamplingBench[Any],
    procedure: Any,  # noqa: ANN401  one for all subjects, or one for each by its name
    subjects: Sequence[Subject],
    level: float,
    journal: Journal,
    workers: int | None,
    batch: int | None,
    watch: Callable[[Progress], None],
) -> tuple[list[Any], int]:
    """What the procedure concludes of every subject, and the size of the trays."""
    if batch is not None and batch < 1:
        raise InvalidArgument(f"a batch holds at least one trial, got {batch}")
    tray = batch or best_size(
        lambda n: bench.answer([Task(subjects[0], level, 0, n)]), study.largest_tray
    )
    crew = _crew(study, workers)
    with open_pool(crew) as pool:
        found = measure(
            procedure,
            bench,
            subjects,
            pool=pool,
            journal=journal,
            tray=tray,
            block=bench.block,
            in_flight=1 if crew == 1 else 2 * crew,
            watch=watch,
        )
    return found, tray


def preflight(study: Study) -> tuple[Finding, ...]:
    """What the checks found; a bad one stops the run."""
    checks = tuple(examine(study.fitted, study.model, study.perturbation))
    bad = next((c for c in checks if c.verdict is Verdict.BAD), None)
    if bad is not None:
        raise InvalidArgument(f"preflight, {bad.name}: {bad.finding}")
    return tuple(Finding(c.name, str(c.verdict), c.finding) for c in checks)


@dataclass(frozen=True)
class Plan:
    """What a study will cost, for inputs that hold with an assumed probability."""

    inputs: int
    rate: float
    workers: int
    rehearsals: tuple[Rehearsal, ...]

    def seconds(self, rehearsal: Rehearsal) -> float:
        """The time of the whole run if every input were like this."""
        return self.inputs * rehearsal.mean / self.rate


def plan(study: Study, assumed: Sequence[float], workers: int | None) -> Plan:
    """Rehearse the procedure on assumed probabilities and time the model on one tray."""
    bench, subject = study.bench(), study.fitted.subjects()[0]
    level = study.perturbation.level
    tray = best_size(lambda n: bench.answer([Task(subject, level, 0, n)]), study.largest_tray)
    crew = _crew(study, workers)
    with open_pool(crew) as pool:
        begun = time.perf_counter()
        wait([pool.submit(bench.answer, [Task(subject, level, 0, tray)]) for _ in range(2 * crew)])
        rate = 2 * crew * tray / (time.perf_counter() - begun)
    rehearsals = tuple(rehearse(study.procedure, p) for p in assumed)
    return Plan(len(study.fitted), rate, crew, rehearsals)


def _crew(study: Study, workers: int | None) -> int:
    """As many as help: on a GPU a second one prepares while the first one's tray is computed."""
    if workers:
        return workers
    if not study.model.signature.thread_safe:
        return 1
    return cores() if study.spec["generator"] == "sfc64" else min(2, cores())


def environment() -> dict[str, str]:
    """What the numbers were made with."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def replay(study: Study, subject: str, trial: int) -> Replay:
    """One trial by its name: the same perturbation as in the run."""
    bench: SamplingBench[Any] = study.bench()
    named = {s.name: s for s in study.fitted.subjects()}
    if subject not in named:
        raise InvalidArgument(f"there is no input {subject!r} among the {len(named)} of this study")
    if trial < 0:
        raise InvalidArgument(f"trials count from 0, got {trial}")
    task = Task(named[subject], study.perturbation.level, trial, trial + 1)
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
        held=severity < study.property.limit,
    )
