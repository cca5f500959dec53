"""Worker processes against one worker: a model that is a Python function, and the prover.

Each is run in turns by one worker and by as many processes as there are cores (two by default). On
a machine that others use too the clock says little, so both are printed: `process_speedup`, the
median over turns of seconds by the clock; and `free_cores`, what the processor times say of a
machine with free cores: the time of one worker by the longer of the parent and of the average
process, an upper limit, as if they shared the work evenly. Starting the processes is counted by
itself in both. The answers of both must agree. Proofs
last very differently, so with few images one worker ends alone: 24 gain less than 72.

`ray_over_threads` is the throughput of workers of Ray as a share of that of as many threads, for a
network of onnxruntime, which threads run best.

    python benchmarks/scale.py [--workers 2] [--turns 3] [--trials 500000] [--images 72]
                               [--network-trials 200000]
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from prerequisites import need_package
from processor import print_processor, processor_name
from scale_model import scores
from scale_ray import Fixed, ray_over_threads
from tables import print_table

import surefoot as sf
from surefoot.core.procedure import Pinned
from surefoot.engine.loop import measure
from surefoot.executors.devices import Work
from surefoot.executors.pool import open_work
from surefoot.store import MemoryJournal
from surefoot.study.measure import Measurement, samples_measurement
from surefoot.study.prove import radii_measurement

TARGET = 1.8
"""On two cores; the parent needs some of one."""
SHAPE = (1, 8, 8)
NODES = 10_000
"""A limit for each input, which every machine counts alike: most proofs need fewer, and no input
takes as long as all others together, which one worker alone would have to wait for."""
MOST_SECONDS = 45.0
"""Of each kind of work, after which no other turn is begun."""
HIDDEN = 24
"""Neurons of each of two layers: proofs of a second or so."""


@dataclass(frozen=True)
class Seconds:
    """One run: by the clock, of the processor here and in the processes, and to start them."""

    clock: float
    parent: float
    children: float
    start: float


def images(n: int) -> np.ndarray:
    """Inputs that are always the same."""
    return np.random.default_rng(5).uniform(0, 1, (n, *SHAPE)).astype(np.float32)


def function_run(trials: int) -> Measurement:
    """So many trials of a Python function that loops over the values."""
    model = sf.load_model(scores, shape=SHAPE, bounds=(0, 1))
    inputs = sf.load_inputs(images(20))
    study = sf.Study(model, inputs, sf.perturb.LinfNoise(0.1), sf.methods.FixedSize(0.1, 0.1))
    whole = samples_measurement(study, None, None)
    each: Any = Pinned(Fixed(trials // len(inputs)), study.level)
    return replace(whole, procedures=dict.fromkeys(inputs.ids, each))


def prover_run(number: int, folder: Path) -> Measurement:
    """Brackets of the critical radii of so many inputs of a random network."""
    model = sf.load_model(_network(folder / "network.onnx"), bounds=(0, 1))
    method = sf.methods.CriticalLevel(0.002, samples=0, nodes_per_input=NODES)
    study = sf.Study(model, sf.load_inputs(images(number)), sf.perturb.LinfNoise(), method)
    return radii_measurement(study, None, None)


def _network(path: Path) -> Path:
    onnx = need_package("onnx")
    helper, rng = onnx.helper, np.random.default_rng(2)
    sizes = [int(np.prod(SHAPE)), HIDDEN, HIDDEN, 4]
    nodes, constants, last = [helper.make_node("Flatten", ["x"], ["h0"], axis=1)], [], "h0"
    for i, (n, m) in enumerate(pairwise(sizes), start=1):
        weights = rng.normal(0, n**-0.5, (n, m)).astype(np.float32)
        bias = rng.normal(0, 0.1, m).astype(np.float32)
        constants += [
            onnx.numpy_helper.from_array(weights, f"w{i}"),
            onnx.numpy_helper.from_array(bias, f"b{i}"),
        ]
        nodes.append(helper.make_node("Gemm", [last, f"w{i}", f"b{i}"], [f"s{i}"]))
        last = f"s{i}"
        if m != sizes[-1]:
            nodes.append(helper.make_node("Relu", [last], [f"h{i}"]))
            last = f"h{i}"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "network",
        [value("x", onnx.TensorProto.FLOAT, ["n", *SHAPE])],
        [value(last, onnx.TensorProto.FLOAT, None)],
        constants,
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


def timed(run: Measurement, workers: int) -> tuple[Seconds, Sequence[Any]]:
    """One run, inline for one worker, else by processes."""
    work = Work(run.bench, workers)
    opened = time.perf_counter()
    with open_work(work, "threads" if workers == 1 else "processes", lambda _: None) as pool:
        begun, parent = time.perf_counter(), time.process_time()
        children = _children()
        answers = measure(
            run.procedures,
            run.bench,
            run.subjects,
            pool=pool,
            journal=MemoryJournal(),
            batch_size=run.batch,
            block=run.bench.block,
            in_flight=1 if workers == 1 else 2 * workers,
        )
        clock, parent = time.perf_counter() - begun, time.process_time() - parent
    return Seconds(clock, parent, _children() - children, begun - opened), answers


def start_cost(run: Measurement) -> float:
    """Processor seconds of a process that starts, loads the model and does nothing."""
    before = _children()
    with open_work(Work(run.bench, 1), "processes", lambda _: None):
        pass
    return _children() - before


def _children() -> float:
    """Processor seconds of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compared(
    name: str, run: Measurement, workers: int, turns: int, same: Callable[..., bool]
) -> dict[str, Any]:
    """Medians over the turns; refused where the answers differ."""
    speed, free, start, cost = [], [], [], start_cost(run)
    until = time.monotonic() + MOST_SECONDS
    while len(speed) < turns and (not speed or time.monotonic() < until):
        one, expected = timed(run, 1)
        many, answers = timed(run, workers)
        if not same(expected, answers):
            raise SystemExit(f"{name}: processes answered otherwise")
        speed.append(one.clock / many.clock)
        free.append(one.parent / max(many.parent, many.children / workers - cost))
        start.append(many.start)
    return {
        "work": name,
        "process_speedup": round(statistics.median(speed), 2),
        "free_cores": round(statistics.median(free), 2),
        "best": round(max(speed), 2),
        "seconds_to_start": round(statistics.median(start), 2),
        "cpu_seconds_to_start": round(cost, 2),
        "one_worker_seconds": round(one.clock, 2),
        "one_worker_cpu_seconds": round(one.parent, 2),
    }


def main() -> None:
    """Both kinds of work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--trials", type=int, default=500_000)
    parser.add_argument("--images", type=int, default=72)
    parser.add_argument("--network-trials", type=int, default=200_000)
    chosen = parser.parse_args()
    print_processor()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            compared("Python function", function_run(chosen.trials), chosen.workers, chosen.turns,
                     lambda a, b: a == b),
            compared("prover", prover_run(chosen.images, Path(folder)), chosen.workers,
                     chosen.turns, _same_brackets),
        ]  # fmt: skip
    print_table(list(rows[0]), [[str(v) for v in row.values()] for row in rows])
    ray = ray_over_threads(chosen.network_trials, chosen.workers, chosen.turns)
    print_table(list(ray), [[str(value) for value in ray.values()]])
    least = min(row["process_speedup"] for row in rows)
    summary = {row["work"]: row for row in rows}
    whole = {"process_speedup": least, "target": TARGET, "workers": chosen.workers}
    whole["ray_over_threads"] = ray["ray_over_threads"]
    print(json.dumps({**whole, "processor": processor_name(), **summary, "Ray": ray}))


def _same_brackets(expected: Sequence[Any], answers: Sequence[Any]) -> bool:
    return [(b.low, b.high) for b in expected] == [(b.low, b.high) for b in answers]


if __name__ == "__main__":
    main()
