"""Linear bounds of a network over one box, proved in float64 with their rounding subtracted.

Every bound is computed in float64 and lowered by a proved limit of its own rounding error: a sum of
n products is off by at most n·2⁻⁵³ times the sum of their absolute values (Higham 2002, §3.1), so a
pass through the layers is off by at most
`rounding_unit`·Σ_j (|λ_j| + β_j)·(|v_j| + |W_j||h_{j−1}| + |b_j|), v_j and h_j taken at their
bounds over the box. Underflow costs a further constant, and what reading the file lost where it
multiplied layers out is subtracted in the same way (`RoundingLoss`). What is proved holds for the
network of the file in real arithmetic; a run of it in float32 rounds differently, and that is not
covered (`near_ties.py` looks for points where it matters).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.graph.network import Floats
from surefoot.verify.box import Box
from surefoot.verify.linear_relaxation import (
    ActivationLines,
    Array,
    BackwardPass,
    HiddenLayers,
    propagate_back,
)

_NEWTON_CAUTION = 1 - 1e-9
"""Factor on Newton's step, so that rounding of the step itself does not pass the root; what is
proved is evaluated anew, so it only affects tightness."""
_TINY = 1e-300
"""Divisor in place of a slope of 0, where the step is then cut to the radius of the box."""


@dataclass(frozen=True, eq=False)
class LayerBounds:
    """The hidden layers over a box, bounds of their undecided neurons, the rows of the margins.

    `sum_sizes` are the sums that each neuron is rounded in, `largest` the largest absolute inputs
    and outputs of each layer (no slope exceeds 1); `rounding_unit` and `underflow` limit what
    float64 loses.
    """

    box: Box
    layers: HiddenLayers
    layers_float32: HiddenLayers
    rows: Floats
    offsets: Floats
    lower: Floats
    upper: Floats
    slope: Floats
    sum_sizes: tuple[Floats, ...]
    largest: tuple[Floats, ...]
    rounding_unit: float
    underflow: float

    @property
    def depth(self) -> int:
        """How many hidden layers there are."""
        return len(self.layers.weights)


@dataclass(frozen=True, eq=False)
class LinearBounds:
    """margin ≥ a·x + c over the box, for each node, after rounding is subtracted."""

    a: Floats
    c: Floats


def proved_linear_bounds(
    bounds: LayerBounds,
    depth: int,
    rows: Floats,
    constant: Floats,
    lines: ActivationLines,
    alpha: Array,
    signed_beta: Array | None,
) -> LinearBounds:
    """Linear lower bounds of the rows in the input, in float64, true for any α and any β ≥ 0."""
    layers = bounds.layers
    inside = np.clip(alpha.astype(np.float64), lines.least_slope, lines.most_slope)
    beta = None if signed_beta is None else signed_beta.astype(np.float64)
    backward = propagate_back(layers, depth, rows, constant, lines, inside, beta)
    a = backward.sum_coefficients[0] @ layers.weights[0]
    c = backward.constant + backward.sum_coefficients[0] @ layers.bias[0]
    return LinearBounds(a, c - _rounding_limit(bounds, backward, constant, beta) - bounds.underflow)


def _rounding_limit(
    bounds: LayerBounds, backward: BackwardPass, constant: Floats, signed_beta: Floats | None
) -> Floats:
    total = np.abs(constant)
    for j, coefficients in enumerate(backward.output_coefficients):
        total = total + np.abs(coefficients) @ bounds.sum_sizes[j]
        if signed_beta is not None:
            cols = bounds.layers.columns[j]
            own_sizes = bounds.sum_sizes[j][: cols.stop - cols.start]
            total = total + np.abs(signed_beta[:, cols]) @ own_sizes
    return np.asarray(bounds.rounding_unit * total)


def proved_radius(box: Box, linear_bounds: LinearBounds, start: Floats, steps: int = 2) -> Floats:
    """For each bound the radius up to which it is positive, from below; 0 where there is none.

    The minimum is convex and falls with the radius, so Newton's steps from the left stay left.
    `start`: radii to begin from, each already known or 0.
    """
    proved, radius = np.zeros(len(linear_bounds.c)), start
    for _ in range(steps):
        least, slope = box.least(linear_bounds.a, linear_bounds.c, radius)
        proved = np.where(least > 0, np.maximum(proved, radius), proved)
        step = least * _NEWTON_CAUTION / np.maximum(slope, _TINY)
        radius = np.where(least > 0, np.minimum(radius + step, box.radius), 0.0)
    least, _ = box.least(linear_bounds.a, linear_bounds.c, radius)
    return np.where(least > 0, np.maximum(proved, radius), proved)
