"""Bounds of every neuron over one box, layer after layer: the start of every proof.

Neurons that are off in the whole box are left out. `proved_bounds.py` says how rounding is covered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.network import Floats, Layer, MarginQuestion
from surefoot.verify import linear_relaxation as relax
from surefoot.verify.linear_relaxation import ActivationLines, Array, Box, HiddenLayers, LayerBounds

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
    exact_rows: Floats,
    exact_constant: Floats,
    exact_lines: ActivationLines,
    sign: Array | None,
    start: Multipliers,
    steps: int,
    rates: tuple[float, float],
    enough: float,
) -> Multipliers:
    """The best multipliers met in `steps` steps of Adam; a row above `enough` is left alone.

    In float32, which is twice as fast: multipliers are only proposed, and bounded in float64 after.
    """
    rows, constant = exact_rows.astype(np.float32), exact_constant.astype(np.float32)
    lines = exact_lines.float32()
    best_value = np.full(len(rows), -np.inf, rows.dtype)
    best = Multipliers(start.alpha.copy(), start.beta.copy())
    active = np.arange(len(rows))
    current = start
    moments = tuple(np.zeros_like(a) for a in (start.alpha, start.alpha, start.beta, start.beta))
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
        relaxed = relax.Relaxation(layers, rows, constant, lines, current.alpha, signed_beta)
        gradient = relaxed.value_and_gradient() if step < steps else None
        value = relaxed.value() if gradient is None else gradient.value
        better = value > best_value[active]
        place = active[better]
        best_value[place] = value[better]
        best.alpha[place] = current.alpha[better]
        if sign is not None:
            best.beta[place] = current.beta[better]
        if gradient is None:  # after the last step there is only a bound to take
            break
        alpha = current.alpha + rates[0] * _adam_direction(gradient.alpha, moments[:2], step)
        np.clip(alpha, lines.least_slope, lines.most_slope, out=alpha)
        beta = current.beta
        if sign is not None:
            ascent = _adam_direction(gradient.signed_beta * sign, moments[2:], step)
            beta = beta + rates[1] * ascent
            np.maximum(beta, 0.0, out=beta)
            beta *= sign != 0
        current = Multipliers(alpha, beta)
    return best


def _adam_direction(gradient: Array, moments: tuple[Array, ...], step: int) -> Array:
    """Adam's direction (Kingma & Ba 2015, their constants); the moments are updated in place."""
    first, second = moments
    first *= 0.9
    first += 0.1 * gradient
    second *= 0.999
    second += 0.001 * gradient * gradient
    root = np.sqrt(second)
    root *= 1 / np.sqrt(1 - 0.999 ** (step + 1))
    root += 1e-8
    step_size = 1 / (1 - 0.9 ** (step + 1))
    return np.asarray(first * np.float32(step_size) / root)


_SEARCH_STEPS = 15
"""Steps of Adam for the slopes behind one layer's bounds. Chosen by hand; bounds are true whatever
it is, only their tightness and the time depend on it."""
_SEARCH_RATES = (0.2, 0.0)
"""Step sizes of Adam for α and β; there is no β before anything is branched. Chosen by hand; only
tightness depends on it."""
_MOST_SEARCH_WORK = 3e10
"""Multiplications above which a layer's search is left out, so that a large network does not spend
its time on its first bounds. Chosen by hand; only tightness and time depend on it."""
_CHUNK_VALUES = 1 << 22
"""Values of one intermediate array, 32 MiB in float64: all rows at once would fill the memory."""

Expired = Callable[[], bool]


class OutOfTime(Exception):
    """The allowed time ended before anything was proved."""


def bound_layers(question: MarginQuestion, box: Box, expired: Expired) -> LayerBounds:
    """Bounds of all neurons over the box, layer after layer."""
    layers = list(question.hidden)
    rows = question.rows
    bounds = _no_layers(question, box)
    for k in range(len(layers)):
        if expired():
            raise OutOfTime
        layer = layers[k]
        lower, upper = _neuron_bounds(bounds, layer, box, expired)
        lost = layer.rounding_loss.at(float(bounds.largest[-1].sum()))
        lower, upper = lower - lost, upper + lost
        undecided = (lower < 0) & (upper > 0) & (layer.slope < 1)
        decided = (lower >= 0) | (layer.slope > 0)
        order = np.concatenate([np.flatnonzero(undecided), np.flatnonzero(~undecided & decided)])
        following = layers[k + 1].weights if k + 1 < len(layers) else rows
        following = np.ascontiguousarray(following[:, order])
        if k + 1 < len(layers):
            layers[k + 1] = replace(layers[k + 1], weights=following)
        else:
            rows = following
        bounds = _with_layer(bounds, layer, order, int(undecided.sum()), lower, upper)
    lost = question.loss.at(float(bounds.largest[-1].sum()))
    return replace(
        bounds, rows=rows, offsets=bounds.offsets - lost, layers_float32=bounds.layers.float32()
    )


def _no_layers(question: MarginQuestion, box: Box) -> LayerBounds:
    centre, half = (box.lower + box.upper) / 2, (box.upper - box.lower) / 2
    hidden = HiddenLayers((), (), (), (), centre, half)
    widest = max([len(box.x), *(len(layer.bias) for layer in question.hidden)])
    unit = (widest + 4 * len(question.hidden) + 32) * 2.0**-51
    none, top = np.zeros(0), np.abs(box.x) + box.radius
    return LayerBounds(
        box,
        hidden,
        hidden,
        question.rows,
        question.offsets,
        none,
        none,
        none,
        (),
        (top,),
        unit,
        _underflow(question, top),
    )


def _underflow(question: MarginQuestion, top: Floats) -> float:
    """How much numbers below the smallest float64 can take from a bound, all sums together.

    One product loses at most 2⁻¹⁰⁷⁴, and what is lost is multiplied at most by every later layer's
    absolute sum. Natural networks lose below 1e-250.
    """
    sizes = [np.abs(layer.weights).sum() + np.abs(layer.bias).sum() for layer in question.hidden]
    operations = sum(layer.weights.size + layer.bias.size for layer in question.hidden)
    sizes += [np.abs(question.rows).sum(axis=1).max(), top.sum()]
    with np.errstate(over="ignore"):
        gain = np.prod(np.maximum(np.array(sizes), 1.0))
        return float(4 * (operations + question.rows.size) * gain * 2.0**-1074)


def _with_layer(
    bounds: LayerBounds, layer: Layer, order: NDArray[np.intp], m: int, lower: Floats, upper: Floats
) -> LayerBounds:
    """With one layer more, its neurons in this order: the first m of them are undecided."""
    hidden = bounds.layers
    weights, bias = np.ascontiguousarray(layer.weights[order]), layer.bias[order]
    low, high, slope = lower[order], upper[order], layer.slope[order]
    taken = len(bounds.lower)
    top = np.maximum(np.abs(low), np.abs(high))
    size = np.abs(weights) @ bounds.largest[-1] + np.abs(bias) + top
    size += layer.rounding_loss.at(float(bounds.largest[-1].sum()))[order] / bounds.rounding_unit
    longer = replace(
        hidden,
        weights=(*hidden.weights, weights),
        bias=(*hidden.bias, bias),
        slope=(*hidden.slope, np.where(low >= 0, 1.0, slope)),
        columns=(*hidden.columns, slice(taken, taken + m)),
    )
    return replace(
        bounds,
        layers=longer,
        lower=np.concatenate([bounds.lower, low[:m]]),
        upper=np.concatenate([bounds.upper, high[:m]]),
        slope=np.concatenate([bounds.slope, slope[:m]]),
        sum_sizes=(*bounds.sum_sizes, size),
        largest=(*bounds.largest, top),
    )


def _neuron_bounds(
    bounds: LayerBounds, layer: Layer, box: Box, expired: Expired
) -> tuple[Floats, Floats]:
    n = len(layer.bias)
    rows = np.concatenate([layer.weights, -layer.weights])
    constant = np.concatenate([layer.bias, -layer.bias])
    if not bounds.layers.weights:
        size = np.abs(layer.weights) @ bounds.largest[0] + np.abs(layer.bias)
        floor = box.floor(rows, constant)
        floor -= bounds.rounding_unit * np.concatenate([size, size]) + bounds.underflow
        return floor[:n], -floor[n:]
    first_slopes = np.where(bounds.upper > -bounds.lower, 1.0, bounds.slope)
    alpha = first_slopes[None].repeat(2 * n, axis=0)
    floor = _proved_minima(bounds, rows, constant, alpha, expired)
    lower, upper = floor[:n].copy(), -floor[n:]
    open_neurons = np.flatnonzero((lower < 0) & (upper > 0) & (layer.slope < 1))
    if not len(open_neurons):
        return lower, upper
    both = np.concatenate([open_neurons, open_neurons + n])
    rows, constant = rows[both], constant[both]
    slopes: Array = alpha[both].astype(np.float32)
    work = _SEARCH_STEPS * 4.0 * len(both) * sum(w.size for w in bounds.layers.weights)
    if work <= _MOST_SEARCH_WORK:
        hidden, start = bounds.layers.float32(), np.zeros((len(rows), 0), np.float32)
        lines = relax.activation_lines(bounds.lower[None], bounds.upper[None], bounds.slope[None])
        how = (None, Multipliers(slopes, start), _SEARCH_STEPS, _SEARCH_RATES, 0.0)
        slopes = optimise_multipliers(hidden, rows, constant, lines, *how).alpha
        m = len(open_neurons)
        tighter = _proved_minima(bounds, rows, constant, slopes, expired)
        lower[open_neurons] = np.maximum(lower[open_neurons], tighter[:m])
        upper[open_neurons] = np.minimum(upper[open_neurons], -tighter[m:])
    return lower, upper


def _proved_minima(
    bounds: LayerBounds, rows: Floats, constant: Floats, alpha: Array, expired: Expired
) -> Floats:
    """Proved minima of the rows over the box, in pieces that fit into memory."""
    lines = relax.activation_lines(bounds.lower[None], bounds.upper[None], bounds.slope[None])
    piece = max(1, _CHUNK_VALUES // max(w.shape[1] for w in bounds.layers.weights))
    floors = []
    for i in range(0, len(rows), piece):
        if expired():
            raise OutOfTime
        part = slice(i, i + piece)
        proved = relax.proved_linear_bounds(
            bounds, rows[part], constant[part], lines, alpha[part], None
        )
        floors.append(bounds.box.floor(proved.a, proved.c))
    return np.concatenate(floors)
