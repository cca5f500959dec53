"""What the loop is given for a study, and what is made of its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.claims import Claim
from surefoot.engine.bench import Bench
from surefoot.engine.loop import Progress, measure
from surefoot.executors import open_pool
from surefoot.procedure import Procedure
from surefoot.store import Journal
from surefoot.store.records import Details, InputRow
from surefoot.tasks import Subject

Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Conclusion:
    """What the answers come to: rows of inputs, what the method found, claims."""

    inputs: tuple[InputRow, ...]
    details: Details
    claims: tuple[Claim, ...]
    trials: int


@dataclass(frozen=True, eq=False)
class Work:
    """Subjects, a procedure for each by name, the bench that answers, and what follows.

    `conclude` takes one answer for each subject. `reached` makes a conclusion of a journal that
    ends early, where that says something.
    """

    subjects: Sequence[Subject]
    procedures: Mapping[str, Procedure[Any, Any, Any]]
    bench: Bench[Any]
    batch: int
    workers: int
    conclude: Callable[[Sequence[Any]], Conclusion]
    doing: str = "measuring"
    unit: str = "trials"
    reached: Callable[[Journal], Conclusion | None] = lambda _: None


def measured(work: Work, journal: Journal, watch: Watch = lambda _: None) -> list[Any]:
    """What each subject's procedure concludes, through the one loop."""
    with open_pool(work.workers) as pool:
        return measure(
            work.procedures,
            work.bench,
            work.subjects,
            pool=pool,
            journal=journal,
            batch_size=work.batch,
            block=work.bench.block,
            in_flight=1 if work.workers == 1 else 2 * work.workers,
            watch=watch,
            doing=work.doing,
            unit=work.unit,
        )
