"""Processor seconds until a quantile of the critical radius of one network is known.

MNIST test images in a random order, the network run by onnxruntime, and the product's own search
(`CriticalQuantile`), attack and prover, one image after the other on one core. A misclassified
image has the radius 0. The prover is called directly, so that this file needs no study.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

import surefoot as sf
from surefoot.core.counts import Proof
from surefoot.core.procedure import Ask
from surefoot.engine.proof_bench import decode_point, encode_point
from surefoot.population import CriticalQuantileResult
from surefoot.verify import Network, bracket_radius, check_reader, read_network

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


def opened(path: Path) -> tuple[Network, Callable[[Floats], int]]:
    """The layers, compared with the file; and the label that onnxruntime gives a point."""
    network = read_network(path)
    check_reader(network, path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = session.get_inputs()[0]

    def label(x: Floats) -> int:
        batch = x.astype(np.float32).reshape([d if isinstance(d, int) else 1 for d in feed.shape])
        return int(session.run(None, {feed.name: batch})[0].argmax())

    return network, label


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
    network, label = opened(path)
    pixels, truths = images
    known: dict[int, Proof] = {}
    proofs = 0

    def answer(ask: Ask) -> Proof:
        nonlocal proofs
        i, before = ask.start % method.size, known.get(ask.start % method.size)
        proofs += ask.start >= method.size
        limit = method.efforts[ask.start // method.size].seconds
        left = limit - (before.seconds if before else 0.0)
        bracket = bracket_radius(
            network,
            pixels[i],
            int(truths[i]),
            tolerance=method.tolerance,
            seconds=max(left, 0.01),
            goal=ask.level,
            replay=label,
            clock=time.thread_time,
            known=(0.0, None) if before is None else (before.low, _point(before)),
        )
        high = bracket.high if np.isfinite(bracket.high) else None
        witness = "" if bracket.witness is None else encode_point(bracket.witness)
        proof = Proof(bracket.low, high, witness, bracket.reason, bracket.nodes, bracket.seconds)
        known[i] = proof if before is None else before + proof
        return proof

    begun = time.process_time()
    session = sf.methods.Session(method)
    while (question := session.question) is not None:
        spent = time.process_time() - begun
        if len(question) > PRINTED:
            print(f"  {spent:,.0f} s: {len(known):,} images, {proofs:,} proofs", flush=True)
        session.tell([answer(ask) for ask in question])
    missed = sum(proof.far == 0 for proof in known.values())
    return Run(session.result, time.process_time() - begun, proofs, missed)


def _point(proof: Proof) -> Floats | None:
    return decode_point(proof.witness) if proof.witness else None
