"""What the engine measures for a study, and what a record holds of the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.core.counts import Answer
from surefoot.core.procedure import Joint, Procedure
from surefoot.core.tasks import Bench, Subject
from surefoot.engine.devices import device_benches, device_of
from surefoot.engine.loop import measure
from surefoot.engine.progress import Progress
from surefoot.executors import AnyExecutor, Work, WorkerNote, cores, open_work, warn_of_fallback
from surefoot.records.record import RecordBody
from surefoot.store import Journal


@dataclass(frozen=True, eq=False)
class Measurement:
    """Subjects, a procedure for each by name or one for all, the bench that answers, what follows.

    `conclude` takes one answer for each procedure. `conclude_early` takes the journal of a run that
    was interrupted; None where that says nothing yet. `in_python` says why threads do not help,
    where they do not. `requested` says that the user chose the number of workers.
    """

    subjects: Sequence[Subject]
    procedures: Mapping[str, Procedure[Any, Any, Any]] | Joint[Any]
    bench: Bench[Answer]
    batch: int
    workers: int
    conclude: Callable[[Sequence[Any]], RecordBody]
    doing: str = "measuring"
    unit: str = "trials"
    conclude_early: Callable[[Journal], RecordBody | None] = lambda _: None
    in_python: str = ""
    requested: bool = True


@dataclass(frozen=True)
class Workplace:
    """Where batches run, as the user says it, and who is given a note on it."""

    executor: AnyExecutor = None
    on_workers: Callable[[WorkerNote], None] = warn_of_fallback


def run_measurement(
    measurement: Measurement,
    journal: Journal,
    on_progress: Callable[[Progress], None] = lambda _: None,
    time_limit: float | None = None,
    on_time_up: Callable[[], None] = lambda: None,
    where: Workplace = Workplace(),
) -> list[Any]:
    """What each subject's procedure concludes, through the one loop."""
    bench, executor = measurement.bench, where.executor
    workers = measurement.workers
    if executor is not None and not measurement.requested:
        workers = cores()
    on_gpu = getattr(device_of(bench), "type", "cpu") != "cpu"
    several = device_benches(bench)
    work = Work(
        bench, workers, measurement.in_python, on_gpu, several, requested=measurement.requested
    )
    with open_work(work, executor, where.on_workers) as pool:
        return measure(
            measurement.procedures,
            bench,
            measurement.subjects,
            pool=pool,
            journal=journal,
            batch_size=measurement.batch,
            block=bench.block,
            in_flight=getattr(pool, "in_flight", 1 if workers == 1 else 2 * workers),
            watch=on_progress,
            doing=measurement.doing,
            unit=measurement.unit,
            time_limit=time_limit,
            on_time_up=on_time_up,
        )
