"""Small worlds for tests: a linear model, a few inputs, a study over them."""

from __future__ import annotations

import numpy as np

import surefoot as sf
from surefoot.subject import Inputs, Model

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
        "procedure": sf.BuSun(0.1, 0.1),
        "seed": 1,
    }
    return sf.Study(**{**parts, **changes})
