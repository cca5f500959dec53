"""Bounds of every neuron over one box, layer after layer: the start of every proof.

Neurons that are off in the whole box are left out where a layer and the next are matrices; a
convolution keeps its shape. `linear_relaxation.py` says how rounding is covered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray

from surefoot.core.assumptions import Arithmetic
from surefoot.graph.activation import output_ends
from surefoot.graph.linear_map import (
    Dense,
    LinearMap,
    Selection,
    absolute,
    composed,
    dense_rows,
    groups_after,
)
from surefoot.graph.network import Floats, Layer, MarginQuestion
from surefoot.subject.protocols import Array, array_namespace
from surefoot.verify import linear_relaxation as relax
from surefoot.verify.ball import Box
from surefoot.verify.compiled_search import SearchedNodes, search_compiled
from surefoot.verify.linear_relaxation import ActivationLines, HiddenLayers, LayerBounds

Expired = Callable[[], bool]
Moments = tuple[Array, Array]
"""The sums of gradients and of their squares that Adam keeps."""
Ends = tuple[Floats, Floats]
Refine = Callable[[LayerBounds, Layer, Ends, Floats, float], Ends]
"""Closer ends of a layer behind these bounds, from its ends, what rounding takes from them, and
the share of all layers that are bounded."""

_COMPACT_BELOW = 0.7
"""Share of unfinished rows below which the finished ones are dropped from the arrays. Chosen by
hand; only the time depends on it."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Slopes α and multipliers β of each node, found by search; any values give a true bound.

    `column`: where compiled code has searched, the neuron that loses the most with them.
    """

    alpha: Array
    beta: Array
    column: NDArray[np.intp] | None = None


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
    expired: Expired = lambda: False,
) -> Multipliers:
    """The best multipliers met in `steps` steps of Adam; a row above `enough` is left alone.

    It ends early where the time has `expired`.
    In float32, which is twice as fast: multipliers are only proposed, and bounded in float64 after.
    """
    xp = array_namespace(exact_rows)
    if exact_lines.lower_offset is None and layers.packed is not None:
        betas = start.beta if start.beta.shape[1] else None
        nodes = SearchedNodes(
            exact_rows, exact_constant, exact_lines.for_undecided, sign, start.alpha, betas
        )
        how = steps, rates, enough, expired
        alpha, beta, _, column = search_compiled(layers.packed, nodes, *how)
        return Multipliers(alpha, beta if betas is not None else start.beta, column)
    lines, found = exact_lines.float32(), Multipliers(_copied(start.alpha), _copied(start.beta))
    fixed, places = _fixed_columns(layers, sign)
    side = start.beta[:, :0] if sign is None else sign[:, fixed]
    now = _searched_rows(exact_rows, exact_constant, side, start.alpha, start.beta[:, fixed])
    some_fixed = now.beta.shape[1] > 0
    for step in range(steps + 1):
        unfinished = now.best <= enough
        count = int(xp.count_nonzero(unfinished))
        if not count or (step and expired()):
            break
        if count < _COMPACT_BELOW * len(unfinished):
            now.put(found, fixed)
            (index,) = xp.nonzero(unfinished)
            now, lines = now.take(index), lines.take(index)
        signed_beta = now.beta * now.sign if some_fixed else None
        known = (now.rows, now.constant, lines, now.alpha, signed_beta, places)
        relaxed = relax.Relaxation(layers, *known)
        gradient = relaxed.value_and_gradient() if step < steps else None
        now.keep_best(relaxed.value() if gradient is None else gradient.value)
        if gradient is None:  # after the last step there is only a bound to take
            break
        alpha, beta = now.alpha, now.beta
        alpha += adam_step(gradient.alpha, now.alpha_moments, step, rates[0])
        xp.maximum(alpha, lines.least_slope, out=alpha)
        xp.minimum(alpha, lines.most_slope, out=alpha)
        if some_fixed:
            beta += adam_step(gradient.signed_beta * now.sign, now.beta_moments, step, rates[1])
            beta[...] = relax.positive_part(beta) * (now.sign != 0)
    now.put(found, fixed)
    return found


def _copied(a: Array) -> Array:
    return array_namespace(a).asarray(a, copy=True)


def _fixed_columns(
    layers: HiddenLayers, sign: Array | None
) -> tuple[NDArray[np.intp] | slice, relax.Places | None]:
    """The columns that are fixed in some row, and where they stand; on a device all of them."""
    if isinstance(sign, np.ndarray) or sign is None:
        fixed = np.flatnonzero(np.zeros(0) if sign is None else sign.any(axis=0))
        return fixed, layers.places(fixed)
    return slice(None), None


def _keep(kept: Array, value: Array, where: Array) -> None:
    """Write some of the values into those kept."""
    if isinstance(kept, np.ndarray):
        np.copyto(kept, value, where=where)
    else:
        kept[...] = array_namespace(kept).where(where, value, kept)


@dataclass(frozen=True, eq=False)
class _SearchedRows:
    """Rows that are searched together, `place` among all, with the best multipliers met so far.

    One column after the other in memory; of β only the columns that are fixed in some row.
    """

    place: NDArray[np.intp]
    rows: Array
    constant: Array
    sign: Array
    alpha: Array
    beta: Array
    best: Array
    best_alpha: Array
    best_beta: Array
    alpha_moments: Moments
    beta_moments: Moments

    def take(self, index: NDArray[np.intp]) -> _SearchedRows:
        """Some of the rows."""

        def taken(part: Array) -> Array:
            if isinstance(part, tuple):
                return tuple(map(taken, part))
            return relax.rows_by_columns(part, index)

        return _SearchedRows(*(taken(getattr(self, f.name)) for f in fields(self)))

    def keep_best(self, value: Array) -> None:
        """Keep the multipliers where they are the best so far."""
        better = value > self.best
        _keep(self.best, value, better)
        _keep(self.best_alpha, self.alpha, better[:, None])
        _keep(self.best_beta, self.beta, better[:, None])

    def put(self, found: Multipliers, fixed: NDArray[np.intp] | slice) -> None:
        """Write the best into those of all rows."""
        found.alpha[self.place] = self.best_alpha
        if isinstance(fixed, slice):
            found.beta[self.place] = self.best_beta
        else:
            found.beta[np.ix_(self.place, fixed)] = self.best_beta


def _searched_rows(
    rows: Floats, constant: Floats, sign: Array, alpha: Array, beta: Array
) -> _SearchedRows:
    single, xp = relax.single_by_columns, array_namespace(rows)
    row, lift, side, slope, start = map(single, (rows, constant, sign, alpha, beta))
    best = xp.full_like(lift, -xp.inf), single(alpha), single(beta)
    known = xp.arange(len(rows), device=device(rows)), row, lift, side, slope, start
    return _SearchedRows(*known, *best, no_moments(slope), no_moments(start))


def no_moments(like: Array) -> Moments:
    """Before the first step."""
    zeros = array_namespace(like).zeros_like
    return zeros(like), zeros(like)


def adam_step(gradient: Array, moments: Moments, step: int, rate: float) -> Array:
    """Adam's step (Kingma & Ba 2015, their constants); the moments are updated in place.

    They are kept without the factors .1 and .001, which only the result needs.
    """
    xp, (first, second) = array_namespace(gradient), moments
    first *= 0.9
    first += gradient
    second *= 0.999
    xp.square(gradient, out=gradient)
    second += gradient
    root: Array = xp.sqrt(second, out=gradient)
    scale = math.sqrt(0.001 / (1 - 0.999 ** (step + 1)))
    root += 1e-8 / scale
    xp.divide(first, root, out=root)
    root *= rate * 0.1 / (1 - 0.9 ** (step + 1)) / scale
    return root


_SEARCH_STEPS = 15
"""Steps of Adam for the slopes behind one layer's bounds. Chosen by hand; bounds are true whatever
it is, only their tightness and the time depend on it."""
_SEARCH_RATES = (0.2, 0.0)
"""Step sizes of Adam for α and β; there is no β before anything is branched. Chosen by hand; only
tightness depends on it."""
MOST_SEARCH_WORK = 3e10
"""Multiplications above which a layer's search is left out, so that a large network does not spend
its time on its first bounds. Chosen by hand; only tightness and time depend on it."""
INTERVALS = -1.0
"""In place of that number: bounds of a layer from the ends of the one before alone, in hundredths
of the time."""
_CHUNK_VALUES = 1 << 22
"""Values of one intermediate array, 32 MiB in float64: all rows at once would fill the memory."""
CARRIED = (-(2.0**-20), 2.0**-20)
"""By how much of their size the ends of outputs that are carried along are widened: a slope times a
sum is rounded, also in float32."""
_ROWS_TOGETHER = 64
"""Undecided neurons bounded together at least. Chosen by hand; only the time depends on it."""
_WHOLE_SHARE = 0.5
"""Share of a layer's outputs from which on a part of the network is bounded through all of them.
Chosen by hand; only the time depends on it."""


class OutOfTime(Exception):
    """The allowed time ended before anything was proved."""


def bound_layers(
    question: MarginQuestion,
    box: Box,
    expired: Expired,
    most_work: float = MOST_SEARCH_WORK,
    refine: Refine | None = None,
) -> LayerBounds:
    """Bounds of all neurons over the box, layer after layer.

    0 work: nothing is searched; `INTERVALS`: each layer from the ends of the one before alone.
    What `refine` decides stays among the undecided neurons: that it is decided is a constraint.
    """
    layers, rows, scale = list(question.hidden), question.rows, 0.0
    bounds, outputs, most = no_layers(question, box), (box.lower, box.upper), box.largest
    ends, groups = outputs, list[NDArray[np.intp]]()
    for k, whole in enumerate(question.hidden):
        if expired():
            raise OutOfTime
        layer, rounding = layers[k], _rounding(question.arithmetic, whole, outputs, most)
        groups = groups_after(layer.weights, groups)
        lower, upper = _neuron_bounds(bounds, layer, ends, groups, expired, most_work)
        lost = bounds.rounding_unit * rounding.sizes + rounding.run_errors
        lower, upper = without_nan(lower - lost, upper + lost)
        undecided = ((lower < 0) & (upper > 0) & (layer.slope < 1)) | (layer.slope < 0)
        if refine is not None and bounds.layers.weights and isinstance(layer.weights, Dense):
            near = from_ends(layer.weights, layer.bias, ends)
            near = without_nan(near[0] - lost, near[1] + lost)
            lower, upper = np.maximum(lower, near[0]), np.minimum(upper, near[1])
            lower, upper = refine(bounds, layer, (lower, upper), lost, k / (len(layers) - 1))
        ends = output_ends(lower, upper, layer.slope)
        low, high = (end * OUTWARDS for end in ends)
        outputs, most = (low, high), np.maximum(np.abs(low), np.abs(high))
        scale = max(scale, float(rounding.sizes.max(initial=0.0)))
        following = layers[k + 1].weights if k + 1 < len(layers) else Dense(rows)
        own: slice | NDArray[np.intp] = np.flatnonzero(undecided)
        if isinstance(layer.weights, Dense) and isinstance(following, Dense):
            decided = ~undecided & ((lower >= 0) | (layer.slope > 0))
            order = np.concatenate([own, np.flatnonzero(decided)])
            own = slice(0, int(undecided.sum()))
            matrix = np.ascontiguousarray(dense_rows(layer.weights, order))
            layer = Layer(Dense(matrix), layer.bias[order], layer.slope[order])
            ends = ends[0][order], ends[1][order]
            lower, upper, rounding = lower[order], upper[order], rounding.take(order)
            matrix = np.ascontiguousarray(following.matrix[:, order])
            if k + 1 < len(layers):
                layers[k + 1] = replace(layers[k + 1], weights=Dense(matrix))
            else:
                rows = matrix
        bounds = _with_layer(bounds, layer, own, lower, upper, rounding)
    lost = np.full(len(rows), question.gap)
    if question.scores is not None:
        rounding = _rounding(question.arithmetic, question.scores, outputs, most)
        scores = bounds.rounding_unit * rounding.sizes + rounding.run_errors
        lost = lost + np.abs(question.signs) @ scores
        scale = max(scale, float(rounding.sizes.max()))
    if question.gap:
        lost = lost + LARGE_SCORES * scale
    return replace(bounds, rows=rows, offsets=bounds.offsets - lost)


def without_nan(lower: Array, upper: Array) -> tuple[Array, Array]:
    """The ends; infinite where sums overflow: a comparison with NaN would decide a neuron."""
    xp = array_namespace(lower)
    none = xp.isnan(lower) | xp.isnan(upper)
    return xp.where(none, -xp.inf, lower), xp.where(none, xp.inf, upper)


LARGE_SCORES = 2.0**-40
"""Lead that LogSoftmax needs beside the constant one, as a share of the largest number: it may take
a rounded logarithm of the sum from each score."""
OUTWARDS = 1 + 2.0**-20
"""On the ends of outputs: a slope times a sum is rounded in float32."""


@dataclass(frozen=True, eq=False)
class _Rounding:
    """The sizes of a layer's sums, and how far they are from real arithmetic as the model runs."""

    sizes: Floats
    run_errors: Floats

    def take(self, rows: NDArray[np.intp]) -> _Rounding:
        """Of some rows."""
        return _Rounding(self.sizes[rows], self.run_errors[rows])


def _rounding(
    arithmetic: Arithmetic, layer: Layer, outputs: tuple[Floats, Floats], most: Floats
) -> _Rounding:
    """Of a layer, where outputs of the one before lie within their ends and are at most `most`."""
    sizes = layer.sizes_at(most)
    if arithmetic is Arithmetic.REAL:
        return _Rounding(sizes, np.zeros(len(sizes)))
    return _Rounding(sizes, layer.float32_errors(*outputs, sizes))


def no_layers(question: MarginQuestion, box: Box) -> LayerBounds:
    """Before any layer is bounded."""
    centre, half = (box.lower + box.upper) / 2, (box.upper - box.lower) / 2
    if box.moves is not None:
        centre = box.x
    hidden = HiddenLayers((), (), (), (), (), centre, half, box.moves)
    every = question.hidden if question.scores is None else (*question.hidden, question.scores)
    sums = [max(len(layer.bias), layer.weights.terms) for layer in every]
    read = [layer.sum_sizes.longest for layer in every]  # layers were multiplied out too
    unit = (max([box.x.shape[-1], *sums, *read]) + 4 * len(question.hidden) + 32) * 2.0**-51
    none, top = np.zeros(0), box.largest
    return LayerBounds(
        box,
        hidden,
        question.rows,
        question.offsets,
        none,
        none,
        none,
        (),
        (top,),
        (),
        unit,
        _underflow(question, top),
    )


def _underflow(question: MarginQuestion, top: Floats) -> float:
    """How much numbers below the smallest float64 can take from a bound, all sums together.

    One product loses at most 2⁻¹⁰⁷⁴, and what is lost is multiplied at most by every later layer's
    absolute sum. Natural networks lose below 1e-250.
    """
    sizes = [layer.weights.total + np.abs(layer.bias).sum() for layer in question.hidden]
    operations = sum(layer.weights.work + layer.bias.size for layer in question.hidden)
    sizes += [np.abs(question.rows).sum(axis=1).max(), top.sum()]
    with np.errstate(over="ignore"):
        gain = np.prod(np.maximum(np.array(sizes), 1.0))
        return float(4 * (operations + question.rows.size) * gain * 2.0**-1074)


def _with_layer(
    bounds: LayerBounds,
    layer: Layer,
    own: slice | NDArray[np.intp],
    lower: Floats,
    upper: Floats,
    rounding: _Rounding,
) -> LayerBounds:
    """With one layer more, of which `own` are the undecided neurons."""
    hidden, taken, slope = bounds.layers, len(bounds.lower), layer.slope
    sums = np.maximum(np.abs(lower), np.abs(upper))
    top = np.maximum(*map(np.abs, output_ends(lower, upper, slope))) * OUTWARDS
    m = len(lower[own])
    longer = replace(
        hidden,
        weights=(*hidden.weights, layer.weights),
        bias=(*hidden.bias, layer.bias),
        slope=(*hidden.slope, np.where(lower >= 0, 1.0, slope)),
        undecided=(*hidden.undecided, own),
        columns=(*hidden.columns, slice(taken, taken + m)),
    )
    return replace(
        bounds,
        layers=longer,
        lower=np.concatenate([bounds.lower, lower[own]]),
        upper=np.concatenate([bounds.upper, upper[own]]),
        slope=np.concatenate([bounds.slope, slope[own]]),
        sum_sizes=(*bounds.sum_sizes, rounding.sizes + sums + 2.0 * (slope < 0)),
        largest=(*bounds.largest, top),
        run_errors=(*bounds.run_errors, rounding.run_errors),
    )


def _neuron_bounds(
    bounds: LayerBounds,
    layer: Layer,
    outputs: tuple[Floats, Floats],
    groups: list[NDArray[np.intp]],
    expired: Expired,
    most_work: float,
) -> tuple[Floats, Floats]:
    """Of a matrix all neurons at once; else those together that depend on nearly the same ones.

    Else also only those whose side the ends of the layer before leave open: of others nothing but
    rounding depends on how close their bounds are.
    """
    if isinstance(layer.weights, Dense) and most_work != INTERVALS:
        if most_work or not bounds.layers.weights:
            return _bounds_of_rows(bounds, layer.weights, layer, expired, most_work)
        return _where_intervals_leave_open(bounds, layer.weights, layer, outputs, expired)
    lower, upper = from_outputs(layer, outputs)
    lower, upper = lower - bounds.underflow, upper + bounds.underflow
    first = not bounds.layers.weights and bounds.box.moves is None
    if most_work == INTERVALS or first:
        return lower, upper
    undecided = ((lower < 0) & (upper > 0) & (layer.slope < 1)) | (layer.slope < 0)
    groups = _joined([rows[undecided[rows]] for rows in groups])
    for rows in groups:
        if expired():
            raise OutOfTime
        part, linear = _part_below(bounds, layer.weights, rows)
        neurons = Layer(linear, layer.bias[rows], layer.slope[rows])
        if not isinstance(linear, Dense):  # its sums are rounded as those of a layer
            most = absolute(linear).forward(part.largest[-1]) + np.abs(neurons.bias)
            own = replace(neurons, slope=np.ones(len(rows)))
            exact = _Rounding(most, np.zeros(len(rows)))  # what the model loses is added later
            part = _with_layer(part, own, slice(0, 0), -most, most, exact)
            linear = Dense(np.eye(len(rows)))
            neurons = Layer(linear, np.zeros(len(rows)), neurons.slope)
        work = most_work / len(groups)
        lower[rows], upper[rows] = _bounds_of_rows(part, linear, neurons, expired, work)
    return lower, upper


def _joined(groups: list[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
    """Neighbours together, until each group is large enough."""
    before = np.cumsum([0, *map(len, groups)])
    number = before[:-1] // _ROWS_TOGETHER
    cuts = np.flatnonzero(np.diff(number)) + 1
    parts = np.split(np.concatenate([np.zeros(0, np.intp), *groups]), before[cuts])
    return [np.sort(part) for part in parts if len(part)]


def _where_intervals_leave_open(
    bounds: LayerBounds, linear: Dense, layer: Layer, ends: tuple[Floats, Floats], expired: Expired
) -> tuple[Floats, Floats]:
    """For a first look: through the whole network only where the layer before does not decide."""
    lower, upper = from_ends(linear, layer.bias, ends)
    rows = np.flatnonzero(((lower < 0) & (upper > 0)) | (layer.slope < 0))
    if len(rows):
        linear = Dense(linear.matrix[rows])
        part = Layer(linear, layer.bias[rows], layer.slope[rows])
        lower[rows], upper[rows] = _bounds_of_rows(bounds, linear, part, expired, 0.0)
    return lower, upper


def from_outputs(layer: Layer, outputs: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Sums over all values between the ends of the outputs before."""
    low, high = (end + side * abs(end) for end, side in zip(outputs, CARRIED, strict=True))
    return from_ends(layer.weights, layer.bias, (low, high))


def from_ends(linear: LinearMap, bias: Floats, ends: tuple[Floats, Floats]) -> Ends:
    """Sums over all values between these ends."""
    middle = linear.forward((ends[0] + ends[1]) / 2) + bias
    reach = absolute(linear).forward((ends[1] - ends[0]) / 2)
    return middle - reach, middle + reach


def _part_below(
    bounds: LayerBounds, linear: LinearMap, rows: NDArray[np.intp]
) -> tuple[LayerBounds, LinearMap]:
    """The neurons that some rows of a map depend on, with their bounds, and the map of these."""
    hidden, depth = bounds.layers, len(bounds.layers.weights)
    maps: list[LinearMap] = [*hidden.weights, linear]
    taken: list[slice | NDArray[np.intp]] = [slice(None)] * (depth + 1)
    for j in range(depth, -1, -1):
        rows, maps[j] = maps[j].block(rows)
        width = len(bounds.largest[j])
        if len(rows) > _WHOLE_SHARE * width:
            maps[j] = composed(Selection(rows, width), maps[j])
            break
        block = maps[j]
        if j and isinstance(block, Dense):  # neurons that are off pass nothing on
            on = hidden.slope[j - 1] > 0
            on[hidden.undecided[j - 1]] = True
            maps[j], rows = Dense(block.matrix[:, on[rows]]), rows[on[rows]]
        taken[j] = rows
    undecided, columns, every, start = [], [], [], 0
    for j in range(depth):
        number, chosen = len(bounds.largest[j + 1]), taken[j + 1]
        place = np.full(number, -1)
        place[hidden.undecided[j]] = np.arange(hidden.columns[j].start, hidden.columns[j].stop)
        own = np.flatnonzero(place[chosen] >= 0)
        undecided.append(own)
        columns.append(slice(start, start + len(own)))
        every.append(place[chosen][own])
        start += len(own)
    above, box = taken[1:], bounds.box.part(taken[0])
    layers = HiddenLayers(
        tuple(maps[:-1]),
        tuple(a[one] for a, one in zip(hidden.bias, above, strict=True)),
        tuple(a[one] for a, one in zip(hidden.slope, above, strict=True)),
        tuple(undecided),
        tuple(columns),
        hidden.centre[taken[0]],
        hidden.half_width[taken[0]],
        box.moves,
    )
    index = np.concatenate([np.zeros(0, np.intp), *every])
    part = replace(
        bounds,
        box=box,
        layers=layers,
        lower=bounds.lower[index],
        upper=bounds.upper[index],
        slope=bounds.slope[index],
        sum_sizes=tuple(a[one] for a, one in zip(bounds.sum_sizes, above, strict=True)),
        largest=tuple(a[one] for a, one in zip(bounds.largest, taken, strict=True)),
        run_errors=tuple(a[one] for a, one in zip(bounds.run_errors, above, strict=True)),
    )
    return part, maps[-1]


def _bounds_of_rows(
    bounds: LayerBounds, linear: Dense, layer: Layer, expired: Expired, most_work: float
) -> tuple[Floats, Floats]:
    n, box = len(layer.bias), bounds.box
    if not bounds.layers.weights and box.moves is None:
        lower, upper = from_ends(linear, layer.bias, (box.lower, box.upper))
        return lower - bounds.underflow, upper + bounds.underflow
    rows = np.concatenate([linear.matrix, -linear.matrix])
    constant = np.concatenate([layer.bias, -layer.bias])
    if not bounds.layers.weights:
        floor = bounds.box.floor(rows, constant) - bounds.underflow
        return floor[:n], -floor[n:]
    lines = relax.activation_lines(bounds.lower[None], bounds.upper[None], bounds.slope[None])
    alpha = lines.first_slopes(bounds.lower, bounds.upper).repeat(2 * n, axis=0)
    floor = _proved_minima(bounds, rows, constant, alpha, expired)
    lower, upper = floor[:n].copy(), -floor[n:]
    undecided = (lower < 0) & (upper > 0) & (layer.slope < 1)
    open_neurons = np.flatnonzero(undecided | (layer.slope < 0))
    if not len(open_neurons):
        return lower, upper
    both = np.concatenate([open_neurons, open_neurons + n])
    rows, constant = rows[both], constant[both]
    slopes: Array = alpha[both].astype(np.float32)
    work = _SEARCH_STEPS * 4.0 * len(both) * sum(w.work for w in bounds.layers.weights)
    if work <= most_work:
        hidden, start = bounds.layers.float32, np.zeros((len(rows), 0), np.float32)
        how = (None, Multipliers(slopes, start), _SEARCH_STEPS, _SEARCH_RATES, 0.0)
        slopes = optimise_multipliers(hidden, rows, constant, lines, *how, expired).alpha
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
    widest = max(max(w.shape) for w in bounds.layers.weights)
    piece = max(1, _CHUNK_VALUES // widest)
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
