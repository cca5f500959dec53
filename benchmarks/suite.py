"""A suite beside a plain loop over the same perturbed batches, and its trials against one pass.

300 images of CIFAR's size and the 75 cells of `corruptions`. The loop perturbs all images with the
same code, asks the model and counts, in each cell as many trials as the suite took there, without
names for random numbers, intervals or a store. Each has a fresh process with model and data in it.
`over_loop` is the processor time of the loop over that of the suite, all checks included. `passes`
is how many trials the suite took for each image and cell: one fixed pass takes 1, and knows each
cell to `one_pass` only.

    python benchmarks/suite.py [FOLDER WITH test.npz AND model.onnx] [--quick]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import surefoot as sf
from surefoot.catalogue.suites import SUITES, Suite
from surefoot.core.counts import Counts
from surefoot.engine.streams import stream
from surefoot.statistics.bounds import clopper_pearson
from surefoot.statistics.counted import unequal_error

LEAST = 0.85
IMAGES, QUICK_IMAGES = 300, 100
PRECISION, QUICK_PRECISION = 0.02, 0.06
WIDTHS, DEPTH = (16, 32, 64), 6
"""Channels and convolutions of each stage: the work of ResNet-20, the small network for CIFAR."""


def network(path: Path) -> None:
    """Nineteen convolutions and a line on top, with random weights: answers do not matter."""
    rng = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"
    channels = (3, WIDTHS[0], *(width for width in WIDTHS for _ in range(DEPTH)))
    for i, (wide, out) in enumerate(pairwise(channels)):
        w = rng.normal(0, (2 / (9 * wide)) ** 0.5, (out, wide, 3, 3)).astype(np.float32)
        weights.append(numpy_helper.from_array(w, f"w{i}"))
        stride = [2, 2] if wide in WIDTHS and out > wide else [1, 1]
        nodes += [
            helper.make_node(
                "Conv",
                [last, f"w{i}"],
                [f"c{i}"],
                kernel_shape=[3, 3],
                pads=[1] * 4,
                strides=stride,
            ),
            helper.make_node("Relu", [f"c{i}"], [f"r{i}"]),
        ]
        last = f"r{i}"
    top = rng.normal(0, 1, (WIDTHS[-1], 10)).astype(np.float32)
    weights.append(numpy_helper.from_array(top, "top"))
    nodes += [
        helper.make_node("GlobalAveragePool", [last], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("MatMul", ["flat", "top"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 32, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])], weights,
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, path)


def files(folder: Path, number: int) -> tuple[Path, Path]:
    """A network, and smooth random images that it mostly knows: the label is its own answer."""
    model, data = folder / "model.onnx", folder / "test.npz"
    network(model)
    rng = np.random.default_rng(1)
    coarse = rng.random((number, 3, 5, 5))
    x = np.clip(np.kron(coarse, np.ones((7, 7)))[..., :32, :32], 0, 1).astype(np.float32)
    y = sf.load_model(model, bounds=(0, 1)).predict(x).argmax(axis=1)
    np.savez(data, x=x, y=y)
    return model, data


def loop_seconds(
    model_file: Path, data_file: Path, images: int, trials: Mapping[str, int]
) -> float:
    """Processor seconds of as many trials in each cell, pass after pass over all images.

    In a process of its own: what is made once, such as a kernel, is made by the loop too.
    """
    model, inputs = sf.load(model_file, data_file, bounds=(0, 1), first=images)
    cells = Suite("", SUITES["corruptions"]).perturbations(inputs.frame)
    bounds = model.signature.bounds
    start = time.process_time()
    for name, number in trials.items():
        cell: Any = cells[name]
        for begun in range(0, number, images):
            x, labels = inputs.x[: number - begun], inputs.labels[: number - begun]
            drawn = cell.draw(stream(begun, name, cell.kind, 0, x), len(x), x.shape[1:])
            answers = model.predict(model.place(cell.apply(x, drawn, cell.level, bounds)))
            int((answers.argmax(axis=1) == labels).sum())
    return time.process_time() - start


def main() -> None:
    """Print both, and the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    number = QUICK_IMAGES if given.quick else IMAGES
    precision = QUICK_PRECISION if given.quick else PRECISION
    with tempfile.TemporaryDirectory() as place:
        model_file, data_file = (
            (given.folder / "model.onnx", given.folder / "test.npz")
            if given.folder
            else files(Path(place), number)
        )
        model, inputs = sf.load(model_file, data_file, bounds=(0, 1), first=number)
        store = str(Path(place) / "suite.db")
        start = time.process_time()
        result = sf.suite(
            model, inputs, suite="corruptions", precision=precision, store=store, workers=1,
            progress=False,
        )  # fmt: skip
        seconds = time.process_time() - start
        taken = {name: part.record.trials for name, part in result.parts.items()}
        with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
            loop = fresh.submit(loop_seconds, model_file, data_file, number, taken).result()
    cells, x = len(taken), inputs.x
    trials, mean = result.record.trials, result.claims[0]
    passes = trials / len(x) / cells
    half = clopper_pearson(Counts(len(x), len(x) // 2), unequal_error(0.05 / 61)).width / 2
    print(f"{len(x)} images, {cells} cells, {trials:,} trials: {passes:.1f} passes")
    print(f"suite {seconds:.1f} s ({trials / seconds:,.0f} trials per second), loop {loop:.1f} s")
    print(f"each cell to ± {precision}; one pass would know it to ± {half:.3f}")
    figures = {
        "over_loop": round(loop / seconds, 3), "least": LEAST, "passes": round(passes, 2),
        "mean_half_width": round(mean.interval.width / 2, 5), "precision": precision,
        "one_pass": round(half, 4), "trials": trials, "seconds": round(seconds, 1),
    }  # fmt: skip
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
