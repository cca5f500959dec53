"""Small worlds for tests: a linear model, a few inputs, a study over them."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.procedure import Pinned
from surefoot.engine import loop
from surefoot.engine.loop import measure
from surefoot.executors.pool import Inline
from surefoot.store import MemoryJournal
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model

SHAPE = (6,)


def linear(x: np.ndarray) -> np.ndarray:
    """Two classes: the sign of the sum."""
    total = x.astype(np.float64).sum(axis=1)
    return np.stack([total, -total], axis=1)


def linear_model(bounds: tuple[float, float] | None = None) -> Model:
    return sf.load_model(linear, shape=SHAPE, bounds=bounds)


def points(n: int = 12, seed: int = 7) -> Inputs:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, *SHAPE)).astype(np.float32)
    labels = linear(x).argmax(axis=1)
    return sf.load_inputs(x, labels, ids=[f"p{i}" for i in range(n)])


def study(**changes: object) -> sf.Study:
    parts: dict[str, object] = {
        "model": linear_model(),
        "inputs": points(),
        "perturbation": sf.perturb.LinfNoise(0.4),
        "method": sf.methods.BuSun(0.1, 0.1),
        "property": sf.properties.SameLabel(),
        "seed": 1,
    }
    return sf.Study(**{**parts, **changes})


@contextmanager
def every_batch_watched() -> Iterator[None]:
    """Progress is reported after every batch, however quick it was and however long a report."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_PROGRESS_INTERVAL_SECONDS", 0.0)
        patch.setattr(loop, "_PROGRESS_SHARE", 1e9)
        yield


EXAMPLES = {"hue": 40.0, "rotation": 15.0, "shear": 10.0, "gain": 6.0, "table": 1.0}
"""Levels in units other than shares."""


def example(kind: str) -> object:
    """A perturbation of the catalogue at a middling level."""
    from surefoot.catalogue.registry import PERTURBATIONS
    from surefoot.perturb import Feature

    perturbation = PERTURBATIONS[kind]
    presets = getattr(perturbation, "presets", None)
    level = presets["small"][2] if presets else EXAMPLES.get(kind, 0.2)
    if kind != "table":
        return perturbation(level)
    whole, choice = Feature("b", noise=2.0, whole=True), Feature("c", noise=0.3, values=(0, 1, 2))
    return perturbation(level, features=(Feature("a", noise=0.1), whole, choice, *EVEN))


EVEN = tuple(sf.perturb.Feature(f"x{i}", noise=0.05) for i in range(3))


def run(setup=None, *, pool=None, journal=None, batch_size=64, subjects=None, bench=None, **more):
    setup = setup or study()
    bench = bench or setup.bench()
    return measure(
        Pinned(setup.method, setup.level),
        bench,
        subjects or setup.fitted.subjects(),
        pool=pool or Inline(),
        journal=journal or MemoryJournal(),
        batch_size=batch_size,
        block=bench.block,
        **more,
    )


class Spy:
    """Passes tasks on and remembers them."""

    def __init__(self, bench):
        self.bench, self.batches, self.block = bench, [], bench.block

    def answer(self, tasks):
        self.batches.append(list(tasks))
        return self.bench.answer(tasks)

    @property
    def trials(self):
        return [
            (t.subject.name, t.level, i)
            for batch in self.batches
            for t in batch
            for i in range(t.start, t.stop)
        ]
