"""A question seen from one box: bounds of every neuron there, dead neurons gone, rounding paid for.

Every bound is computed in float64 and lowered by a proved limit of its own rounding error: a sum of
n products is off by at most n·2⁻⁵³ times the sum of their absolute values (Higham 2002, §3.1), so a
pass through the layers is off by at most `unit`·Σ_j (|λ_j| + β_j)·(|v_j| + |W_j||h_{j−1}| + |b_j|),
v_j and h_j taken at their bounds over the box. Underflow costs a further constant, and what reading
the file lost where it multiplied layers out is paid in the same way (`Loss`). What is proved holds
for the network of the file in real arithmetic; a run of it in float32 rounds differently, and that
is not covered (`near_ties.py` looks for points where it matters).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.network import Floats, Layer, Question
from surefoot.verify.box import Box
from surefoot.verify.linear_relaxation import (
    Array,
    Chain,
    Descent,
    Lines,
    Multipliers,
    descend,
    improve,
    lines_between,
)

INNER_STEPS = 15
INNER_RATES = (0.2, 0.0)
WORK_FOR_SEARCH = 3e10
_CHUNK = 1 << 22

Expired = Callable[[], bool]


class OutOfTime(Exception):
    """The allowed time ended before anything was proved."""


@dataclass(frozen=True, eq=False)
class Scene:
    """The chain over the box, the margins' rows, bounds of the undecided neurons, rounding limits.

    `tops`: the largest absolute inputs and outputs of each layer (no slope exceeds 1). `unit` and
    `least` limit rounding and underflow.
    """

    box: Box
    chain: Chain
    single: Chain
    rows: Floats
    offsets: Floats
    lower: Floats
    upper: Floats
    slope: Floats
    size: tuple[Floats, ...]
    tops: tuple[Floats, ...]
    unit: float
    least: float

    @property
    def depth(self) -> int:
        """How many hidden layers there are."""
        return len(self.chain.weights)


@dataclass(frozen=True, eq=False)
class Forms:
    """margin ≥ a·x + c over the box, for each node, after rounding is paid."""

    a: Floats
    c: Floats


def proved_forms(
    scene: Scene,
    depth: int,
    rows: Floats,
    constant: Floats,
    lines: Lines,
    alpha: Array,
    push: Array | None,
) -> Forms:
    """Linear lower bounds of the rows in the input, in float64, true for any alpha and push."""
    chain = scene.chain
    inside = np.clip(alpha.astype(np.float64), lines.least, lines.most)
    beta = None if push is None else push.astype(np.float64)
    fall = descend(chain, depth, rows, constant, lines, inside, beta)
    a = fall.before[0] @ chain.weights[0]
    c = fall.constant + fall.before[0] @ chain.bias[0]
    return Forms(a, c - _rounding(scene, fall, constant, beta) - scene.least)


def _rounding(scene: Scene, fall: Descent, constant: Floats, push: Floats | None) -> Floats:
    total = np.abs(constant)
    for j, lam in enumerate(fall.after):
        total = total + np.abs(lam) @ scene.size[j]
        if push is not None:
            cols = scene.chain.columns[j]
            total = total + np.abs(push[:, cols]) @ scene.size[j][: cols.stop - cols.start]
    return np.asarray(scene.unit * total)


def proved_radius(box: Box, forms: Forms, start: Floats, steps: int = 2) -> Floats:
    """For each form the radius up to which it is positive, from below; 0 where it is at no radius.

    The minimum is convex and falls with the radius, so Newton's steps from the left stay left.
    `start`: radii to begin from, each already known or 0.
    """
    proved, at = np.zeros(len(forms.c)), start
    for _ in range(steps):
        left, fall = box.least(forms.a, forms.c, at)
        proved = np.where(left > 0, np.maximum(proved, at), proved)
        step = left * (1 - 1e-9) / np.maximum(fall, 1e-300)
        at = np.where(left > 0, np.minimum(at + step, box.radius), 0.0)
    left, _ = box.least(forms.a, forms.c, at)
    return np.where(left > 0, np.maximum(proved, at), proved)


def look(question: Question, box: Box, expired: Expired) -> Scene:
    """Bounds of all neurons over the box, layer after layer."""
    layers = list(question.hidden)
    rows = question.rows
    scene = _bare(question, box)
    for k in range(len(layers)):
        if expired():
            raise OutOfTime
        layer = layers[k]
        lower, upper = _layer_bounds(scene, layer, box, expired)
        lost = layer.lost.at(float(scene.tops[-1].sum()))
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
        scene = _extended(scene, layer, order, int(undecided.sum()), lower, upper)
    lost = question.loss.at(float(scene.tops[-1].sum()))
    return replace(scene, rows=rows, offsets=scene.offsets - lost, single=scene.chain.single())


def _bare(question: Question, box: Box) -> Scene:
    centre, half = (box.lower + box.upper) / 2, (box.upper - box.lower) / 2
    chain = Chain((), (), (), (), centre, half)
    widest = max([len(box.x), *(len(layer.bias) for layer in question.hidden)])
    unit = (widest + 4 * len(question.hidden) + 32) * 2.0**-51
    none, top = np.zeros(0), np.abs(box.x) + box.radius
    return Scene(
        box,
        chain,
        chain,
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


def _underflow(question: Question, top: Floats) -> float:
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


def _extended(
    scene: Scene,
    layer: Layer,
    order: NDArray[np.intp],
    undecided: int,
    lower: Floats,
    upper: Floats,
) -> Scene:
    chain = scene.chain
    weights, bias = np.ascontiguousarray(layer.weights[order]), layer.bias[order]
    low, high, slope = lower[order], upper[order], layer.slope[order]
    taken = len(scene.lower)
    top = np.maximum(np.abs(low), np.abs(high))
    size = np.abs(weights) @ scene.tops[-1] + np.abs(bias) + top
    size += layer.lost.at(float(scene.tops[-1].sum()))[order] / scene.unit
    longer = replace(
        chain,
        weights=(*chain.weights, weights),
        bias=(*chain.bias, bias),
        slope=(*chain.slope, np.where(low >= 0, 1.0, slope)),
        columns=(*chain.columns, slice(taken, taken + undecided)),
    )
    return replace(
        scene,
        chain=longer,
        lower=np.concatenate([scene.lower, low[:undecided]]),
        upper=np.concatenate([scene.upper, high[:undecided]]),
        slope=np.concatenate([scene.slope, slope[:undecided]]),
        size=(*scene.size, size),
        tops=(*scene.tops, top),
    )


def _layer_bounds(scene: Scene, layer: Layer, box: Box, expired: Expired) -> tuple[Floats, Floats]:
    depth, n = len(scene.chain.weights), len(layer.bias)
    rows = np.concatenate([layer.weights, -layer.weights])
    constant = np.concatenate([layer.bias, -layer.bias])
    if depth == 0:
        size = np.abs(layer.weights) @ scene.tops[0] + np.abs(layer.bias)
        floor = box.floor(rows, constant)
        floor -= scene.unit * np.concatenate([size, size]) + scene.least
        return floor[:n], -floor[n:]
    alpha = _first_slopes(scene.lower, scene.upper, scene.slope)[None].repeat(2 * n, axis=0)
    floor = _floors(scene, depth, rows, constant, alpha, expired)
    lower, upper = floor[:n].copy(), -floor[n:]
    open_ = np.flatnonzero((lower < 0) & (upper > 0) & (layer.slope < 1))
    if not len(open_):
        return lower, upper
    both = np.concatenate([open_, open_ + n])
    rows, constant = rows[both], constant[both]
    slopes: Array = alpha[both].astype(np.float32)
    work = INNER_STEPS * 4.0 * len(both) * sum(w.size for w in scene.chain.weights)
    if work <= WORK_FOR_SEARCH:
        slopes = _searched(scene, depth, rows, constant, slopes)
        m = len(open_)
        again = _floors(scene, depth, rows, constant, slopes, expired)
        lower[open_] = np.maximum(lower[open_], again[:m])
        upper[open_] = np.minimum(upper[open_], -again[m:])
    return lower, upper


def _first_slopes(lower: Floats, upper: Floats, slope: Floats) -> Floats:
    return np.where(upper > -lower, 1.0, slope)


def _searched(scene: Scene, depth: int, rows: Floats, constant: Floats, alpha: Array) -> Array:
    lines = lines_between(scene.lower[None], scene.upper[None], scene.slope[None])
    start = Multipliers(alpha, np.zeros((len(rows), 0), np.float32))
    return improve(
        scene.chain.single(),
        depth,
        rows.astype(np.float32),
        constant.astype(np.float32),
        lines.astype(np.float32),
        None,
        start,
        INNER_STEPS,
        INNER_RATES,
        0.0,
    ).alpha


def _floors(
    scene: Scene, depth: int, rows: Floats, constant: Floats, alpha: Array, expired: Expired
) -> Floats:
    """Proved minima of the rows over the box, in pieces that fit into memory."""
    lines = lines_between(scene.lower[None], scene.upper[None], scene.slope[None])
    piece = max(1, _CHUNK // max(w.shape[1] for w in scene.chain.weights))
    floors = []
    for i in range(0, len(rows), piece):
        if expired():
            raise OutOfTime
        part = slice(i, i + piece)
        forms = proved_forms(scene, depth, rows[part], constant[part], lines, alpha[part], None)
        floors.append(scene.box.floor(forms.a, forms.c))
    return np.concatenate(floors)
