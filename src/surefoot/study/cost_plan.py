"""What a run will cost, before it begins: a forecast, not a claim."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import dataclass

from surefoot.conclude.accuracy import method_of_trials
from surefoot.conclude.precision import mean_procedure
from surefoot.core.claims import About
from surefoot.core.procedure import Needs
from surefoot.core.tasks import Task
from surefoot.errors import InvalidArgument
from surefoot.executors.pool import open_pool
from surefoot.population import inputs_needed
from surefoot.report.formatting import duration_words, percent
from surefoot.report.tables import Table
from surefoot.statistics.planning import SimulatedTrials, simulate_mean, simulate_trials
from surefoot.study.measure import batch_size, workers_for
from surefoot.study.parts import StudyParts


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


def plan(study: StudyParts, assumed: Sequence[float], workers: int | None) -> Plan:
    """Simulate the method on assumed probabilities and time the model on one batch."""
    if study.needs not in (Needs.SAMPLES, Needs.MEAN):
        raise InvalidArgument(
            f"{type(study.method).__name__} cannot be simulated: plan a method that samples at "
            "one level, such as sf.methods.ExactSequential(0.02, 0.01)"
        )
    bench, subjects, level = study.bench(), study.fitted.subjects(), study.level
    batch, threads = batch_size(study, bench, subjects[0], level), workers_for(study, workers)
    tasks, settled = [Task(subjects[0], level, 0, batch)], not study.facts.draws
    if settled:  # further trials of one input would cost nothing
        tasks = [Task(subject, level, 0, 1) for subject in subjects[:batch]]
    with open_pool(threads) as pool:
        start = time.perf_counter()
        wait([pool.submit(bench.answer, tasks) for _ in range(2 * threads)])
        seconds = time.perf_counter() - start
    rate = 2 * threads * sum(task.units for task in tasks) / seconds
    if study.needs is Needs.MEAN:
        return _plan_of_mean(study, assumed, rate, threads)
    method = method_of_trials(study.facts)
    rehearsals = tuple(simulate_trials(method, p) for p in (_SETTLED if settled else assumed))
    return Plan(len(study.fitted), rate, threads, rehearsals, notes=(_ONE_ANSWER,) * settled)


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
