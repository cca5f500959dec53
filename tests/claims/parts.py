"""What worlds are built of: models whose failure probabilities and radii are known exactly."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

import surefoot as sf
from surefoot.core.results import Interval
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, View

Floats = np.ndarray
QUICK: dict[str, Any] = {"workers": 1, "batch": 4096}
"""How every world runs its study: no worker threads, no timing of batches."""


def signs(batch: Floats) -> Floats:
    """Class 1 where the first value is positive."""
    margin = batch[:, 0].astype(np.float64)
    return np.stack([-margin, margin], axis=1)


@lru_cache(maxsize=8)
def sign_model(column: int = 0, bounds: tuple[float, float] | None = None) -> Model:
    """Looks at one column alone."""
    return sf.load_model(lambda batch: signs(batch[:, column:]), shape=(2,), bounds=bounds)


def normal_inputs(*failing: Floats, labels: Sequence[int] | None = None) -> Inputs:
    """Points that fail under standard normal noise with these probabilities, one row a column.

    The true label is class 1; a label of its own kind is kept for `by_class` in the second value.
    """
    columns = [-ndtri(np.clip(p, 1e-12, 1 - 1e-12)) for p in failing]
    x = np.stack(columns if len(columns) == 2 else [columns[0], np.zeros(len(columns[0]))], axis=1)
    return sf.load_inputs(x.astype(np.float32), np.ones(len(x), int) if labels is None else labels)


def noise_study(failing: Floats, method: Any, seed: int, **changes: Any) -> sf.Study:
    """Every input fails with its own known probability.

    The true label as a `TopK` of one: the same trials, whose mean is claimed as a failure
    probability; `accuracy.py` has the worlds of accuracy.
    """
    return sf.Study(
        changes.pop("model", sign_model()),
        changes.pop("inputs", None) or normal_inputs(failing),
        sf.perturb.GaussianNoise(1.0),
        method,
        property=changes.pop("property", sf.properties.TopK(1)),
        seed=seed,
        **changes,
    )


def model_studies(
    columns: Sequence[Floats], method: Any, seed: int, inputs: Inputs, **more: Any
) -> dict[str, sf.Study]:
    """Two models on the same inputs, each with a column of their failure probabilities."""
    return {
        name: noise_study(p, method, seed, inputs=inputs, model=sign_model(i), **more)
        for i, (name, p) in enumerate(zip("ab", columns, strict=True))
    }


@dataclass(frozen=True)
class Shift:
    """Subtracts the level from every value; nothing is drawn."""

    level: float | None = None
    kind: ClassVar[str] = "shift"
    phrase: ClassVar[str] = "every value less {level}"
    view: ClassVar[View] = View.VALUES

    def levels(self, bounds: Interval | None) -> Interval:
        return Interval(-10.0, 10.0)

    def draw(self, stream: Any, n: int, shape: tuple[int, ...]) -> Any:
        return np.zeros((n, 0), np.float32)

    def apply(self, x: Any, drawn: Any, level: Any, bounds: Interval | None) -> Any:
        n = max(len(x), len(drawn))
        lowered = np.broadcast_to(x, (n, *x.shape[1:])) - np.reshape(level, (-1, 1))
        return lowered.astype(np.float32)


def shift_study(critical: Floats, method: Any, seed: int) -> sf.Study:
    """Input i is right below its critical level and wrong from it on."""
    x = np.stack([critical, np.zeros(len(critical))], axis=1).astype(np.float32)
    inputs = sf.load_inputs(x, np.ones(len(x), int))
    return sf.Study(
        sign_model(), inputs, Shift(), method, property=sf.properties.TrueLabel(), seed=seed
    )


@lru_cache(maxsize=4)
def line_model(column: int = 0) -> Model:
    """An ONNX network of one line: class 1 where its column exceeds 1/2, so radii are distances."""
    weights = np.zeros((2, 2), np.float32)
    weights[column] = (-1.0, 1.0)
    return linear_model(weights, np.array([0.5, -0.5], np.float32))


def linear_model(weights: np.ndarray, bias: np.ndarray) -> Model:
    """An ONNX network of one layer, two values in."""
    from tests.unit.float32_networks import onnx_chain

    path = Path(mkdtemp()) / "line.onnx"
    path.write_bytes(onnx_chain([(weights.T, bias)]))
    return sf.load_model(path, bounds=(0.0, 1.0))


def line_inputs(*radii: Floats) -> Inputs:
    """Points at these distances above 1/2; wrong when clean where the distance is 0 or less."""
    columns = [0.5 + np.clip(r, -0.5, 0.5) for r in radii]
    x = np.stack(columns if len(columns) == 2 else [columns[0], np.full(len(columns[0]), 0.9)], 1)
    return sf.load_inputs(x.astype(np.float32), np.ones(len(x), int))


def radius_study(method: Any, inputs: Inputs, seed: int, column: int = 0, **more: Any) -> sf.Study:
    """Critical radii that are known."""
    level = more.pop("level", None)
    return sf.Study(
        line_model(column), inputs, sf.perturb.LinfNoise(level), method,
        property=sf.properties.TrueLabel(), seed=seed, **more,
    )  # fmt: skip
