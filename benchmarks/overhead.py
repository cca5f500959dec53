"""Engine rate over bare forward-pass rate, on CPU under onnxruntime, 1 and 200 subjects.

The bound is what onnxruntime does alone on pre-made batches of the engine's own batch size, with as
many threads calling it as the engine has workers. Both are timed in turns in the same process; the
ratio is the median over the turns. The engine's time is the whole of `measure` into an SQLite
journal: draw, apply, predict, judge, tally, journal. `cnn_fixed_batch`: the same file with a fixed
batch of 1, beside the bare file with a free one.

    python benchmarks/overhead.py [--quick] [--workers N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
from prerequisites import need_package
from processor import print_processor
from tables import print_table

import surefoot as sf
from surefoot.core.procedure import Pinned
from surefoot.core.tasks import Subject, Task
from surefoot.engine.batching import MOST_GROWTH, fastest_batch_size
from surefoot.engine.devices import device_of
from surefoot.engine.loop import measure
from surefoot.engine.outputs import clean_labels
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.executors.devices import Work
from surefoot.executors.pool import open_pool, open_work
from surefoot.inputs import fit
from surefoot.store.sql import SqlStore
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, Perturbation
from surefoot.testing.conformance import example_spec

onnx = need_package("onnx")

LEVEL = 32 / 255
ERROR = 0.05
TARGETS = {"mlp": "printed", "cnn_fixed_batch": ">= 0.80"}


class Fixed:
    """Ask for n trials once, so that both sides do the same number."""

    evidence = sf.methods.Counts

    def __init__(self, trials: int) -> None:
        self.trials = trials

    def steps(self):  # noqa: ANN201
        """One question."""
        yield self.trials
        return sf.Undecided("timing only", self.trials)


def mlp(folder: Path, inputs: int = 784, hidden: int = 32, classes: int = 10) -> Path:
    """A tiny MLP as an ONNX file."""
    TensorProto, helper, numpy_helper = onnx.TensorProto, onnx.helper, onnx.numpy_helper

    rng = np.random.default_rng(0)
    weights = {
        "w1": rng.normal(0, 0.05, (inputs, hidden)),
        "b1": np.zeros(hidden),
        "w2": rng.normal(0, 0.3, (hidden, classes)),
        "b2": np.zeros(classes),
    }
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("Gemm", ["r", "w2", "b2"], ["y"]),
        ],
        "mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", inputs])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", classes])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "mlp.onnx"
    onnx.save(model, path)
    return path


def bench_of(
    model: Model, inputs: Inputs, noise: Perturbation | None = None
) -> SamplingBench[sf.methods.Counts]:
    """A bench for the label kept under a perturbation, by default L-infinity noise."""
    labels, _ = clean_labels(model, inputs.x)
    noise = noise or sf.perturb.LinfNoise(LEVEL)
    return SamplingBench(
        inputs, labels, model, noise, sf.properties.SameLabel(), sf.methods.Counts, seed=1
    )


def with_batch_of_one(source: str, folder: Path) -> Path:
    """The same file with a fixed batch, as many are exported."""
    model = onnx.load(source)
    for tensor in (model.graph.input[0], model.graph.output[0]):
        tensor.type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, folder / "fixed.onnx")
    return folder / "fixed.onnx"


def compare(
    bench: SamplingBench[sf.methods.Counts],
    bare_model: Model,
    subjects: int,
    trials: int,
    workers: int,
    turns: int,
) -> dict[str, float]:
    """Rates of the engine and of the bare model, and the median ratio."""
    chosen = bench.inputs.subjects()[:subjects]
    first = chosen[0]
    batch_size = fastest_batch_size(
        lambda n: bench.answer([Task(first, LEVEL, 0, n)]), workers=workers
    )
    each = max(trials // subjects, 1)
    batches = [bench.perturbed(Task(s, LEVEL, 0, batch_size)) for s in chosen[:8]]
    ratios, ours, bare = [], [], []
    for _ in range(turns):
        bare.append(bare_rate(bare_model.predict, batches, each * subjects, workers))
        ours.append(engine_rate(bench, chosen, each, batch_size, workers))
        ratios.append(ours[-1] / bare[-1])
    return {
        "ours": statistics.median(ours),
        "bare": statistics.median(bare),
        "ratio": statistics.median(ratios),
        "batch_size": batch_size,
    }


def bare_rate(
    predict: Callable[[np.ndarray], object], batches: list[np.ndarray], trials: int, workers: int
) -> float:
    """Images a second when the model alone runs on pre-made batches."""
    rounds = max(trials // len(batches[0]), workers)
    with open_pool(workers) as pool:
        begun = time.perf_counter()
        wait([pool.submit(predict, batches[i % len(batches)]) for i in range(rounds)])
        return rounds * len(batches[0]) / (time.perf_counter() - begun)


def engine_rate(
    bench: SamplingBench[sf.methods.Counts],
    subjects: Sequence[Subject],
    each: int,
    batch_size: int,
    workers: int,
) -> float:
    """Trials a second of a whole run with a journal on disk."""
    level, on_gpu = bench.perturbation.level, device_of(bench) is not None
    largest = 0
    if not on_gpu:
        bench, largest = replace(bench, rows_at_once=batch_size), MOST_GROWTH * batch_size
    work = Work(bench, workers, on_device=on_gpu)
    with tempfile.TemporaryDirectory() as folder, open_work(work, None, print) as pool:
        store = SqlStore(str(Path(folder) / "run.db"))
        store.begin("benchmark", example_spec(1), None, {})
        begun = time.perf_counter()
        measure(
            Pinned(Fixed(each), level),
            bench,
            subjects,
            pool=pool,
            journal=store.journal("benchmark"),
            batch_size=batch_size,
            block=bench.block,
            in_flight=1 if workers == 1 else 2 * workers,
            largest_batch=largest,
        )
        took = time.perf_counter() - begun
        store.close()
    return each * len(subjects) / took


def where_the_time_goes(
    bench: SamplingBench[sf.methods.Counts], batch_size: int
) -> list[list[str]]:
    """Microseconds a trial spent in each part, on one batch."""
    subject = bench.inputs.subjects()[0]
    task = Task(subject, LEVEL, 0, batch_size)
    x = bench.perturbed_all([task])
    scores = bench.model.predict(x)
    labels = np.repeat(bench.references[:1], batch_size)
    parts = {
        "draw and apply": lambda: bench.perturbed_all([task]),
        "predict": lambda: bench.model.predict(x),
        "judge": lambda: bench.prop.severity(scores, labels),
        "tally": lambda: sf.methods.Counts.of(bench.prop.severity(scores, labels), 0.0),
        "whole batch": lambda: bench.answer([task]),
    }
    return [[name, f"{1e6 * fastest(run) / batch_size:.2f}"] for name, run in parts.items()]


def fastest(run: Callable[[], object], times: int = 15) -> float:
    """The least time of a few."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begun)
    return min(taken)


def main() -> None:
    """Print the table, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    print_processor()
    turns = 3 if options.quick else 9
    data = files("surefoot") / "data"
    inputs = sf.load_inputs(str(data / "fashion_test.npz"))
    cnn = sf.load_model(str(data / "fashion_cnn.onnx"), bounds=(0, 1))
    with tempfile.TemporaryDirectory() as folder:
        tiny = sf.load_model(str(mlp(Path(folder))), bounds=(0, 1))
        one = with_batch_of_one(str(data / "fashion_cnn.onnx"), Path(folder))
        fixed = sf.load_model(one, bounds=(0, 1))
    cnn_bench = bench_of(cnn, fit(inputs, cnn.signature.shape))
    fixed_bench = bench_of(fixed, fit(inputs, cnn.signature.shape))
    mlp_bench = bench_of(tiny, fit(inputs, tiny.signature.shape))
    # as many for each worker: a tenth of a second of all would be begun and ended, not run
    scale = (1 if options.quick else 2) * options.workers
    runs = {
        "cnn_one": (cnn_bench, cnn, 1, 20_000 * scale),
        "cnn_many": (cnn_bench, cnn, 200, 20_000 * scale),
        "cnn_fixed_batch": (fixed_bench, cnn, 200, 20_000 * scale),
        "mlp": (mlp_bench, tiny, 200, 400_000 * scale),
    }
    rates = {name: compare(*parts, options.workers, turns) for name, parts in runs.items()}
    print_table(
        ["run", "ours (trials/s)", "bare model (rows/s)", "ratio", "target", "batch_size"],
        [
            [
                name,
                f"{f['ours']:,.0f}",
                f"{f['bare']:,.0f}",
                f"{f['ratio']:.3f}",
                TARGETS.get(name, ">= 0.90"),
                f"{f['batch_size']:.0f}",
            ]
            for name, f in rates.items()
        ],
    )
    for name, bench in (("cnn", cnn_bench), ("mlp", mlp_bench)):
        batch_size = int(rates["mlp" if name == "mlp" else "cnn_many"]["batch_size"])
        print(f"\nwhere the time goes, {name}, one worker")
        print_table(["part", "µs a trial"], where_the_time_goes(bench, batch_size))
    print(json.dumps({name: round(f["ratio"], 4) for name, f in rates.items()}))


if __name__ == "__main__":
    main()
