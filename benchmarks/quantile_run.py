"""Processor seconds until a quantile of the critical radius of one network is known.

MNIST test images in a random order, the network run by onnxruntime, and the product's own search
(`CriticalQuantile`), attack and prover, on one core, with first bounds of sixteen images together.
A misclassified image has the radius 0. The bench is asked directly, so that this file needs no
study.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import surefoot as sf
from surefoot.core.procedure import Ask
from surefoot.core.tasks import Subject, Task
from surefoot.engine.batching import take_batch
from surefoot.engine.proof_bench import BuiltInProver, ProofBench
from surefoot.population import CriticalQuantileResult
from surefoot.verify import check_reader, read_network
from surefoot.verify.ball import InputSpace

Floats = NDArray[np.float64]
PRINTED = 50
"""Questions at a time, from which on progress is printed."""


@dataclass(frozen=True)
class Run:
    """The quantile with its brackets, and what they cost."""

    settled: CriticalQuantileResult
    seconds: float
    proofs: int
    misclassified: int


def read_images(data: Path, mnist: Path | None) -> tuple[Floats, NDArray[np.int64]]:
    """Pixels from 0 to 1 and labels, in a random order: all test images, or the 100 in `data`."""
    if mnist is None:
        table = np.loadtxt(data / "mnist_test_100.csv", delimiter=",")
        labels, pixels = table[:, 0].astype(np.int64), table[:, 1:]
    else:
        with np.load(mnist) as images:
            labels, pixels = images["y_test"].astype(np.int64), images["x_test"]
    order = np.random.default_rng(1).permutation(len(labels))
    return pixels[order].reshape(len(order), -1) / 255.0, labels[order]


def known_within(
    path: Path, images: tuple[Floats, NDArray[np.int64]], method: sf.methods.CriticalQuantile
) -> Run:
    """Run the method on the images, in their order."""
    model, network = sf.load_model(path, bounds=(0, 1)), read_network(path)
    check_reader(network, path)
    pixels, truths = images
    inputs = sf.load_inputs(
        pixels.astype(np.float32).reshape(-1, *model.signature.shape), np.asarray(truths)
    )
    bench = ProofBench(
        inputs, truths, model, BuiltInProver(network), InputSpace(), method.tolerance,
        method.efforts, seed=0,
    )  # fmt: skip
    whole = Subject("all inputs", tuple(range(method.size)))
    tried, proofs = set[int](), 0

    def task(ask: Ask) -> Task:
        start = ask.start or 0
        return Task(whole, ask.level, start, start + 1, ask.known)

    begun = time.process_time()
    session = sf.methods.Session(method)
    while (question := session.question) is not None:
        spent = time.process_time() - begun
        if len(question) > PRINTED:
            print(f"  {spent:,.0f} s: {len(tried):,} images, {proofs:,} proofs", flush=True)
        queue, answers = deque(map(task, question)), []
        while queue:
            answers += bench.answer(take_batch(queue, bench.batch_size(), 1))
        tried.update(t.start % method.size for t in map(task, question))
        proofs += sum((ask.start or 0) >= method.size for ask in question)
        session.tell(answers)
    missed = sum(bracket.interval.high == 0 for bracket in session.result.brackets)
    return Run(session.result, time.process_time() - begun, proofs, missed)
