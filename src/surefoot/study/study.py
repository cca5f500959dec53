"""A study, or several that differ in the model, the perturbation or the level, and their runs."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.catalogue.registry import describe_perturbation
from surefoot.conclude.accuracy import method_of_trials
from surefoot.conclude.comparison import CELLS, CURVES, LEVELS, MODELS, joined_record
from surefoot.conclude.sampling import mean_procedure
from surefoot.conclude.suite import error_of_cells
from surefoot.core.claims import About
from surefoot.core.procedure import Needs
from surefoot.core.results import Particle
from surefoot.core.tasks import Entry, Subject, Task
from surefoot.engine.chains import SplittingBench
from surefoot.engine.progress import Progress, check_time_limit
from surefoot.engine.sampling_bench import draws_nothing
from surefoot.errors import InvalidArgument
from surefoot.executors.pool import AnyExecutor, WorkerNote, open_pool, warn_of_fallback
from surefoot.executors.ray_connection import one_cluster
from surefoot.perturb._ops.arrays import at_level
from surefoot.perturb.table import for_columns
from surefoot.population import CellMean, CellPasses, PopulationMean, inputs_needed
from surefoot.records.record import Samples, Source
from surefoot.region.attack_method import GivenAttack, as_attack
from surefoot.report.formatting import duration_words, percent
from surefoot.report.tables import Table
from surefoot.statistics.planning import SimulatedTrials, simulate_mean, simulate_trials
from surefoot.store import open_existing, store_exists
from surefoot.store.outcomes import keep_outcome
from surefoot.study.load_files import SELECTION_SEEDS
from surefoot.study.measure import batch_size, workers_for
from surefoot.study.parts import StudyParts
from surefoot.study.result import Result
from surefoot.study.run import RunSettings, run_several
from surefoot.subject.protocols import Perturbation, to_host
from surefoot.system.text import level_words

_TRIALS_AT_ONCE = 64
"""In a batch that looks for a failure: few enough for any model that was studied."""

WITH_TRIALS = (Needs.SAMPLES, Needs.MEAN, Needs.SMOOTHING, Needs.SPLITTING)
"""What methods need whose runs have single trials, at one level."""


@dataclass(frozen=True, eq=False)
class Replay:
    """One trial, run again: the input before and after, the model's output and its label.

    The labels are None where the model has no classes. It fails at a severity of `limit` or more.
    """

    clean: NDArray[np.floating]
    perturbed: NDArray[np.floating]
    clean_label: int | None
    label: int | None
    severity: float
    limit: float
    clean_output: Any = None
    output: Any = None

    @property
    def kept(self) -> bool:
        """Whether the trial does not fail."""
        return self.severity < self.limit


def first_failing(study: StudyParts, subject: str, start: int, stop: int) -> int | None:
    """The first of the trials [start, stop) of an input that fails; None where all are kept."""
    ids = study.fitted.ids
    if subject not in ids or study.needs not in WITH_TRIALS:
        return None
    bench, own = study.bench(), Subject(subject, (ids.index(subject),))
    for first in range(start, stop, _TRIALS_AT_ONCE):
        task = Task(own, study.level, first, min(first + _TRIALS_AT_ONCE, stop))
        failed = np.flatnonzero(bench.severities([task]) >= bench.prop.limit)
        if len(failed):
            return first + int(failed[0])
    return None


@dataclass(frozen=True)
class Plan:
    """What a study will cost, for inputs that are kept with an assumed probability.

    `rate` is in trials a second, with so many `workers`. `together`: the method takes all inputs
    together, and a rehearsal counts all their trials. `notes` say what no trials can make good.
    """

    inputs: int
    rate: float
    workers: int
    rehearsals: tuple[SimulatedTrials, ...]
    together: bool = False
    notes: tuple[str, ...] = ()

    def trials(self, rehearsal: SimulatedTrials) -> float:
        """The trials of the whole run if every input were like this."""
        return rehearsal.mean if self.together else self.inputs * rehearsal.mean

    def __str__(self) -> str:
        """One line on the model, then a table with a row for each assumed probability."""
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        reached = "precision reached" if self.together else "concluded"
        rows = tuple(
            (
                f"{r.p:g}",
                f"{self.trials(r) / self.inputs:,.3g}",
                f"{self.trials(r):,.0f}",
                duration_words(self.seconds(r)),
                f"{100 * r.decided:.0f} %",
            )
            for r in self.rehearsals
        )
        headings = ("p", "trials per input", "trials in total", "time", reached)
        table = Table("If every input is kept with probability p:", headings, rows, 0)
        rate = f"the model does about {self.rate:,.0f} trials per second with {workers}."
        lines = [f"{self.inputs:,} inputs; {rate}", table.title, *table.text(), *self.notes]
        return "\n".join(lines)

    def seconds(self, rehearsal: SimulatedTrials) -> float:
        """The time of the whole run if every input were like this."""
        return self.trials(rehearsal) / self.rate


_SETTLED = (1.0, 0.0)
_ONE_ANSWER = (
    "Nothing is random about this perturbation: each input is always kept or always fails, so that "
    "one trial of it is enough."
)


def _plan_of_mean(study: StudyParts, assumed: Sequence[float], rate: float, threads: int) -> Plan:
    """The method on all inputs together, and how many inputs the population needs."""
    method, size = mean_procedure(study.facts), len(study.fitted)
    rehearsals = tuple(simulate_mean(method, p) for p in assumed)
    notes = []
    if method.about is About.POPULATION:
        for p in assumed:
            needed = inputs_needed(1 - p, method.precision, method.error)
            if needed > size:
                notes.append(
                    f"If {percent(1 - p)} of the perturbations fail because some inputs always do, "
                    f"± {method.precision:g} needs about {needed:,} inputs; there are {size:,}: "
                    "more trials of them do not help."
                )
    return Plan(size, rate, threads, rehearsals, together=True, notes=tuple(notes))


@dataclass(frozen=True, eq=False)
class Study(StudyParts):
    """Everything that decides the result, and nothing else: workers and batches do not.

    `by_class`: claims about each class too; None is what the method does by itself (sampling
    does, curves and radii do not). `population` is the kind of statement about the population
    that sampling makes; None is the one that suits the method. `prove_on` is where proofs of radii
    are searched: cpu, or a GPU such as cuda; without a word beside the model.
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
        check_time_limit(time_limit, [self.method])
        if attack is not None and self.needs is not Needs.SAMPLES:
            raise InvalidArgument(
                f"{type(self.method).__name__}: an attack goes beside sampling only"
                "; leave it out, or use estimate or certify"
            )
        given = None if attack is None else as_attack(attack)
        return run_several({"": self}, store, lambda _: options, given)[""]

    def plan(
        self, assumed: Sequence[float] = (1.0, 0.999, 0.99, 0.9, 0.5), workers: int | None = None
    ) -> Plan:
        """What `run` will cost if inputs are kept with these probabilities; times the model."""
        if self.needs not in (Needs.SAMPLES, Needs.MEAN):
            raise InvalidArgument(
                f"{type(self.method).__name__} cannot be simulated: plan a method that samples at "
                "one level, such as sf.methods.ExactSequential(0.02, 0.01)"
            )
        bench, subjects, level = self.bench(), self.fitted.subjects(), self.level
        batch, threads = batch_size(self, bench, subjects[0], level), workers_for(self, workers)
        tasks, settled = [Task(subjects[0], level, 0, batch)], not self.facts.draws
        if settled:  # further trials of one input would cost nothing
            tasks = [Task(subject, level, 0, 1) for subject in subjects[:batch]]
        with open_pool(threads) as pool:
            start = time.perf_counter()
            wait([pool.submit(bench.answer, tasks) for _ in range(2 * threads)])
            seconds = time.perf_counter() - start
        rate = 2 * threads * sum(task.units for task in tasks) / seconds
        if self.needs is Needs.MEAN:
            return _plan_of_mean(self, assumed, rate, threads)
        method = method_of_trials(self.facts)
        rehearsals = tuple(simulate_trials(method, p) for p in (_SETTLED if settled else assumed))
        return Plan(len(self.fitted), rate, threads, rehearsals, notes=(_ONE_ANSWER,) * settled)

    def replay(self, subject: str, trial: int | Particle) -> Replay:
        """Run one trial again, by its name; of splitting also a failure that a run `found`."""
        if self.needs not in WITH_TRIALS:
            raise InvalidArgument(
                f"{type(self.method).__name__} has no trials at one level to replay"
                ": replay a run of estimate or certify"
            )
        found = trial if isinstance(trial, Particle) else Particle(trial)
        bench = self.bench()
        ids = self.fitted.ids
        if subject not in ids:
            raise InvalidArgument(
                f"there is no input {subject!r} among the {len(ids)} of this study: its inputs "
                f"have ids such as {ids[0]}; `surefoot show --json` has all of them"
            )
        if found.trial < 0:
            raise InvalidArgument(f"trials count from 0, got {found.trial}: give 0 or more")
        row = ids.index(subject)
        task = Task(Subject(subject, (row,)), self.level, found.trial, found.trial + 1)
        if isinstance(trial, Particle):
            x = SplittingBench(bench.model, bench).perturbed_as(found, task)
        else:
            x = bench.perturbed(task)
        output = bench.outputs(x, [task])[0]
        severity = float(bench.severities_of(x, [task])[0])
        predicted = self.predicted if self.has_classes else None
        clean = self.fitted.x[row : row + 1]
        return Replay(
            clean=clean[0],
            perturbed=to_host(x)[0],
            clean_label=None if predicted is None else int(predicted[row]),
            label=None if predicted is None else int(np.argmax(output)),
            severity=severity,
            limit=float(bench.prop.limit),
            clean_output=bench.outputs(self.model.place(clean), [task])[0],
            output=output,
        )


_NOT_COMPARED = {
    Needs.SMOOTHING: "smoothed models are not compared: run each by itself, and compare their "
    "certified accuracy",
    Needs.SPLITTING: "failures found by splitting are not compared: run each model by itself, and "
    "compare their intervals",
    Needs.MEAN: "a mean to a precision takes other trials for each model, so that models cannot be "
    "compared trial by trial: take --each in place of --precision",
}


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
    if refusal := next((_NOT_COMPARED[one] for one in needs if one in _NOT_COMPARED), ""):
        raise InvalidArgument(refusal)
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
    if study.needs is Needs.SPLITTING:
        raise InvalidArgument("splitting is run at one level: give each its own run")
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


_TIMED_INPUTS = 32
"""Each with two trials, of each kind of perturbation, for the forecast: a small part of a cell."""
_LEAST_BATCH, _BATCH_SECONDS = 512, 1.0
"""Trials of a batch, unless so many take longer than this: a killed run loses a whole batch."""
_SHORT_SECONDS = 0.2
"""Of such a batch, beyond which none is timed: one of the fastest size takes no longer, the next
larger size is twice as many, and no model is found twice as fast as in the forecast."""
_CELL_SECONDS, _INPUT_SECONDS = 0.05, 2e-4
"""What a cell takes besides its trials: checks, allocation, record (measured with 300 inputs)."""


@dataclass(frozen=True)
class CellPlan:
    """How well each cell is to be known: to a precision, or with so many passes over the inputs.

    `error` is that of all cells and their mean together.
    """

    precision: float | None = 0.02
    passes: int | None = None
    about: About = About.THESE
    error: float = 0.05

    def __post_init__(self) -> None:
        if self.passes is not None and self.about is About.POPULATION:
            raise InvalidArgument(
                "passes are for these inputs: for the population give a precision (--precision "
                "0.05), or leave out about (--about)"
            )

    def method(self, drawn: int, every: int) -> CellMean | CellPasses | PopulationMean:
        """That of one of so many cells, of which some draw random numbers."""
        error = error_of_cells(self.error, drawn, every, self.about)
        if self.passes is not None:
            return CellPasses(self.passes, error, max(drawn, 1))
        precision = 0.0 if self.precision is None else self.precision
        if self.about is About.POPULATION:
            return PopulationMean(precision, error)
        return CellMean(precision, error, max(drawn, 1))


@dataclass(frozen=True)
class SuiteForecast:
    """About how many trials the cells to come take, and how many seconds: no claim."""

    cells: int
    trials: int
    seconds: float
    seconds_per_trial: float
    most_trials: int
    known: Mapping[str, Mapping[str, Sequence[Entry]]]
    """The trials that it took, by cell and input: they need not be run again."""


def cell_seed(seed: int, perturbation: Perturbation, taken: Iterable[int] = ()) -> int:
    """A seed by which no two cells meet the same random numbers; it chooses the same inputs."""
    name = repr((int(seed), sorted(describe_perturbation(perturbation).items()))).encode()
    number = 1 + int.from_bytes(hashlib.sha256(name).digest()[:3])
    while (own := number * SELECTION_SEEDS + seed % SELECTION_SEEDS) in taken:
        number += 1
    return own


def cell_studies(
    study: Study, cells: Mapping[str, Perturbation], plan: CellPlan
) -> dict[str, Study]:
    """The study of each cell, by its name."""
    if not cells:
        raise InvalidArgument("a suite needs a cell at least: give one perturbation or more")
    fitted = {name: for_columns(one, study.fitted) for name, one in cells.items()}
    drawn = sum(not draws_nothing(one, study.fitted) for one in fitted.values())
    method = plan.method(drawn, len(cells))
    studies: dict[str, Study] = {}
    for name, perturbation in fitted.items():
        seed = cell_seed(study.seed, perturbation, [one.seed for one in studies.values()])
        try:
            studies[name] = study.under(perturbation, method, seed)
        except InvalidArgument as error:
            raise InvalidArgument(f"{name}: {error}") from error
    return studies


def run_suite(
    studies: Mapping[str, Study],
    suite: str,
    error: float,
    *,
    store: str | None = None,
    sources: Mapping[str, Source] | None = None,
    on_start: Callable[[str], None] = lambda _: None,
    on_forecast: Callable[[SuiteForecast], None] = lambda _: None,
    **more: Any,  # noqa: ANN401  the fields of `RunSettings`
) -> Result:
    """Every cell in turn, then what follows for all of them; cells of the store are not run.

    What follows is not kept in the store: who asks for it may require something of it first.
    """
    settings, done = RunSettings(**more), _finished(studies, store)
    waiting = {name: study for name, study in studies.items() if name not in done}
    known: Mapping[str, Mapping[str, Sequence[Entry]]] = {}
    if waiting:
        forecast = _forecast(waiting, settings.workers)
        known = forecast.known
        if settings.batch is None:
            # What a batch costs besides its trials is not timed, and a cell has no more trials than
            # are forecast. Larger ones are tried where they would be short.
            size = min(_LEAST_BATCH, int(_BATCH_SECONDS / forecast.seconds_per_trial))
            short = size * forecast.seconds_per_trial < _SHORT_SECONDS
            if short and size < forecast.most_trials:
                # with one that draws: trials of another are run once for all of a batch
                first = max(waiting.values(), key=lambda study: study.facts.draws)
                best = batch_size(first, first.bench(), first.fitted.subjects()[0], first.level)
                size = max(size, best)
            settings = replace(settings, batch=max(1, min(size, forecast.most_trials)))
        on_forecast(forecast)
    first_of = {id(study.model): name for name, study in reversed(waiting.items())}

    def options(name: str) -> RunSettings:
        on_start(name)
        source, tried = None if sources is None else sources[name], known.get(name, {})
        few = sum(map(len, tried.values()))

        def on_progress(now: Progress) -> None:
            """Trials of the forecast are no earlier run, from which this one would go on."""
            settings.on_progress(now if now.trials > few else replace(now, trials=0))

        checked = name not in first_of.values()
        return replace(
            settings, source=source, batches_checked=checked, known=tried, on_progress=on_progress
        )

    parts = run_several(studies, store, options)
    return join_results(parts, CELLS, error, suite=suite)


def _finished(studies: Mapping[str, Study], store: str | None) -> set[str]:
    """The cells that are in the store: they come one after the other."""
    done: set[str] = set()
    if store is None or not store_exists(store):
        return done
    with closing(open_existing(store)) as opened:
        for name, study in studies.items():
            known = opened.stored(study.digest)
            if known is None or known.stopped_early:
                break
            done.add(name)
    return done


def _forecast(studies: Mapping[str, Study], workers: int | None) -> SuiteForecast:
    """Each kind of perturbation is tried once, with each model: at its last level, the highest."""
    last = {(study.perturbation.kind, id(study.model)): name for name, study in studies.items()}
    tried = {name: _tried(studies[name]) for name in last.values()}
    trials, seconds, most = 0, 0.0, 0
    for study in studies.values():
        method: Any = mean_procedure(study.facts)
        most = max(most, method.forecast)
        each, differing, _ = tried[last[study.perturbation.kind, id(study.model)]]
        own = method.forecast_at(differing) if isinstance(method, CellMean) else method.forecast
        trials += own
        seconds += own * each / workers_for(study, workers)
        seconds += _CELL_SECONDS + _INPUT_SECONDS * len(study.fitted)
    mean = sum(each for each, _, _ in tried.values()) / len(tried)
    # without classes a run asks the model itself what it says at the start
    known = {name: one[2] for name, one in tried.items() if studies[name].has_classes}
    return SuiteForecast(len(studies), trials, seconds, mean, most, known)


def _tried(study: Study) -> tuple[float, float, dict[str, list[Entry]]]:
    """Seconds of a trial, in which share of inputs two trials differ, and these by input."""
    bench, subjects = study.bench(), study.fitted.subjects()[:_TIMED_INPUTS]
    bench.answer([Task(subjects[0], study.level, 0, 1)])  # what is computed once, such as a kernel
    each = range(2 if study.facts.draws else 1)
    tasks = [Task(one, study.level, i, i + 1) for one in subjects for i in each]
    start = time.perf_counter()
    counts = bench.answer(tasks)
    seconds = (time.perf_counter() - start) / len(tasks)
    entries: dict[str, list[Entry]] = {one.name: [] for one in subjects}
    for task, one in zip(tasks, counts, strict=True):
        entries[task.subject.name].append(Entry(study.level, task.start, task.stop, one))
    pairs = zip(counts[:: len(each)], counts[len(each) - 1 :: len(each)], strict=True)
    differ = sum(one.kept != other.kept for one, other in pairs)
    return seconds, (differ + 0.5) / (len(subjects) + 1), entries
