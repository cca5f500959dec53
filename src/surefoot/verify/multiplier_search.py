"""Search for the slopes α and multipliers β of a relaxation: Adam in float32.

Any values give a true bound (see `linear_relaxation.py`), so nothing here can make a proof wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.verify.linear_relaxation import (
    ActivationLines,
    Array,
    BoundGradient,
    HiddenLayers,
    value_and_gradient,
    value_only,
)

_COMPACT_BELOW = 0.7
"""Share of unfinished rows below which the finished ones are dropped from the arrays. Chosen by
hand; only the time depends on it."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Slopes α and multipliers β of each node, found by search; any values give a true bound."""

    alpha: Array
    beta: Array


def optimise_multipliers(
    layers: HiddenLayers,
    depth: int,
    rows: Array,
    constant: Array,
    lines: ActivationLines,
    sign: Array | None,
    start: Multipliers,
    steps: int,
    rates: tuple[float, float],
    enough: float,
) -> Multipliers:
    """The best multipliers met in `steps` steps of Adam; a row above `enough` is left alone."""
    best_value = np.full(len(rows), -np.inf, rows.dtype)
    best = Multipliers(start.alpha.copy(), start.beta.copy())
    active = np.arange(len(rows))
    current, moments = start, _zero_moments(start)
    for step in range(steps + 1):
        unfinished = best_value[active] <= enough
        if not unfinished.any():
            break
        if unfinished.sum() < _COMPACT_BELOW * len(active):
            index = np.flatnonzero(unfinished)
            active, rows, constant = active[index], rows[index], constant[index]
            lines = lines.take(index)
            sign = None if sign is None else sign[index]
            beta = current.beta if sign is None else current.beta[index]
            current = Multipliers(current.alpha[index], beta)
            moments = tuple(a[index] if len(a) == len(unfinished) else a for a in moments)
        signed_beta = None if sign is None else current.beta * sign
        problem = layers, depth, rows, constant, lines, current.alpha, signed_beta
        gradient = value_and_gradient(*problem) if step < steps else None
        value = value_only(*problem) if gradient is None else gradient.value
        better = value > best_value[active]
        place = active[better]
        best_value[place] = value[better]
        best.alpha[place] = current.alpha[better]
        if sign is not None:
            best.beta[place] = current.beta[better]
        if gradient is not None:
            current = _adam_step(current, gradient, sign, lines, moments, step, rates)
    return best


def _zero_moments(start: Multipliers) -> tuple[Array, ...]:
    return tuple(np.zeros_like(a) for a in (start.alpha, start.alpha, start.beta, start.beta))


def _adam_step(
    current: Multipliers,
    gradient: BoundGradient,
    sign: Array | None,
    lines: ActivationLines,
    moments: tuple[Array, ...],
    step: int,
    rates: tuple[float, float],
) -> Multipliers:
    alpha = current.alpha + rates[0] * _adam_direction(gradient.alpha, moments[0], moments[1], step)
    np.clip(alpha, lines.least_slope, lines.most_slope, out=alpha)
    if sign is None:
        return Multipliers(alpha, current.beta)
    beta = current.beta + rates[1] * _adam_direction(
        gradient.signed_beta * sign, moments[2], moments[3], step
    )
    np.maximum(beta, 0.0, out=beta)
    beta *= sign != 0
    return Multipliers(alpha, beta)


def _adam_direction(gradient: Array, first: Array, second: Array, step: int) -> Array:
    """Adam's direction (Kingma & Ba 2015, their constants); the moments are updated in place."""
    first *= 0.9
    first += 0.1 * gradient
    second *= 0.999
    second += 0.001 * gradient * gradient
    root = np.sqrt(second)
    root *= 1 / np.sqrt(1 - 0.999 ** (step + 1))
    root += 1e-8
    step_size = 1 / (1 - 0.9 ** (step + 1))
    return np.asarray(first * np.float32(step_size) / root)
