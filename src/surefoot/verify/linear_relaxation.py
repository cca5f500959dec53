"""Linear lower bounds of a network over a box: one pass down, one pass up for the gradient.

The relaxation is α/β-CROWN (Xu et al. 2021; Wang et al. 2021): above an undecided neuron lies the
chord, below it a line of free slope α, and a neuron fixed to one side by branching adds a
multiplier β ≥ 0. Undecided neurons of all layers stand side by side in one array of columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Chain:
    """Hidden layers over a box, in one precision; undecided neurons come first in each layer.

    `slope` holds the slope of the decided neurons; `columns` where a layer's undecided ones stand.
    """

    weights: tuple[Array, ...]
    bias: tuple[Array, ...]
    slope: tuple[Array, ...]
    columns: tuple[slice, ...]
    centre: Array
    half: Array

    @cached_property
    def middle(self) -> Array:
        """The first layer's sums at the centre."""
        return np.asarray(self.bias[0] + self.weights[0] @ self.centre)

    @cached_property
    def spread(self) -> Array:
        """The first layer's weights per half width of the box."""
        return np.asarray(self.weights[0] * self.half)

    def single(self) -> Chain:
        """The same in float32, for searching."""
        return Chain(
            _single(self.weights),
            _single(self.bias),
            _single(self.slope),
            self.columns,
            self.centre.astype(np.float32),
            self.half.astype(np.float32),
        )


def _single(parts: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(part.astype(np.float32) for part in parts)


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines about undecided neurons, (nodes or 1, columns): below `above`·v + `lift`."""

    above: Array
    lift: Array
    least: Array
    most: Array

    def take(self, index: NDArray[Any]) -> Lines:
        """The lines of some nodes."""
        if len(self.above) == 1:
            return self
        return Lines(self.above[index], self.lift[index], self.least[index], self.most[index])

    def astype(self, kind: type[np.floating[Any]]) -> Lines:
        """The same in another precision."""
        return Lines(
            self.above.astype(kind),
            self.lift.astype(kind),
            self.least.astype(kind),
            self.most.astype(kind),
        )


def lines_between(lower: Array, upper: Array, slope: Array) -> Lines:
    """The chord above max(v, slope·v) on [lower, upper] and the range of slopes below it."""
    undecided = (lower < 0) & (upper > 0)
    width = np.where(undecided, upper - lower, 1.0)
    decided = np.where(lower >= 0, 1.0, slope)
    above = np.where(undecided, (upper - slope * lower) / width, decided)
    lift = np.where(undecided, lower * (slope - above), 0.0)
    least = np.where(undecided, slope, decided)
    most = np.where(undecided, 1.0, decided)
    return Lines(above, lift, least, most)


@dataclass(frozen=True, eq=False)
class Descent:
    """rows·h ≥ before[0]·v_0 + constant, v_0 the first layer's sums; and what led there.

    `after[j]` are the coefficients of layer j's outputs, `before[j]` those of its sums.
    """

    after: list[Array]
    before: list[Array]
    constant: Array


def descend(
    chain: Chain,
    depth: int,
    rows: Array,
    constant: Array,
    lines: Lines,
    alpha: Array,
    push: Array | None,
) -> Descent:
    """Bring rows·h (h the outputs of layer `depth` − 1) down to the first layer's sums."""
    after: list[Array] = [rows] * depth
    before: list[Array] = [rows] * depth
    lam = rows
    for j in range(depth - 1, -1, -1):
        cols = chain.columns[j]
        m = cols.stop - cols.start
        z = lam * chain.slope[j]
        below = np.minimum(lam[:, :m], 0.0)
        constant = constant + (below * lines.lift[:, cols]).sum(axis=1)
        z[:, :m] = below * lines.above[:, cols] + (lam[:, :m] - below) * alpha[:, cols]
        if push is not None:
            z[:, :m] -= push[:, cols]
        after[j], before[j] = lam, z
        if j:
            constant = constant + z @ chain.bias[j]
            lam = z @ chain.weights[j]
    return Descent(after, before, constant)


@dataclass(frozen=True, eq=False)
class Slopes:
    """The bound at the box's radius and its gradient."""

    value: Array
    alpha: Array
    push: Array


def value_and_gradient(
    chain: Chain,
    depth: int,
    rows: Array,
    constant: Array,
    lines: Lines,
    alpha: Array,
    push: Array | None,
) -> Slopes:
    """The bound over the whole box, and its gradient in `alpha` and `push`.

    The gradient is one forward pass of the relaxed network at the bound's worst point.
    """
    fall = descend(chain, depth, rows, constant, lines, alpha, push)
    value, reach = _at_worst(chain, fall)
    v = chain.middle - np.copysign(1.0, reach, out=reach) @ chain.spread.T
    to_alpha, to_push = np.empty_like(alpha), np.empty_like(alpha)
    for j in range(depth):
        cols = chain.columns[j]
        m = cols.stop - cols.start
        lam, sums = fall.after[j][:, :m], v[:, :m]
        to_alpha[:, cols] = np.maximum(lam, 0.0) * sums
        to_push[:, cols] = -sums
        if j + 1 < depth:
            h = v * chain.slope[j]
            chord = lines.above[:, cols] * sums + lines.lift[:, cols]
            h[:, :m] = np.where(lam < 0, chord, alpha[:, cols] * sums)
            v = h @ chain.weights[j + 1].T + chain.bias[j + 1]
    return Slopes(value, to_alpha, to_push)


def value_only(
    chain: Chain,
    depth: int,
    rows: Array,
    constant: Array,
    lines: Lines,
    alpha: Array,
    push: Array | None,
) -> Array:
    """The bound over the whole box."""
    return _at_worst(chain, descend(chain, depth, rows, constant, lines, alpha, push))[0]


def _at_worst(chain: Chain, fall: Descent) -> tuple[Array, Array]:
    z = fall.before[0]
    reach = z @ chain.spread
    return fall.constant + z @ chain.middle - np.abs(reach).sum(axis=1), reach


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Slopes and multipliers of each node, found by search; any values give a true bound."""

    alpha: Array
    beta: Array


def improve(
    chain: Chain,
    depth: int,
    rows: Array,
    constant: Array,
    lines: Lines,
    sign: Array | None,
    start: Multipliers,
    steps: int,
    rates: tuple[float, float],
    enough: float,
) -> Multipliers:
    """The best multipliers met in `steps` steps of Adam; a row above `enough` is left alone."""
    best = np.full(len(rows), -np.inf, rows.dtype)
    found = Multipliers(start.alpha.copy(), start.beta.copy())
    live = np.arange(len(rows))
    now, climbs = start, _moments(start)
    for step in range(steps + 1):
        going = best[live] <= enough
        if not going.any():
            break
        if going.sum() < 0.7 * len(live):
            index = np.flatnonzero(going)
            live, rows, constant, lines = (
                live[index],
                rows[index],
                constant[index],
                lines.take(index),
            )
            sign = None if sign is None else sign[index]
            now = Multipliers(now.alpha[index], now.beta[index] if sign is not None else now.beta)
            climbs = tuple(a[index] if len(a) == len(going) else a for a in climbs)
        push = None if sign is None else now.beta * sign
        if step == steps:
            slopes = None
            value = value_only(chain, depth, rows, constant, lines, now.alpha, push)
        else:
            slopes = value_and_gradient(chain, depth, rows, constant, lines, now.alpha, push)
            value = slopes.value
        better = value > best[live]
        at = live[better]
        best[at] = value[better]
        found.alpha[at] = now.alpha[better]
        if sign is not None:
            found.beta[at] = now.beta[better]
        if slopes is not None:
            now = _climb(now, slopes, sign, lines, climbs, step, rates)
    return found


def _moments(start: Multipliers) -> tuple[Array, ...]:
    return tuple(np.zeros_like(a) for a in (start.alpha, start.alpha, start.beta, start.beta))


def _climb(
    now: Multipliers,
    slopes: Slopes,
    sign: Array | None,
    lines: Lines,
    climbs: tuple[Array, ...],
    step: int,
    rates: tuple[float, float],
) -> Multipliers:
    alpha = now.alpha + rates[0] * _adam(slopes.alpha, climbs[0], climbs[1], step)
    np.clip(alpha, lines.least, lines.most, out=alpha)
    if sign is None:
        return Multipliers(alpha, now.beta)
    beta = now.beta + rates[1] * _adam(slopes.push * sign, climbs[2], climbs[3], step)
    np.maximum(beta, 0.0, out=beta)
    beta *= sign != 0
    return Multipliers(alpha, beta)


def _adam(gradient: Array, first: Array, second: Array, step: int) -> Array:
    """Adam's direction (Kingma & Ba 2015); the moments are updated where they stand."""
    first *= 0.9
    first += 0.1 * gradient
    second *= 0.999
    second += 0.001 * gradient * gradient
    root = np.sqrt(second)
    root *= 1 / np.sqrt(1 - 0.999 ** (step + 1))
    root += 1e-8
    step_size = 1 / (1 - 0.9 ** (step + 1))
    return np.asarray(first * np.float32(step_size) / root)
