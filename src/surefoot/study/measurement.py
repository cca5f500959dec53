"""What the engine measures for a study, and what a record holds of the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.claims import Claim
from surefoot.engine.bench import Bench
from surefoot.engine.loop import Progress, measure
from surefoot.executors import open_pool
from surefoot.procedure import Joint, Procedure
from surefoot.store import Journal
from surefoot.store.records import Details, InputRow
from surefoot.tasks import Subject


@dataclass(frozen=True)
class RecordBody:
    """The part of a record that comes from the answers: rows of inputs, details, claims."""

    inputs: tuple[InputRow, ...]
    details: Details
    claims: tuple[Claim, ...]
    trials: int


@dataclass(frozen=True, eq=False)
class Measurement:
    """Subjects, a procedure for each by name or one for all, the bench that answers, what follows.

    `conclude` takes one answer for each procedure. `conclude_early` takes the journal of a run that
    was interrupted; None where that says nothing yet.
    """

    subjects: Sequence[Subject]
    procedures: Mapping[str, Procedure[Any, Any, Any]] | Joint[Any]
    bench: Bench[Any]
    batch: int
    workers: int
    conclude: Callable[[Sequence[Any]], RecordBody]
    doing: str = "measuring"
    unit: str = "trials"
    conclude_early: Callable[[Journal], RecordBody | None] = lambda _: None


def run_measurement(
    measurement: Measurement,
    journal: Journal,
    on_progress: Callable[[Progress], None] = lambda _: None,
    time_limit: float | None = None,
    on_time_up: Callable[[], None] = lambda: None,
) -> list[Any]:
    """What each subject's procedure concludes, through the one loop."""
    with open_pool(measurement.workers) as pool:
        return measure(
            measurement.procedures,
            measurement.bench,
            measurement.subjects,
            pool=pool,
            journal=journal,
            batch_size=measurement.batch,
            block=measurement.bench.block,
            in_flight=1 if measurement.workers == 1 else 2 * measurement.workers,
            watch=on_progress,
            doing=measurement.doing,
            unit=measurement.unit,
            time_limit=time_limit,
            on_time_up=on_time_up,
        )
