"""The embedded network under perturbations of its inputs, for benchmarks/curves.py."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from asap import PublishedAsap
from curve_cases import Answer, Floats, Right, Run, scored

import surefoot as sf
from surefoot.core.counts import Outcomes
from surefoot.core.tasks import Subject, Task
from surefoot.curves import SequentialCurve
from surefoot.engine.batching import fastest_batch_size
from surefoot.engine.loop import measure
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.executors.pool import open_pool
from surefoot.inputs import fit
from surefoot.records.record import Curves
from surefoot.store import MemoryJournal
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, Perturbation

SEED = 1
ASAP, OURS = "ASAP, published", "ours, default"
THRESHOLDS = (0.8, 0.6)
PERTURBATIONS: dict[str, tuple[Perturbation, float, float]] = {
    "Gaussian noise": (sf.perturb.GaussianNoise(), 0, 0.5),
    "compression": (sf.perturb.JPEG(), 0, 1),
    "horizontal translation": (sf.perturb.TranslationX(), -0.5, 0.5),
    "vertical translation": (sf.perturb.TranslationY(), -0.5, 0.5),
    "blur": (sf.perturb.GaussianBlur(), 0, 3),
    "brightness": (sf.perturb.Brightness(), -0.5, 0.5),
    "zoom": (sf.perturb.Zoom(), 0, 1),
}
DRAWS = "Gaussian noise"
QUICK = ("blur", "brightness")
NOISE_SEEDS = range(1, 11)
NOISE_THRESHOLD = 0.8


class Perturbed:
    """Which images the network gets right at a level; every level is computed once for all.

    An image meets the same noise at every level and in every order, so there is one truth.
    """

    def __init__(self, name: str, model: Model, inputs: Inputs) -> None:
        self.name = name
        self.perturbation, self.low, self.high = PERTURBATIONS[name]
        self.model, self.inputs = model, inputs
        self.everyone = Subject("all", tuple(range(len(inputs))))
        self._bench = self.bench(Outcomes)
        self._right_by_level: dict[float, Right] = {}

    def bench(self, collect: type[Any]) -> SamplingBench[Any]:
        """Right or wrong by the true label."""
        labels = self.inputs.labels
        assert labels is not None
        return SamplingBench(
            self.inputs,
            labels,
            self.model,
            self.perturbation,
            sf.properties.TrueLabel(),
            collect,
            SEED,
        )

    def right(self, level: float) -> Right:
        """By image."""
        if level not in self._right_by_level:
            task = Task(self.everyone, level, 0, len(self.inputs))
            self._right_by_level[level] = self._bench.answer([task])[0].goodness > 0
        return self._right_by_level[level]

    def in_order(self, seed: int) -> Answer:
        """The same, by place in a random order."""
        order = np.random.default_rng(seed).permutation(len(self.inputs))
        return lambda level, start, units: self.right(level)[order[start : start + units]]

    def accuracies(self, shares: Floats) -> Floats:
        """At levels that are shares of the range."""
        levels = self.low + shares * (self.high - self.low)
        return np.array([self.right(level).mean() for level in levels.tolist()])

    def timed(self, asap: PublishedAsap, ours: SequentialCurve) -> list[str]:
        """Images and seconds of both, through the engine, and their ratios."""
        images, seconds = [], []
        order = np.random.default_rng(SEED).permutation(len(self.inputs))
        subject = Subject("all", tuple(order.tolist()))
        batch_size = fastest_batch_size(
            lambda n: self._bench.answer([Task(subject, self.high, 0, n)]),
            largest=len(self.inputs),
        )
        for procedure in (asap, ours):
            bench = self.bench(procedure.evidence)
            with open_pool(1) as pool:
                begun = time.perf_counter()
                results = measure(
                    procedure,
                    bench,
                    [subject],
                    pool=pool,
                    journal=MemoryJournal(),
                    batch_size=batch_size,
                    block=bench.block,
                )
                seconds.append(time.perf_counter() - begun)
            images.append(results[0].trials)
        return [
            f"{images[0]:,}", f"{images[1]:,}", f"{images[0] / images[1]:.1f}",
            f"{seconds[0]:.2f}", f"{seconds[1]:.2f}", f"{seconds[0] / seconds[1]:.1f}",
        ]  # fmt: skip


def truth(
    accuracy: Callable[[Floats], Floats], rough: Floats, threshold: float, finer: int
) -> tuple[float, float]:
    """The robustness from accuracies on an even grid of shares, and how far that may be off.

    The grid is cut finer beside every crossing on it: off by half a step of that for each.
    """
    cells = len(rough) - 1
    shares = np.linspace(0, 1, cells + 1)
    turns = np.flatnonzero(np.diff(rough >= threshold))
    near = np.unique(np.clip(turns[:, None] + np.arange(-2, 3), 0, cells - 1))
    inside = np.arange(1, finer) / finer
    fine = ((near[:, None] + inside) / cells).ravel()
    if len(fine):
        order = np.argsort(every := np.concatenate([shares, fine]))
        shares, rough = every[order], np.concatenate([rough, accuracy(fine)])[order]
    above = rough >= threshold
    value = float(np.sum(np.diff(shares) * (above[1:].astype(float) + above[:-1]) / 2))
    crossings = int(np.count_nonzero(np.diff(above)))
    return value, max(1, crossings) / cells / finer / 2


@lru_cache(maxsize=1)
def embedded() -> Model:
    """The network that comes with the package."""
    return sf.load_model(str(files("surefoot") / "data" / "fashion_cnn.onnx"), bounds=(0, 1))


def network_runs(
    name: str, file: Path, quick: bool, orders: range
) -> tuple[list[dict[str, Run]], list[list[str]]]:
    """ASAP and ours under one perturbation, on the first test images, in each of these orders."""
    size, cells, finer = (250, 64, 4) if quick else (1000, 256, 8)
    arrays = np.load(file)
    x = arrays["x_test"][:size].astype(np.float32) / 255
    labels = arrays["y_test"][:size].astype(np.int64)
    world = Perturbed(name, embedded(), fit(sf.load_inputs(x, labels), embedded().signature.shape))
    rough = world.accuracies(np.linspace(0, 1, cells + 1))
    results, times = [], []
    for threshold in THRESHOLDS:
        true, off = truth(world.accuracies, rough, threshold, finer)
        ours = SequentialCurve(world.low, world.high, (threshold,), size=size)
        asap = PublishedAsap(world.low, world.high, threshold, size)
        case = f"{name} at {threshold:g}"
        for order in orders:
            answer = world.in_order(order)
            both = {ASAP: asap, OURS: ours}
            results.append({n: scored(case, p, answer, true, off) for n, p in both.items()})
        times.append([case, *world.timed(asap, ours)])
    return results, times


def noise_intervals(quick: bool) -> list[list[float]]:
    """Seed and ends of the interval under Gaussian noise, on the images of the demo."""
    inputs = sf.load_inputs(str(files("surefoot") / "data" / "fashion_test.npz"))
    rows = []
    for seed in NOISE_SEEDS[:3] if quick else NOISE_SEEDS:
        study = sf.Study(
            embedded(),
            inputs,
            sf.perturb.GaussianNoise(),
            SequentialCurve(0.0, 0.5, (NOISE_THRESHOLD,)),
            property=sf.properties.TrueLabel(),
            seed=seed,
        )
        details = study.run().details
        assert isinstance(details, Curves)
        interval = details.curve.readings[0].interval
        rows.append([seed, interval.low, interval.high, details.curve.trials])
    return rows
