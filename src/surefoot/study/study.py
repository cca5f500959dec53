"""A study, or several that differ in the model, the perturbation or the level, and their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from surefoot.conclude.comparison import CURVES, LEVELS, MODELS, joined_record
from surefoot.core.procedure import Needs
from surefoot.engine.progress import Progress, check_time_limit
from surefoot.errors import InvalidArgument
from surefoot.executors.pool import AnyExecutor, WorkerNote, warn_of_fallback
from surefoot.executors.ray_connection import one_cluster
from surefoot.perturb._ops.arrays import at_level
from surefoot.records.record import Samples, Source
from surefoot.region import GivenAttack
from surefoot.store.outcomes import keep_outcome
from surefoot.study.cost_plan import Plan, plan
from surefoot.study.parts import StudyParts
from surefoot.study.replay_trial import Replay, replay
from surefoot.study.result import Result
from surefoot.study.run import RunSettings, run
from surefoot.system.text import level_words


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


def compare(
    studies: Mapping[str, Study],
    *,
    error: float | None = None,
    reference: Mapping[str, float] | None = None,
    store: str | None = None,
    workers: int | None = None,
    batch: int | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    attack: GivenAttack | None = None,
    sources: Mapping[str, Source] | None = None,
    on_start: Callable[[str], None] = lambda _: None,
    on_interrupt: Callable[[Result], None] = lambda _: None,
    time_limit: float | None = None,
    executor: AnyExecutor = None,
    on_workers: Callable[[WorkerNote], None] = warn_of_fallback,
    along: str = MODELS,
) -> Result:
    """Models on the same inputs and perturbations; curves or radii side by side.

    `reference` holds a number for each model, such as its accuracy on corrupted data, to
    correlate with. Every study keeps its own record in the store. `attack`: the failure rate of an
    attack on each as well. `on_start` is called with a name before that study runs.
    `time_limit` is for each study by itself. `along`: what differs, models or perturbed models.
    """
    if not studies:
        raise InvalidArgument("there is nothing to compare: give two studies or more, by name")
    needs = {study.needs for study in studies.values()}
    if len(needs) > 1:
        names = (type(study.method).__name__ for study in studies.values())
        raise InvalidArgument(
            f"only methods of the same kind can be compared, got {' and '.join(sorted(names))}: "
            "give all studies one"
        )
    if needs == {Needs.SMOOTHING}:
        raise InvalidArgument(
            "smoothed models are not compared: run each by itself, and compare their certified "
            "accuracy"
        )
    if needs == {Needs.MEAN}:
        raise InvalidArgument(
            "a mean to a precision takes other trials for each model, so that models cannot be "
            "compared trial by trial: take --each in place of --precision"
        )
    check_time_limit(time_limit, [study.method for study in studies.values()])
    parts = _run_each(
        studies, sources, on_start, store=store, workers=workers, batch=batch,
        on_progress=on_progress, attack=attack, on_interrupt=on_interrupt, time_limit=time_limit,
        executor=executor, on_workers=on_workers,
    )  # fmt: skip
    side_by_side = along if needs == {Needs.SAMPLES} else CURVES
    return kept(join_results(parts, side_by_side, error, reference), store)


def sweep(
    study: Study,
    levels: Sequence[float],
    *,
    error: float | None = None,
    store: str | None = None,
    workers: int | None = None,
    batch: int | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    attack: GivenAttack | None = None,
    sources: Mapping[str, Source] | None = None,
    on_start: Callable[[str], None] = lambda _: None,
    time_limit: float | None = None,
    executor: AnyExecutor = None,
    on_workers: Callable[[WorkerNote], None] = warn_of_fallback,
) -> Result:
    """One study at several levels: failure against the level, on the same noise.

    `error` is that of the claims about all levels together; each level is a part of the result.
    Options as for `Study.run`. Example: sf.sweep(study, [0.01, 0.02, 0.04]).plot("levels.svg")
    """
    if study.needs is Needs.SMOOTHING:
        raise InvalidArgument("noise of another level smooths another model: run each by itself")
    if study.needs is Needs.MEAN:  # before any trial: nothing would follow from the runs together
        raise InvalidArgument(
            "a mean to a precision takes other trials at each level, so that levels cannot be put "
            "side by side: take --each in place of --precision"
        )
    parts = _run_each(
        studies_by_level(study, levels), sources, on_start, store=store, workers=workers,
        batch=batch, on_progress=on_progress, attack=attack, time_limit=time_limit,
        executor=executor, on_workers=on_workers,
    )  # fmt: skip
    return kept(join_results(parts, LEVELS, error), store)


def kept(result: Result, store: str | None) -> Result:
    """The comparison itself, once it is in the store as a run of its own."""
    if result.parts:
        records = {name: part.record for name, part in result.parts.items()}
        keep_outcome(result.record, records, store)
    return result


def _run_each(
    studies: Mapping[str, Study],
    sources: Mapping[str, Source] | None,
    on_start: Callable[[str], None],
    **options: Any,  # noqa: ANN401  the arguments of `Study.run`
) -> dict[str, Result]:
    """The result of each study, run one after the other."""
    parts: dict[str, Result] = {}
    with one_cluster():
        for name, study in studies.items():
            on_start(name)
            parts[name] = study.run(source=None if sources is None else sources[name], **options)
    return parts


def studies_by_level(study: Study, levels: Sequence[float]) -> dict[str, Study]:
    """The study at each level, by the level as text, in rising order."""
    if len(set(levels)) < 2:
        raise InvalidArgument(f"give two different levels or more, got {list(levels)}")
    exact = len({level_words(level) for level in levels}) < len(set(levels))
    return {
        repr(level) if exact else level_words(level): replace(
            study, perturbation=at_level(study.perturbation, level)
        )
        for level in sorted(set(levels))
    }


def compare_results(
    results: Mapping[str, Result],
    *,
    error: float | None = None,
    reference: Mapping[str, float] | None = None,
) -> Result:
    """Results of the same kind side by side, as `compare` has them; nothing is run."""
    sampled = all(isinstance(result.details, Samples) for result in results.values())
    return join_results(results, MODELS if sampled else CURVES, error, reference)


def join_results(
    parts: Mapping[str, Result],
    along: str,
    error: float | None = None,
    reference: Mapping[str, float] | None = None,
    suite: str = "",
) -> Result:
    """Finished results side by side, with the claims that hold of them together."""
    if len(parts) == 1 and along == CURVES:
        return next(iter(parts.values()))
    records = {name: part.record for name, part in parts.items()}
    store = next(iter(parts.values())).store if parts else ""
    return Result(joined_record(records, along, error, reference, suite), parts, store=store)
