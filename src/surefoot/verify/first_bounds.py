"""First radii of many inputs at once: bounds without branching, a box for each input.

The rows of all inputs stand one after the other, so that one product serves them all; each has the
lines and the box of its own input. One implementation for NumPy and PyTorch, in float64 on either.
What rounding can take, here and in the model, is subtracted as in `layer_bounds.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from array_api_compat import device, is_numpy_array
from numpy.typing import NDArray

from surefoot.core.assumptions import Arithmetic
from surefoot.graph.activation import output_ends
from surefoot.graph.linear_map import Dense
from surefoot.graph.network import (
    Floats,
    Layer,
    MarginQuestion,
    Network,
    check_float32,
    margin_question,
)
from surefoot.subject.protocols import CPU, Array, Ball, array_namespace, to_host
from surefoot.verify.ball import Box, InputSpace, row_sums
from surefoot.verify.device import free_memory, out_of_memory, to_device
from surefoot.verify.layer_bounds import (
    INTERVALS,
    LARGE_SCORES,
    OUTWARDS,
    Expired,
    OutOfTime,
    adam_step,
    from_ends,
    from_outputs,
    no_layers,
    no_moments,
    without_nan,
)
from surefoot.verify.linear_relaxation import (
    HiddenLayers,
    LayerBounds,
    Relaxation,
    activation_lines,
    proved_linear_bounds,
    proved_radius,
)

_PIECE_VALUES, _DEVICE_VALUES = 1 << 18, 1 << 25
"""Values of one intermediate array: 2 MiB stay in a processor's cache, the memory of another device
is the limit. Chosen by hand; only the time depends on it."""
_STEPS, _RATE = 12, 0.25
"""Steps of Adam for the slopes behind the margins, and their size. Chosen by hand; radii are true
whatever they are."""
_TRIES, _CLOSE = {INTERVALS: 5, 0.0: 10}, 0.01
"""Radii tried with bounds of each layer from the one before alone, then through all layers; and the
share of the radius from which on no more are. Chosen by hand; radii are true whatever they are."""
_FAR = 4.0
"""Ratio of the ends from which on the next radius is a share of them, not their middle."""
_GRID = 2.0**-30
"""Radii are rounded down to it: a product is rounded in another order in another batch, and an
answer must not depend on which inputs share one."""


@dataclass(frozen=True, eq=False)
class InputBatch:
    """Flat inputs with their labels, and where they may move; see `bracket_radius`."""

    network: Network
    x: Floats
    labels: NDArray[np.integer]
    space: InputSpace
    rank: int = 1
    arithmetic: Arithmetic = Arithmetic.FLOAT32

    def take(self, index: Any) -> InputBatch:  # noqa: ANN401  whatever indexes an array
        """Some of the inputs."""
        return replace(self, x=self.x[index], labels=self.labels[index])

    @cached_property
    def questions(self) -> dict[int, MarginQuestion]:
        """What must be positive, by label."""
        return {
            label: margin_question(self.network, label, self.rank, self.arithmetic)
            for label in np.unique(self.labels).tolist()
        }

    @property
    def bounded(self) -> bool:
        """Whether there are bounds of a batch: of boxes, and without Sigmoid and Tanh."""
        curved = any(question.curved for question in self.questions.values())
        return self.space.norm is Ball.LINF and not curved


def first_radii(batch: InputBatch, where: str = CPU, expired: Expired = lambda: False) -> Floats:
    """A radius for each input that is proved without branching, by bisection; 0 where none is.

    `where` is a device of PyTorch, or cpu for NumPy: there each layer is bounded from the one
    before alone, since `bound_layers` is faster for one input than arrays for all neurons of many.
    Once the time has `expired`, or a device has no memory left, what is proved by then is the
    answer.
    """
    low = np.zeros(len(batch.x))
    if not batch.bounded:
        return low
    top = np.array([batch.space.around(x).farthest(x) for x in batch.x])
    for work in (INTERVALS,) if where == CPU else (INTERVALS, 0.0):
        high = top.copy()
        for _ in range(_TRIES[work]):
            left = np.flatnonzero(high - low > _CLOSE * high)
            if not len(left):
                break
            middle = np.where(_FAR * low < high, np.sqrt(low * high), (low + high) / 2)
            radius = np.where(low > 0, middle, high / _FAR)[left]
            try:
                proved = proved_within(batch.take(left), radius, work, where, expired)
            except OutOfTime:
                return _on_grid(low)
            except RuntimeError as error:
                if where == CPU or not out_of_memory(error):
                    raise
                free_memory(where)
                return _on_grid(low)
            low[left] = np.maximum(low[left], proved)
            high[left] = np.where(proved < radius, radius, high[left])
    return _on_grid(low)


def proved_at(batch: InputBatch, level: float) -> Floats:
    """The level for each input that bounds from layer to layer prove within it, else 0.

    At a small one nearly all are, in a tenth of the time of bounds through all layers.
    """
    if not batch.bounded:
        return np.zeros(len(batch.x))
    proved = proved_within(batch, np.full(len(batch.x), level), INTERVALS)
    return np.where(proved >= level, level, 0.0)


def _on_grid(radii: Floats) -> Floats:
    return np.floor(radii / _GRID) * _GRID


def proved_within(
    batch: InputBatch,
    radius: Floats,
    work: float,
    where: str = CPU,
    expired: Expired = lambda: False,
) -> Floats:
    """How far one bound on each input's box of its `radius` proves.

    `work` as in `bound_layers`: `INTERVALS`, or 0 for bounds through all layers, which also search
    the slopes behind the margins.
    """
    if batch.arithmetic is Arithmetic.FLOAT32:
        check_float32(batch.network, batch.space.low, batch.space.high)
    proved, alike = np.zeros(len(batch.x)), defaultdict[tuple[int, int], list[int]](list)
    for i, label in enumerate(batch.labels.tolist()):
        question = batch.questions[label]
        alike[len(question.hidden), len(question.rows)].append(i)
    for members in alike.values():
        bounds = _bounds_of_boxes(batch.take(members), radius[members], where)
        for layer in bounds.hidden:
            bounds.add(layer, work, expired)
        proved[members] = bounds.proved_radii(0 if work == INTERVALS else _STEPS, expired)
    return proved


@dataclass(eq=False)
class _BoxBounds:
    """Bounds of every neuron over the boxes of some inputs, one row for each, layer after layer.

    `question` has the margins of all inputs one after the other. The lists hold one array for each
    layer bounded so far; see `LayerBounds`.
    """

    question: MarginQuestion
    hidden: list[Layer]
    scores: Layer | None
    start: LayerBounds
    ends: tuple[Array, Array]
    outputs: tuple[Array, Array]
    move: Callable[[Any], Array]
    most: Array
    largest_sum: Array
    lower: list[Array] = field(default_factory=list)
    upper: list[Array] = field(default_factory=list)
    sum_sizes: list[Array] = field(default_factory=list)
    run_errors: list[Array] = field(default_factory=list)

    def add(self, layer: Layer, work: float, expired: Expired) -> None:
        """Bound one layer more."""
        xp, known = array_namespace(self.most), bool(self.lower)
        sizes, errors = self._rounding(layer)
        if known:
            lower, upper = from_outputs(layer, self.ends)
        else:
            lower, upper = from_ends(layer.weights, layer.bias, self.ends)
        lost = self.start.rounding_unit * sizes + errors + self.start.underflow
        lower, upper = without_nan(lower - lost, upper + lost)
        if known and work != INTERVALS:
            # once more for the product of a map that is no matrix
            lost = lost + 2 * self.start.rounding_unit * sizes
            self._tighten(layer, lower, upper, lost, expired)
        self.ends = output_ends(lower, upper, layer.slope)
        low, high = self.outputs = self.ends[0] * OUTWARDS, self.ends[1] * OUTWARDS
        self.most = xp.maximum(abs(low), abs(high))
        self.lower.append(lower)
        self.upper.append(upper)
        self.sum_sizes.append(sizes + xp.maximum(abs(lower), abs(upper)))
        self.run_errors.append(errors)

    def _rounding(self, layer: Layer) -> tuple[Array, Array]:
        xp, sizes = array_namespace(self.most), layer.sizes_at(self.most)
        self.largest_sum = xp.maximum(self.largest_sum, xp.max(sizes, axis=1))
        if self.question.arithmetic is Arithmetic.REAL:
            return sizes, xp.zeros_like(sizes)
        return sizes, layer.float32_errors(*self.outputs, sizes)

    def _tighten(
        self, layer: Layer, lower: Array, upper: Array, lost: Array, expired: Expired
    ) -> None:
        """Through all layers where the one before leaves a neuron's side open."""
        xp, weights = array_namespace(lower), layer.weights
        like = {"dtype": lower.dtype, "device": device(lower)}
        owner, neuron = np.nonzero(to_host((lower < 0) & (upper > 0) & (layer.slope < 1)))
        piece = max(1, self._piece // 2)
        for i in range(0, len(owner), piece):
            if expired():
                raise OutOfTime
            boxes, places = owner[i : i + piece], neuron[i : i + piece]
            if isinstance(weights, Dense):
                rows = weights.matrix[places]
            else:
                unit = xp.zeros((len(places), len(layer.bias)), **like)
                unit[np.arange(len(places)), places] = 1.0
                rows = weights.back(unit)
            both, bias = xp.concat([rows, -rows]), layer.bias[places]
            constant = xp.concat([bias, -bias])
            part, relaxed = self._part(np.tile(boxes, 2), both, constant)
            proved = proved_linear_bounds(part, both, constant, relaxed.lines, relaxed.alpha, None)
            floor, n = part.box.floor(proved.a, proved.c), len(places)
            here = boxes, places
            near = without_nan(floor[:n] - lost[here], lost[here] - floor[n:])
            lower[here] = xp.maximum(lower[here], near[0])
            upper[here] = xp.minimum(upper[here], near[1])

    def proved_radii(self, steps: int, expired: Expired) -> Floats:
        """How far the margins of each input are proved, after so many steps for their slopes."""
        xp, question, (rows, offsets) = array_namespace(self.most), self.question, self._margins()
        count, each = len(self.most), len(rows) // len(self.most)
        owner, radii = np.repeat(np.arange(count), each), []
        for i in range(0, len(owner), self._piece):
            if expired():
                raise OutOfTime
            one = slice(i, i + self._piece)
            row, constant = rows[one], offsets[one]
            part, relaxed = self._part(owner[one], row, constant)
            alpha = _searched_slopes(relaxed, steps)
            proved = proved_linear_bounds(part, row, constant, relaxed.lines, alpha, None)
            whole = part.box.floor(proved.a, proved.c) > 0
            near = proved_radius(part.box, proved, xp.zeros_like(proved.c))
            radii.append(xp.where(whole, part.box.radius[:, 0], near))
        by_margin = to_host(xp.concat(radii)).reshape(count, each)
        return np.asarray(np.sort(by_margin, axis=1)[:, question.rank - 1], np.float64)

    def _margins(self) -> tuple[Array, Array]:
        """Rows and offsets, less what rounding takes from the margins themselves."""
        question, like = self.question, self.most
        rows, offsets, signs = map(self.move, (question.rows, question.offsets, question.signs))
        each = len(rows) // len(like)
        owner = np.repeat(np.arange(len(like)), each)
        offsets = offsets - question.gap
        if self.scores is not None:
            sizes, errors = self._rounding(self.scores)
            lost = self.start.rounding_unit * sizes + errors
            offsets = offsets - row_sums(abs(signs), lost[owner])
        if question.gap:
            offsets = offsets - LARGE_SCORES * self.largest_sum[owner]
        return rows, offsets

    @property
    def _piece(self) -> int:
        """Rows that are bounded together."""
        most = _PIECE_VALUES if is_numpy_array(self.most) else _DEVICE_VALUES
        widths = [self.most.shape[1], *(lower.shape[1] for lower in self.lower)]
        return max(1, most // int(sum(widths)))

    def _part(
        self, owner: NDArray[np.intp], rows: Array, constant: Array
    ) -> tuple[LayerBounds, Relaxation]:
        """These rows on the last layer, each with the box and the lines of its input."""
        xp, count = array_namespace(rows), len(self.lower)
        layers, start = self.hidden[:count], self.start
        stops = list(accumulate(len(layer.bias) for layer in layers))
        hidden = HiddenLayers(
            tuple(layer.weights for layer in layers),
            tuple(layer.bias for layer in layers),
            tuple(layer.slope for layer in layers),
            (slice(None),) * count,
            tuple(slice(a, b) for a, b in pairwise([0, *stops])),
            start.layers.centre[owner],
            start.layers.half_width[owner],
        )
        lower, upper = (xp.concat(ends, axis=1)[owner] for ends in (self.lower, self.upper))
        slope = xp.concat([layer.slope for layer in layers])
        lines = activation_lines(lower, upper, slope[None])
        box = start.box
        ends: tuple[Array, ...] = box.x, box.radius, box.low, box.high
        x, radius, low, high = (end[owner] for end in ends)
        own = Box(x, radius, low, high, unit=box.unit)
        part = replace(
            start,
            box=own,
            layers=hidden,
            sum_sizes=tuple(a[owner] for a in self.sum_sizes),
            run_errors=tuple(a[owner] for a in self.run_errors),
        )
        alpha = lines.first_slopes(lower, upper)
        return part, Relaxation(hidden, rows, constant, lines, alpha, None)


def _bounds_of_boxes(batch: InputBatch, radius: Floats, where: str) -> _BoxBounds:
    """Of inputs whose questions have the same shape, before any layer is bounded."""
    questions = [batch.questions[label] for label in batch.labels.tolist()]
    first, x, space = questions[0], batch.x, batch.space
    stacked = replace(
        first,
        rows=np.concatenate([question.rows for question in questions]),
        offsets=np.concatenate([question.offsets for question in questions]),
        signs=np.concatenate([question.signs for question in questions]),
    )
    low, high = np.minimum(space.low, x), np.maximum(space.high, x)
    box = Box(x, radius[:, None], low, high, unit=space.unit)
    start, change = no_layers(stacked, box), to_device(where)
    unit = change(space.unit) if isinstance(space.unit, np.ndarray) else space.unit
    box = Box(change(x), change(box.radius), change(low), change(high), unit=unit)
    layers = replace(
        start.layers,
        centre=change(start.layers.centre),
        half_width=change(start.layers.half_width),
    )
    ends = box.lower, box.upper
    return _BoxBounds(
        stacked,
        [_moved(layer, where) for layer in first.hidden],
        None if first.scores is None else _moved(first.scores, where),
        replace(start, box=box, layers=layers),
        ends,
        ends,
        change,
        box.largest,
        0.0 * box.x[:, 0],
    )


def _searched_slopes(relaxed: Relaxation, steps: int) -> Array:
    """The best slopes met in so many steps of Adam."""
    xp, lines, alpha = array_namespace(relaxed.rows), relaxed.lines, relaxed.alpha
    best, kept = None, alpha
    moments = no_moments(alpha)
    for step in range(steps):
        gradient = replace(relaxed, alpha=alpha).value_and_gradient()
        better = gradient.value == gradient.value if best is None else gradient.value > best
        best = gradient.value if best is None else xp.maximum(best, gradient.value)
        kept = xp.where(better[:, None], alpha, kept)
        alpha = alpha + adam_step(gradient.alpha, moments, step, _RATE)
        alpha = xp.minimum(xp.maximum(alpha, lines.least_slope), lines.most_slope)
    return kept


@lru_cache(maxsize=256)
def _moved(layer: Layer, where: str) -> Layer:
    """A layer on a device; the same for all batches."""
    return layer if where == CPU else layer.converted(to_device(where))
