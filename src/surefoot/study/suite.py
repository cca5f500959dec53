"""A suite: one model and its inputs under many perturbations, each cell a study of its own."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from surefoot.catalogue.registry import describe_perturbation
from surefoot.conclude.comparison import CELLS
from surefoot.conclude.precision import mean_procedure
from surefoot.conclude.suite import error_of_cells
from surefoot.core.claims import About
from surefoot.core.tasks import Task
from surefoot.engine.sampling_bench import draws_nothing
from surefoot.errors import InvalidArgument
from surefoot.perturb.table import for_columns
from surefoot.population import CellMean, CellPasses, PopulationMean
from surefoot.records.record import Source
from surefoot.store import open_existing, store_exists
from surefoot.study.load_files import SELECTION_SEEDS
from surefoot.study.measure import batch_size, workers_for
from surefoot.study.result import Result
from surefoot.study.run import RunSettings, run_several
from surefoot.study.study import Study, join_results, kept
from surefoot.subject.protocols import Perturbation

_TIMED_INPUTS = 32
"""Each with two trials, of each kind of perturbation, for the forecast: a small part of a cell."""
_LEAST_BATCH, _BATCH_SECONDS = 512, 1.0
"""Trials of a batch, unless so many take longer than this: a killed run loses a whole batch."""
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
        if (self.precision is None) == (self.passes is None):
            raise InvalidArgument(
                "give either precision (--precision 0.02) or passes (--passes 1): how well each "
                "cell is to be known"
            )
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
    settings: RunSettings,
    *,
    store: str | None = None,
    sources: Mapping[str, Source] | None = None,
    on_start: Callable[[str], None] = lambda _: None,
    on_forecast: Callable[[SuiteForecast], None] = lambda _: None,
) -> Result:
    """Every cell in turn, then what follows for all of them; cells of the store are not run."""
    done = _finished(studies, store)
    waiting = {name: study for name, study in studies.items() if name not in done}
    if waiting:
        forecast = _forecast(waiting, settings.workers)
        if settings.batch is None:
            # One that draws: trials of another are run once for all of a batch. What a batch costs
            # besides its trials is not timed, and a cell has no more trials than are forecast.
            first = max(waiting.values(), key=lambda study: study.facts.draws)
            size = batch_size(first, first.bench(), first.fitted.subjects()[0], first.level)
            size = max(size, min(_LEAST_BATCH, int(_BATCH_SECONDS / forecast.seconds_per_trial)))
            settings = replace(settings, batch=max(1, min(size, forecast.most_trials)))
        on_forecast(forecast)
    first_of = {id(study.model): name for name, study in reversed(waiting.items())}

    def options(name: str) -> RunSettings:
        on_start(name)
        source = None if sources is None else sources[name]
        return replace(settings, source=source, batches_checked=name not in first_of.values())

    parts = run_several(studies, store, options)
    return kept(join_results(parts, CELLS, error, suite=suite), store)


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
    last = {(study.perturbation.kind, id(study.model)): study for study in studies.values()}
    known = {kind: _tried(study) for kind, study in last.items()}
    trials, seconds, most = 0, 0.0, 0
    for study in studies.values():
        method: Any = mean_procedure(study.facts)
        most = max(most, method.forecast)
        each, differing = known[study.perturbation.kind, id(study.model)]
        own = method.forecast_at(differing) if isinstance(method, CellMean) else method.forecast
        trials += own
        seconds += own * each / workers_for(study, workers)
        seconds += _CELL_SECONDS + _INPUT_SECONDS * len(study.fitted)
    mean = sum(each for each, _ in known.values()) / len(known)
    return SuiteForecast(len(studies), trials, seconds, mean, most)


def _tried(study: Study) -> tuple[float, float]:
    """Seconds of a trial, and in which share of inputs two trials differ in their outcome."""
    bench, subjects = study.bench(), study.fitted.subjects()[:_TIMED_INPUTS]
    bench.answer([Task(subjects[0], study.level, 0, 2)])  # what is computed once, such as a kernel
    start = time.perf_counter()
    counts = bench.answer([Task(subject, study.level, 0, 2) for subject in subjects])
    seconds = (time.perf_counter() - start) / (2 * len(subjects))
    return seconds, (sum(one.kept == 1 for one in counts) + 0.5) / (len(subjects) + 1)
