"""How far the model as run in float32 is from the network that proofs are about: a measurement.

Proofs hold for the network of the file in real arithmetic. float64 stands for it here, whose own
rounding is 2⁻²⁹ of float32's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.graph.network import Floats, Network
from surefoot.verify.margin_descent import Float32Array
from surefoot.verify.near_ties import points_near_ties
from surefoot.verify.one_thread import one_blas_thread

Outputs = Callable[[Float32Array], NDArray[np.floating]]


class PointKind(StrEnum):
    """Where a difference was measured."""

    CLEAN = "a clean input"
    RANDOM = "a random point of the box"
    NEAR_TIE = "a point near a tie"


@dataclass(frozen=True)
class LargestDifference:
    """The largest of some differences, of which input, and where."""

    value: float
    input: int
    place: PointKind


@dataclass(frozen=True)
class MarginDifference:
    """Margins as run against margins in real arithmetic, at the points that were tried.

    `absolute` is in the unit of the file's output; `relative` is a share of the clean input's own
    margin. `labels` counts points whose label differs. A measurement, which bounds nothing.
    """

    absolute: LargestDifference
    relative: LargestDifference
    labels: int
    points: int

    @property
    def sentence(self) -> str:
        """What was measured, and that it assures nothing."""
        return (
            f"On {self.points:,} points tried, margins as run in float32 differ from real "
            f"arithmetic by up to {self.relative.value:.1e} of the clean margin (at "
            f"{self.relative.place} of input {self.relative.input}), and {self.labels:,} labels "
            "differ. Other points were not tried and may differ more."
        )


@one_blas_thread()
def margin_difference(
    network: Network,
    outputs: Outputs,
    x: NDArray[np.floating],
    radius: float,
    bounds: Interval,
    *,
    seed: int = 0,
    draws: int = 32,
) -> MarginDifference:
    """Margins as run and in real arithmetic compared at inputs, random points and near ties.

    `outputs` is the model as run, of a batch; `draws` random points and as many near ties are tried
    within `radius` of each of the inputs `x`.
    """
    if not len(x) or draws < 1 or not radius > 0:
        raise InvalidArgument(
            f"a comparison needs inputs, draws ≥ 1 and a radius above 0, got {len(x)} inputs, "
            f"{draws} draws and radius {radius}"
        )
    rng = np.random.default_rng(seed)
    absolute = relative = LargestDifference(-1.0, 0, PointKind.CLEAN)
    labels = points = 0
    for i, one in enumerate(x):
        clean = np.asarray(one, np.float32)
        real = network.outputs(clean[None])[0]
        label = int(real.argmax())
        margin = real[label] - np.delete(real, label).max()
        for place, batch in _points(network, clean, label, radius, bounds, rng, draws).items():
            difference, other = _largest_difference(network, outputs, batch, label)
            labels, points = labels + other, points + len(batch)
            share = 0.0 if difference == 0 else difference / margin if margin > 0 else np.inf
            absolute = max(
                absolute, LargestDifference(difference, i, place), key=lambda one: one.value
            )
            relative = max(relative, LargestDifference(share, i, place), key=lambda one: one.value)
    return MarginDifference(absolute, relative, labels, points)


def _points(
    network: Network,
    clean: Float32Array,
    label: int,
    radius: float,
    bounds: Interval,
    rng: np.random.Generator,
    draws: int,
) -> dict[PointKind, Float32Array]:
    wide = clean.astype(np.float64)
    low, high = np.maximum(wide - radius, bounds.low), np.minimum(wide + radius, bounds.high)
    random = rng.uniform(low, high, (draws, *clean.shape)).astype(np.float32)
    near = points_near_ties(network, clean, label, radius, bounds, rng, draws)
    return {
        PointKind.CLEAN: clean[None],
        PointKind.RANDOM: random,
        PointKind.NEAR_TIE: near.reshape(-1, *clean.shape),
    }


def _largest_difference(
    network: Network, outputs: Outputs, batch: Float32Array, label: int
) -> tuple[float, int]:
    """The largest difference of a margin to the label, and how many labels differ."""
    run = np.asarray(outputs(batch), np.float64)
    real = network.outputs(batch)
    with np.errstate(invalid="ignore"):
        difference = np.abs(_margins_to(run, label) - _margins_to(real, label)).max()
    other = int((run.argmax(axis=1) != real.argmax(axis=1)).sum())
    return float(difference) if np.isfinite(difference) else np.inf, other


def _margins_to(scores: Floats, label: int) -> Floats:
    return scores[:, label, None] - scores
