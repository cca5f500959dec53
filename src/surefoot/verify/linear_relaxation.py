"""Linear bounds of a network over a box: relaxations of ReLU, and what they prove."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.network import Floats

_ROWS_IN_CACHE = 32
"""Rows treated at once, so that the intermediate arrays of an image stay in the processor's cache.
Chosen by hand; results do not depend on it, only the time."""


@dataclass(frozen=True, eq=False)
class Box:
    """All points within `radius` of `x` and within [low, high]."""

    x: Floats
    radius: float
    low: float
    high: float

    @property
    def lower(self) -> Floats:
        """The lower corner."""
        return np.maximum(self.x - self.radius, self.low)

    @property
    def upper(self) -> Floats:
        """The upper corner."""
        return np.minimum(self.x + self.radius, self.high)

    def worst(self, a: Floats) -> Floats:
        """The points at which a·x is smallest, one for each row of `a`."""
        return np.where(a > 0, self.lower, self.upper)

    def floor(self, a: Floats, c: Floats) -> Floats:
        """The minima of a·x + c over the whole box."""
        lower, upper = self.lower, self.upper
        return c + a @ ((lower + upper) / 2) - np.abs(a) @ ((upper - lower) / 2)

    def least(self, a: Floats, c: Floats, radius: Floats) -> tuple[Floats, Floats]:
        """The minima of a·x + c within `radius` of x, and how fast they fall with it."""
        value, falling = a @ self.x + c, np.empty(len(c))
        for i in range(0, len(c), _ROWS_IN_CACHE):
            part = slice(i, i + _ROWS_IN_CACHE)
            size = np.abs(a[part])
            room = np.where(a[part] > 0, self.x - self.low, self.high - self.x)
            near = np.minimum(room, radius[part, None])
            value[part] -= np.einsum("ij,ij->i", size, near)
            size *= room > near
            falling[part] = size.sum(axis=1)
        return value, falling


Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class HiddenLayers:
    """Hidden layers over a box, in one precision; undecided neurons come first in each layer.

    `slope` holds the slope of the decided neurons; `columns` where a layer's undecided ones stand.
    """

    weights: tuple[Array, ...]
    bias: tuple[Array, ...]
    slope: tuple[Array, ...]
    columns: tuple[slice, ...]
    centre: Array
    half_width: Array

    @cached_property
    def sums_at_centre(self) -> Array:
        """The first layer's sums at the centre."""
        return np.asarray(self.bias[0] + self.weights[0] @ self.centre)

    @cached_property
    def scaled_weights(self) -> Array:
        """The first layer's weights times the half widths of the box."""
        return np.asarray(self.weights[0] * self.half_width)

    def float32(self) -> HiddenLayers:
        """The same in float32, for searching."""
        return HiddenLayers(
            _as_float32(self.weights),
            _as_float32(self.bias),
            _as_float32(self.slope),
            self.columns,
            self.centre.astype(np.float32),
            self.half_width.astype(np.float32),
        )


def _as_float32(parts: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(part.astype(np.float32) for part in parts)


@dataclass(frozen=True, eq=False)
class ActivationLines:
    """Lines around undecided neurons, (nodes or 1, columns).

    A neuron's output is at most `upper_slope`·v + `upper_offset`; below it lies a line through 0 of
    any slope from `least_slope` to `most_slope`.
    """

    upper_slope: Array
    upper_offset: Array
    least_slope: Array
    most_slope: Array

    def take(self, index: NDArray[Any]) -> ActivationLines:
        """The lines of some nodes."""
        if len(self.upper_slope) == 1:
            return self
        return ActivationLines(
            self.upper_slope[index],
            self.upper_offset[index],
            self.least_slope[index],
            self.most_slope[index],
        )

    def astype(self, kind: type[np.floating[Any]]) -> ActivationLines:
        """The same in another precision."""
        return ActivationLines(
            self.upper_slope.astype(kind),
            self.upper_offset.astype(kind),
            self.least_slope.astype(kind),
            self.most_slope.astype(kind),
        )


def activation_lines(lower: Array, upper: Array, slope: Array) -> ActivationLines:
    """The chord above max(v, slope·v) on [lower, upper] and the range of slopes below it."""
    undecided = (lower < 0) & (upper > 0)
    width = np.where(undecided, upper - lower, 1.0)
    decided = np.where(lower >= 0, 1.0, slope)
    above = np.where(undecided, (upper - slope * lower) / width, decided)
    lift = np.where(undecided, lower * (slope - above), 0.0)
    least = np.where(undecided, slope, decided)
    most = np.where(undecided, 1.0, decided)
    return ActivationLines(above, lift, least, most)


@dataclass(frozen=True, eq=False)
class BackwardPass:
    """rows·h ≥ sum_coefficients[0]·v_0 + constant, where v_0 are the first layer's sums.

    `output_coefficients[j]` multiply the outputs of layer j, `sum_coefficients[j]` its sums.
    """

    output_coefficients: list[Array]
    sum_coefficients: list[Array]
    constant: Array


def propagate_back(
    layers: HiddenLayers,
    depth: int,
    rows: Array,
    constant: Array,
    lines: ActivationLines,
    alpha: Array,
    signed_beta: Array | None,
) -> BackwardPass:
    """Bound rows·h, h the outputs of layer `depth` − 1, by the sums of the first layer."""
    after: list[Array] = [rows] * depth
    before: list[Array] = [rows] * depth
    coefficients = rows
    for j in range(depth - 1, -1, -1):
        cols = layers.columns[j]
        m = cols.stop - cols.start
        z = coefficients * layers.slope[j]
        below = np.minimum(coefficients[:, :m], 0.0)
        constant = constant + (below * lines.upper_offset[:, cols]).sum(axis=1)
        z[:, :m] = (
            below * lines.upper_slope[:, cols] + (coefficients[:, :m] - below) * alpha[:, cols]
        )
        if signed_beta is not None:
            z[:, :m] -= signed_beta[:, cols]
        after[j], before[j] = coefficients, z
        if j:
            constant = constant + z @ layers.bias[j]
            coefficients = z @ layers.weights[j]
    return BackwardPass(after, before, constant)


@dataclass(frozen=True, eq=False)
class BoundGradient:
    """The bound at the box's radius and its gradient."""

    value: Array
    alpha: Array
    signed_beta: Array


def value_and_gradient(
    layers: HiddenLayers,
    depth: int,
    rows: Array,
    constant: Array,
    lines: ActivationLines,
    alpha: Array,
    signed_beta: Array | None,
) -> BoundGradient:
    """The bound over the whole box, and its gradient in `alpha` and `signed_beta`.

    The gradient is one forward pass of the relaxed network at the bound's worst point.
    """
    backward = propagate_back(layers, depth, rows, constant, lines, alpha, signed_beta)
    value, widths = _value_at_worst_point(layers, backward)
    v = layers.sums_at_centre - np.copysign(1.0, widths, out=widths) @ layers.scaled_weights.T
    to_alpha, to_signed_beta = np.empty_like(alpha), np.empty_like(alpha)
    for j in range(depth):
        cols = layers.columns[j]
        m = cols.stop - cols.start
        coefficients, sums = backward.output_coefficients[j][:, :m], v[:, :m]
        to_alpha[:, cols] = np.maximum(coefficients, 0.0) * sums
        to_signed_beta[:, cols] = -sums
        if j + 1 < depth:
            h = v * layers.slope[j]
            chord = lines.upper_slope[:, cols] * sums + lines.upper_offset[:, cols]
            h[:, :m] = np.where(coefficients < 0, chord, alpha[:, cols] * sums)
            v = h @ layers.weights[j + 1].T + layers.bias[j + 1]
    return BoundGradient(value, to_alpha, to_signed_beta)


def value_only(
    layers: HiddenLayers,
    depth: int,
    rows: Array,
    constant: Array,
    lines: ActivationLines,
    alpha: Array,
    signed_beta: Array | None,
) -> Array:
    """The bound over the whole box."""
    return _value_at_worst_point(
        layers, propagate_back(layers, depth, rows, constant, lines, alpha, signed_beta)
    )[0]


def _value_at_worst_point(layers: HiddenLayers, backward: BackwardPass) -> tuple[Array, Array]:
    z = backward.sum_coefficients[0]
    widths = z @ layers.scaled_weights
    return backward.constant + z @ layers.sums_at_centre - np.abs(widths).sum(axis=1), widths


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
