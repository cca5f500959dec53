"""A study and several side by side: the run, the plan and the replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from surefoot.engine.progress import Progress
from surefoot.executors.pool import AnyExecutor, WorkerNote, warn_of_fallback
from surefoot.records.record import Source
from surefoot.region import GivenAttack
from surefoot.study.cost_plan import Plan, plan
from surefoot.study.parts import StudyParts
from surefoot.study.replay_trial import Replay, replay
from surefoot.study.result import Result
from surefoot.study.run import RunSettings, run


@dataclass(frozen=True, eq=False)
class Study(StudyParts):
    """Everything that decides the result, and nothing else: workers and batches do not.

    `by_class`: claims about each class too; None is what the method does by itself (sampling
    does, curves and radii do not). `population` is the kind of statement about the population
    that sampling makes; None is the one that suits the method.
    """

    def run(
        self,
        store: str | None = None,
        *,
        workers: int | None = None,
        batch: int | None = None,
        on_progress: Callable[[Progress], None] = lambda _: None,
        source: Source | None = None,
        attack: GivenAttack | None = None,
        on_interrupt: Callable[[Result], None] = lambda _: None,
        time_limit: float | None = None,
        executor: AnyExecutor = None,
        on_workers: Callable[[WorkerNote], None] = warn_of_fallback,
    ) -> Result:
        """Measure every input and conclude; with a store, go on where an earlier run stopped.

        An attack, or a function of (model, images, labels, radius), adds its failure rate, for
        comparison; it is not part of what names the run.
        `on_progress` is called after each batch; `on_interrupt` gets the result so far where the
        run is interrupted and that already says something. `source` names the files, for a replay.
        After `time_limit` seconds of measuring the method concludes with what it knows; the same
        study goes on from there, with a store. Only for methods that can conclude early.
        `executor`: "threads", "processes", "ray" or `executors.Ray(...)`, or an executor of
        `concurrent.futures`, which stays open; None is what helps. `on_workers` gets a note on
        where the batches run.
        """
        options = RunSettings(
            workers, batch, on_progress, on_interrupt, source, time_limit, executor, on_workers
        )
        return run(self, store, options, attack)

    def plan(
        self, assumed: Sequence[float] = (1.0, 0.999, 0.99, 0.9, 0.5), workers: int | None = None
    ) -> Plan:
        """What `run` will cost if inputs are kept with these probabilities; times the model."""
        return plan(self, assumed, workers)

    def replay(self, subject: str, trial: int) -> Replay:
        """Run one trial again, by its name."""
        return replay(self, subject, trial)
