"""Workers of Ray against threads on the same cores: a network of onnxruntime, in turns.

On a machine that others use too the clock says little, so the processor times are compared as well:
those of this process and of all that it started, Ray's own services among them.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from prerequisites import need_package

import surefoot as sf
from surefoot.core.procedure import Pinned
from surefoot.engine.loop import measure
from surefoot.executors.devices import Work
from surefoot.executors.pool import open_work
from surefoot.executors.ray_connection import one_cluster
from surefoot.store import MemoryJournal
from surefoot.study.measure import Measurement, samples_measurement

TARGET = 0.9
"""The least throughput of Ray as a share of that of threads."""
INPUTS = 20
BATCH = 512
"""Trials in a batch: measured on a busy machine it would be another in every run."""


def network_run(trials: int) -> Measurement:
    """So many trials of the demo's convolutional network."""
    data = files("surefoot") / "data"
    model = sf.load_model(str(data / "fashion_cnn.onnx"))
    with np.load(str(data / "fashion_test.npz")) as stored:
        inputs = sf.load_inputs(stored["x"][:INPUTS], stored["y"][:INPUTS])
    study = sf.Study(model, inputs, sf.perturb.LinfNoise(0.03), sf.methods.FixedSize(0.1, 0.1))
    whole = samples_measurement(study, None, BATCH)
    each: Any = Pinned(Fixed(trials // INPUTS), study.level)
    return replace(whole, procedures=dict.fromkeys(inputs.ids, each))


@dataclass(frozen=True)
class Fixed:
    """Asks once for so many trials."""

    trials: int

    def steps(self) -> Any:  # noqa: ANN401
        """The counts themselves."""
        counts = yield self.trials
        return counts


@dataclass(frozen=True)
class Seconds:
    """One run: by the clock, of all processors, and to start."""

    clock: float
    processor: float
    start: float


def timed(run: Measurement, workers: int, executor: str) -> tuple[Seconds, Sequence[Any]]:
    """One run, and its answers."""
    opened = time.perf_counter()
    with open_work(Work(run.bench, workers), executor, lambda _: None) as pool:
        while getattr(pool, "ready", workers) < workers:
            time.sleep(0.01)  # the first one would begin without the others
        begun, used = time.perf_counter(), _processor_seconds()
        answers = measure(
            run.procedures,
            run.bench,
            run.subjects,
            pool=pool,
            journal=MemoryJournal(),
            batch_size=run.batch,
            block=run.bench.block,
            in_flight=2 * workers,
        )
        clock = time.perf_counter() - begun
        return Seconds(clock, _since(used), begun - opened), answers


def _processor_seconds() -> dict[int, float]:
    """Of this process and all its descendants that run now; without /proc, of this one."""
    parents, used = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    if os.getpid() not in parents:
        return {os.getpid(): time.process_time()}
    return {one: seconds for one, seconds in used.items() if _is_ours(one, parents)}


def _since(before: dict[int, float]) -> float:
    """Seconds since then, of processes that still run: actors of the turn before may end."""
    return sum(now - before.get(one, 0.0) for one, now in _processor_seconds().items())


def _is_ours(one: int, parents: dict[int, int]) -> bool:
    while one and one != os.getpid():
        one = parents.get(one, 0)
    return one == os.getpid()


def ray_over_threads(trials: int, workers: int, turns: int) -> dict[str, Any]:
    """Medians over the turns, without the start; refused where the answers differ."""
    need_package("ray")
    run, pairs = network_run(trials), []
    with one_cluster():
        for _ in range(turns):
            threads, expected = timed(run, workers, "threads")
            ray, answers = timed(run, workers, "ray")
            if expected != answers:
                raise SystemExit("Ray answered otherwise")
            pairs.append((threads, ray))
    return {
        "work": "ONNX network",
        "ray_over_threads": _median(threads.clock / ray.clock for threads, ray in pairs),
        "by_processor_time": _median(threads.processor / ray.processor for threads, ray in pairs),
        "target": TARGET,
        "threads_seconds": _median(threads.clock for threads, _ in pairs),
        "ray_seconds": _median(ray.clock for _, ray in pairs),
        "threads_cpu_seconds": _median(threads.processor for threads, _ in pairs),
        "ray_cpu_seconds": _median(ray.processor for _, ray in pairs),
        "seconds_to_start_first": round(pairs[0][1].start, 2),
        "seconds_to_start": _median(ray.start for _, ray in pairs),
    }


def _median(values: Iterable[float]) -> float:
    return round(statistics.median(values), 2)
