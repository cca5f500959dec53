"""What a run will cost, before it begins: a forecast, not a claim."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import dataclass

from surefoot.errors import InvalidArgument
from surefoot.executors import open_pool
from surefoot.procedure import Needs
from surefoot.statistics.planning import SimulatedTrials, simulate_trials
from surefoot.study.sampling_run import batch_size, workers_for
from surefoot.study.setup import Setup
from surefoot.tasks import Task


@dataclass(frozen=True)
class Plan:
    """What a study will cost, for inputs that are kept with an assumed probability.

    `rate` is in trials a second, with so many `workers`.
    """

    inputs: int
    rate: float
    workers: int
    rehearsals: tuple[SimulatedTrials, ...]

    def __str__(self) -> str:
        """One line on the model, then one for each assumed probability."""
        lines = [
            f"{self.inputs:,} inputs; the model does about {self.rate:,.0f} trials per second with "
            f"{self.workers} {'worker' if self.workers == 1 else 'workers'}."
        ]
        lines += [
            f"If every input is kept with probability {r.p:g}: {r.mean:,.0f} trials per input, "
            f"{self.inputs * r.mean:,.0f} in total, about {self.seconds(r):,.0f} s."
            for r in self.rehearsals
        ]
        return "\n".join(lines)

    def seconds(self, rehearsal: SimulatedTrials) -> float:
        """The time of the whole run if every input were like this."""
        return self.inputs * rehearsal.mean / self.rate


def plan(study: Setup, assumed: Sequence[float], workers: int | None) -> Plan:
    """Simulate the method on assumed probabilities and time the model on one batch."""
    if study.needs is not Needs.SAMPLES:
        raise InvalidArgument(
            f"{type(study.method).__name__} cannot be simulated: plan a method that samples at "
            "one level, such as sf.methods.ExactSequential(0.02, 0.01)"
        )
    bench, subject, level = study.bench(), study.fitted.subjects()[0], study.level
    batch, threads = batch_size(study, bench, subject, level), workers_for(study, workers)
    with open_pool(threads) as pool:
        start = time.perf_counter()
        wait(
            [
                pool.submit(bench.answer, [Task(subject, level, 0, batch)])
                for _ in range(2 * threads)
            ]
        )
        rate = 2 * threads * batch / (time.perf_counter() - start)
    rehearsals = tuple(simulate_trials(study.method, p) for p in assumed)
    return Plan(len(study.fitted), rate, threads, rehearsals)
