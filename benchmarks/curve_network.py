"""The embedded network under perturbations of its inputs, for benchmarks/curves.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from asap import PublishedAsap
from curve_cases import Floats, Right

import surefoot as sf
from surefoot.engine.batching import fastest_batch_size
from surefoot.engine.loop import measure
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.evidence import Outcomes
from surefoot.executors import open_pool
from surefoot.inputs import fit
from surefoot.search import SequentialCurve
from surefoot.store.memory import MemoryJournal
from surefoot.subject import Inputs, Model, Perturbation
from surefoot.tasks import Subject, Task

SEED = 1
PERTURBATIONS: tuple[tuple[str, Perturbation, float, float], ...] = (
    ("Gaussian noise", sf.perturb.GaussianNoise(), 0, 0.5),
    ("compression", sf.perturb.JPEG(), 0, 1),
    ("horizontal translation", sf.perturb.TranslationX(), -0.5, 0.5),
    ("vertical translation", sf.perturb.TranslationY(), -0.5, 0.5),
    ("blur", sf.perturb.GaussianBlur(), 0, 3),
    ("brightness", sf.perturb.Brightness(), -0.5, 0.5),
    ("zoom", sf.perturb.Zoom(), 0, 1),
)


class Perturbed:
    """Which images the network gets right at a level; every level is computed once for all.

    An image meets the same noise at every level and in every order, so there is one truth.
    """

    def __init__(
        self,
        name: str,
        perturbation: Perturbation,
        span: tuple[float, float],
        model: Model,
        inputs: Inputs,
    ) -> None:
        self.name, self.perturbation = name, perturbation
        self.model, self.inputs = model, inputs
        self.low, self.high = span
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

    def in_order(self, seed: int) -> Callable[[float], Right]:
        """The same, by place in a random order."""
        order = np.random.default_rng(seed).permutation(len(self.inputs))
        return lambda level: self.right(level)[order]

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
            lambda n: self._bench.answer([Task(subject, self.high, 0, n)]), len(self.inputs)
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


def perturbed(file: Path, size: int, names: Sequence[str] = ()) -> Iterator[Perturbed]:
    """The first images of Fashion-MNIST's test set under these perturbations, or all."""
    model = sf.load_model(str(files("surefoot") / "data" / "fashion_cnn.onnx"), bounds=(0, 1))
    arrays = np.load(file)
    x = arrays["x_test"][:size].astype(np.float32) / 255
    inputs = fit(sf.load_inputs(x, arrays["y_test"][:size].astype(np.int64)), model.signature.shape)
    for name, perturbation, low, high in PERTURBATIONS:
        if names and name not in names:
            continue
        yield Perturbed(name, perturbation, (low, high), model, inputs)
