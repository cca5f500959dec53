"""Linear bounds of a network over a ball: lines about activations, and what they prove."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.compiled.library import compiled_library
from surefoot.graph.activation import CURVE_ERROR, halves
from surefoot.graph.linear_map import Dense, Diagonal, LinearMap, Product, composed
from surefoot.graph.network import Floats
from surefoot.subject.protocols import Array, Ball, array_namespace
from surefoot.verify.ball import Box, Moves, Sloped, row_pieces, row_sums
from surefoot.verify.compiled_search import (
    NewtonSteps,
    PackedBounds,
    PackedLayers,
    radii_compiled,
    single,
)
from surefoot.verify.device import like_device

Places = tuple[tuple[slice | NDArray[np.intp], slice], ...]
"""For each layer, where its columns of an array of some columns stand in it, and in the array."""


def picked(a: Array, columns: slice | NDArray[np.intp]) -> Array:
    """Some columns, in the layout of the array."""
    if isinstance(columns, slice):
        return a[:, columns]
    if isinstance(a, np.ndarray) and a.flags.f_contiguous:
        return np.take(a.T, columns, axis=0).T
    return a[:, columns]


def rows_by_columns(a: Array, index: NDArray[Any]) -> Array:
    """Some rows, of NumPy one column after the other in memory: columns are picked all the time."""
    if isinstance(a, np.ndarray):
        return np.asarray(np.take(a.T, index, axis=-1).T)
    return a[index]


def positive_part(a: Array) -> Array:
    """What is above 0, else 0; in NumPy by exact operations that are faster than a maximum."""
    part: Array = (a + abs(a)) / 2 if isinstance(a, np.ndarray) else array_namespace(a).clip(a, 0.0)
    return part


def single_by_columns(a: Array) -> Array:
    """In float32, for searching, of NumPy one column after the other."""
    if isinstance(a, np.ndarray):
        return np.array(a, np.float32, order="F")
    xp = array_namespace(a)
    return xp.astype(a, xp.float32, copy=True)


@dataclass(frozen=True, eq=False)
class HiddenLayers:
    """Hidden layers over a box, in one precision.

    `slope` holds the slope of the decided neurons; `undecided` where the others stand in the layer,
    `columns` where these stand among those of all layers. `moves` is how
    points move from the centre in a ball that is no box. Where each row has a box of its own,
    `centre` and `half_width` have a row for each.
    """

    weights: tuple[LinearMap, ...]
    bias: tuple[Array, ...]
    slope: tuple[Array, ...]
    undecided: tuple[slice | NDArray[np.intp], ...]
    columns: tuple[slice, ...]
    centre: Array
    half_width: Array
    moves: Moves | None = None

    @cached_property
    def sums_at_centre(self) -> Array:
        """The first layer's sums at the centre."""
        sums: Array = self.bias[0] + self.weights[0].forward(self.centre)
        return sums

    @cached_property
    def scaled_weights(self) -> LinearMap:
        """The first layer's weights times the half widths of the box."""
        scale = Diagonal(self.half_width)
        if self.half_width.ndim == 1:
            return composed(scale, self.weights[0])
        return Product((scale, self.weights[0]))

    @cached_property
    def packed(self) -> PackedLayers | None:
        """For compiled searches, where these are matrices in NumPy over one box."""
        dense = all(isinstance(one, Dense) for one in self.weights)
        one_box = isinstance(self.centre, np.ndarray) and self.half_width.ndim == 1
        plain = dense and one_box and self.moves is None and all(map(len, self.bias))
        library = compiled_library() if plain else None
        if library is None:
            return None
        weights = self.scaled_weights, *self.weights[1:]
        matrices = tuple(single(one.matrix) for one in weights if isinstance(one, Dense))
        bias = tuple(map(single, (self.sums_at_centre, *self.bias[1:])))
        slope = tuple(map(single, self.slope))
        neurons = (np.arange(len(one), dtype=np.intp) for one in slope)
        places = tuple(n[own] for n, own in zip(neurons, self.undecided, strict=True))
        return PackedLayers(library, matrices, bias, slope, places)

    def places(self, columns: NDArray[np.intp]) -> Places:
        """Where some of the undecided neurons stand, in the order of their columns."""
        found = []
        for cols, own in zip(self.columns, self.undecided, strict=True):
            first, last = np.searchsorted(columns, (cols.start, cols.stop))
            at = columns[first:last] - cols.start
            found.append((at if isinstance(own, slice) else own[at], slice(first, last)))
        return tuple(found)

    @cached_property
    def float32(self) -> HiddenLayers:
        """The same in float32, for searching; what is proved without a search needs none."""

        def single(a: Array) -> Array:
            xp = array_namespace(a)
            return xp.astype(a, xp.float32)

        return self.changed(single)

    def changed(self, change: Callable[[Array], Array]) -> HiddenLayers:
        """The same with other numbers."""
        weights = tuple(one.converted(change) for one in self.weights)
        bias, slope = tuple(map(change, self.bias)), tuple(map(change, self.slope))
        box = change(self.centre), change(self.half_width)
        return HiddenLayers(weights, bias, slope, self.undecided, self.columns, *box, self.moves)


@dataclass(frozen=True, eq=False)
class ActivationLines:
    """Lines around undecided neurons, (nodes or 1, columns).

    A neuron's output is at most `upper_slope`·v + `upper_offset`; below it lies a line through 0 of
    any slope from `least_slope` to `most_slope`. Below a curve there is one line, of its own
    `lower_offset`; without curves that is None.
    """

    upper_slope: Array
    upper_offset: Array
    least_slope: Array
    most_slope: Array
    lower_offset: Array | None = None

    def first_slopes(self, lower: Array, upper: Array) -> Array:
        """The slopes below from which a search begins."""
        slopes: Array = array_namespace(lower).where(
            upper > -lower, self.most_slope, self.least_slope
        )
        return slopes

    @property
    def for_undecided(self) -> tuple[Array, ...]:
        """Those without a curve."""
        return self.upper_slope, self.upper_offset, self.least_slope, self.most_slope

    def take(self, index: NDArray[Any]) -> ActivationLines:
        """The lines of some nodes."""
        if len(self.upper_slope) == 1:  # the same lines for all
            return self
        return self.changed(lambda part: rows_by_columns(part, index))

    def float32(self) -> ActivationLines:
        """The same in float32, for searching, one column after the other."""
        return self.changed(single_by_columns)

    def changed(self, change: Callable[[Array], Array]) -> ActivationLines:
        """The same in other arrays."""
        above, lift, least, most = map(
            change, (self.upper_slope, self.upper_offset, self.least_slope, self.most_slope)
        )
        below = None if self.lower_offset is None else change(self.lower_offset)
        return ActivationLines(above, lift, least, most, below)


def activation_lines(lower: Array, upper: Array, slope: Array) -> ActivationLines:
    """The chord above max(v, slope·v) on [lower, upper] and the range of slopes below it.

    And one line above and one below each curve; all have one row more in front.
    """
    xp = array_namespace(lower)
    low, width = xp.clip(lower, None, 0.0), xp.clip(upper, 0.0, None)  # one is 0 where decided
    width -= low
    width += width == 0
    above = low / width
    above *= 1 - slope
    above += 1.0  # also where the upper end is infinite
    lift = slope - above
    lift *= low
    most = (1 - slope) * (upper > 0)
    least = most * (lower >= 0)
    most += slope
    least += slope
    if not (slope < 0).any():
        return ActivationLines(above, lift, least, most)
    curved = np.flatnonzero(slope[0] < 0)
    below = np.zeros_like(above)
    half = halves(slope[0, curved])
    a, b, square = half * lower[:, curved], half * upper[:, curved], half * half
    shift, off = 1 - half, CURVE_ERROR + _CURVE_ROUNDING * (1 + np.maximum(np.abs(a), np.abs(b)))
    steep, offset = _line_above_tanh(a, b)
    above[:, curved], lift[:, curved] = square * steep, shift + half * offset + off
    steep, offset = _line_above_tanh(-b, -a)  # tanh(−w) = −tanh(w)
    least[:, curved] = most[:, curved] = square * steep
    below[:, curved] = shift - half * offset - off
    return ActivationLines(above, lift, least, most, below)


_CURVE_ROUNDING = 2.0**-40
"""Rounding in float64 of a curve's line, as a share of 1 and of the largest sum: its few sums and
the tangents of NumPy are off by some units of 2⁻⁵²."""
_TANGENT_HALVINGS = 12
"""Halvings for the point where a line from the lower end touches tanh. Any number gives a true
bound, since its offset follows from its slope."""


def _line_above_tanh(a: Array, b: Array) -> tuple[Array, Array]:
    """Slope and offset of a line above tanh on [a, b], apart from rounding.

    The chord where tanh is convex or the touching point lies beyond b; the tangent in the middle
    where it is concave; else the tangent through the lower end (Zhang et al. 2018, CROWN).
    """
    at_a, at_b = np.tanh(a), np.tanh(b)
    chord = np.where(b > a, (at_b - at_a) / np.maximum(b - a, _TINY), 1 - at_a * at_a)
    near, far = np.maximum(a, 0.0), np.maximum(b, 0.0)
    first, last = near, far
    for _ in range(_TANGENT_HALVINGS):
        middle = (first + last) / 2
        at = np.tanh(middle)
        before = (1 - at * at) * (middle - a) > at - at_a
        first, last = np.where(before, middle, first), np.where(before, last, middle)
    touch = np.tanh(np.where(a >= 0, (a + b) / 2, last))
    slope = np.where((b <= 0) | ((a < 0) & (1 - at_b * at_b >= chord)), chord, 1 - touch * touch)
    # The largest value of tanh(w) − slope·w: convex below 0, so at an end; concave above, so below
    # every tangent, of which that at the point of the same slope is lowest.
    convex = np.maximum(at_a - slope * a, np.tanh(np.minimum(b, 0.0)) - slope * np.minimum(b, 0.0))
    with np.errstate(divide="ignore"):
        point = np.arctanh(np.sqrt(np.clip(1 - slope, 0.0, 1.0)))
    point = np.clip(point, near, far)
    at = np.tanh(point)
    rising = 1 - at * at - slope
    concave = at - slope * point + np.maximum(rising * (near - point), rising * (far - point))
    offset = np.where(a >= 0, concave, np.where(b <= 0, convex, np.maximum(convex, concave)))
    return slope, offset


@dataclass(frozen=True, eq=False)
class ChosenLine:
    """Of a layer's undecided neurons: their outputs' coefficients, and the lines in their place."""

    coefficients: Array
    slope: Array
    offset: Array


_NO_LINE = ChosenLine(*(np.zeros((0, 0)),) * 3)


@dataclass(frozen=True, eq=False)
class BackwardPass:
    """rows·h ≥ sum_coefficients[0]·v_0 + constant, where v_0 are the first layer's sums.

    `output_coefficients[j]` multiply the outputs of layer j, `sum_coefficients[j]` its sums.
    """

    output_coefficients: list[Array]
    sum_coefficients: list[Array]
    lines: list[ChosenLine]
    constant: Array


@dataclass(frozen=True, eq=False)
class BoundGradient:
    """The bound at the box's radius and its gradient."""

    value: Array
    alpha: Array
    signed_beta: Array


@dataclass(frozen=True, eq=False)
class Relaxation:
    """rows·h + constant, h the outputs of the last of the layers, with lines about its neurons.

    `alpha` are the slopes of the lines below undecided neurons; `signed_beta`, where branching has
    fixed sides of neurons, their multipliers times the side: of all of them, or of those that
    stand at `places`.
    """

    layers: HiddenLayers
    rows: Array
    constant: Array
    lines: ActivationLines
    alpha: Array
    signed_beta: Array | None
    places: Places | None = None

    def propagate_back(self) -> BackwardPass:
        """A bound from below by the sums of the first layer."""
        layers, depth = self.layers, len(self.layers.weights)
        after: list[Array] = [self.rows] * depth
        before, chosen = after.copy(), [_NO_LINE] * depth
        coefficients, constant = self.rows, self.constant
        for j in range(depth - 1, -1, -1):
            cols, own = layers.columns[j], layers.undecided[j]
            line = self._chosen_line(picked(coefficients, own), cols)
            constant = constant + row_sums(line.coefficients, line.offset)
            z = coefficients * layers.slope[j]
            z[:, own] = line.coefficients * line.slope
            if self.signed_beta is not None:
                at, part = (own, cols) if self.places is None else self.places[j]
                z[:, at] -= self.signed_beta[:, part]
            after[j], before[j], chosen[j] = coefficients, z, line
            if j:
                constant = constant + z @ layers.bias[j]
                coefficients = layers.weights[j].back(z)
        return BackwardPass(after, before, chosen, constant)

    def _chosen_line(self, coefficients: Array, cols: slice) -> ChosenLine:
        """In NumPy by products with 0 and 1: exact, and ten times as fast where signs are mixed."""
        xp, lines, below = array_namespace(coefficients), self.lines, self.lines.lower_offset
        if not isinstance(coefficients, np.ndarray) and below is None:
            falling, lift = coefficients < 0, lines.upper_offset[:, cols]
            slope = xp.where(falling, lines.upper_slope[:, cols], self.alpha[:, cols])
            return ChosenLine(coefficients, slope, xp.where(falling, lift, 0.0))
        negative = xp.astype(coefficients < 0, coefficients.dtype)
        positive, slope = 1 - negative, negative * lines.upper_slope[:, cols]
        offset = negative * lines.upper_offset[:, cols]
        if below is not None:
            offset += positive * below[:, cols]
        positive *= self.alpha[:, cols]
        slope += positive
        return ChosenLine(coefficients, slope, offset)

    def value(self) -> Array:
        """The bound over the whole box."""
        backward, layers = self.propagate_back(), self.layers
        first = layers.scaled_weights if layers.moves is None else layers.weights[0]
        return self._value_by_inputs(backward, first.back(backward.sum_coefficients[0]))

    def value_and_gradient(self) -> BoundGradient:
        """The bound over the whole box, and its gradient in `alpha` and `signed_beta`.

        The gradient is one forward pass of the relaxed network at the bound's worst point.
        """
        layers, depth = self.layers, len(self.layers.weights)
        backward = self.propagate_back()
        value, v = self._at_worst_point(backward)
        xp = array_namespace(v)
        to_alpha = xp.empty_like(self.alpha)
        to_beta = to_alpha if self.signed_beta is None else xp.empty_like(self.signed_beta)
        for j in range(depth):
            cols, own = layers.columns[j], layers.undecided[j]
            line, sums = backward.lines[j], picked(v, own)
            xp.multiply(positive_part(line.coefficients), sums, out=to_alpha[:, cols])
            if self.signed_beta is not None:
                at, part = (own, cols) if self.places is None else self.places[j]
                to_beta[:, part] = -v[:, at]
            if j + 1 < depth:
                h = v * layers.slope[j]
                outputs = line.slope * sums
                outputs += line.offset
                h[:, own] = outputs
                v = layers.weights[j + 1].forward(h) + layers.bias[j + 1]
        return BoundGradient(value, to_alpha, to_beta)

    def _at_worst_point(self, backward: BackwardPass) -> tuple[Array, Array]:
        """The bound, and the first layer's sums where it is reached: the shorter sum gives it."""
        z, layers = backward.sum_coefficients[0], self.layers
        if layers.moves is not None:
            slopes = layers.weights[0].back(z)
            moved = np.copysign(layers.moves.of(slopes), slopes)
            v = layers.sums_at_centre - layers.weights[0].forward(moved)
            return backward.constant + row_sums(z, v), v
        corner, value = layers.scaled_weights.back(z), None
        if corner.shape[1] < z.shape[1]:
            value = self._value_by_inputs(backward, corner)
        xp = array_namespace(corner)
        xp.copysign(xp.ones_like(corner[:1, :1]), corner, out=corner)
        v = layers.sums_at_centre - layers.scaled_weights.forward(corner)
        return backward.constant + row_sums(z, v) if value is None else value, v

    def _value_by_inputs(self, backward: BackwardPass, slopes: Array) -> Array:
        """The bound, from its slopes in the inputs: those of a box times its half widths."""
        z, layers = backward.sum_coefficients[0], self.layers
        size = abs(slopes)
        lost = size.sum(axis=1) if layers.moves is None else row_sums(layers.moves.of(slopes), size)
        return backward.constant + row_sums(z, layers.sums_at_centre) - lost


_NEWTON_CAUTION = 1 - 1e-9
"""Factor on Newton's step, so that rounding of the step itself does not pass the root; what is
proved is evaluated anew, so it only affects tightness."""
_TINY = 1e-300
"""Divisor in place of a slope of 0, where the step is then cut to the radius of the box."""


@dataclass(frozen=True, eq=False)
class LayerBounds:
    """The hidden layers over a box, bounds of their undecided neurons, the rows of the margins.

    `sum_sizes` are the sums that each neuron is rounded in, `largest` the largest absolute inputs
    and outputs of each layer; `rounding_unit` and `underflow` limit what float64 loses here.
    `run_errors` limit how far the sums of each layer, as the model computes them, are from those of
    its own inputs: 0 in real arithmetic. Bounds of neurons hold for sums as computed.
    """

    box: Box
    layers: HiddenLayers
    rows: Floats
    offsets: Floats
    lower: Floats
    upper: Floats
    slope: Floats
    sum_sizes: tuple[Floats, ...]
    largest: tuple[Floats, ...]
    run_errors: tuple[Floats, ...]
    rounding_unit: float
    underflow: float

    @cached_property
    def packed(self) -> PackedBounds | None:
        """For compiled proofs, where there are compiled searches and no curves."""
        layers, packed = self.layers, self.layers.float32.packed
        box = self.box.norm is Ball.LINF and self.box.x.ndim == 1
        if packed is None or not box or (self.slope < 0).any():
            return None
        known = layers.bias, layers.slope, self.sum_sizes, self.run_errors
        bias, slope, sizes, errors = (tuple(map(np.ascontiguousarray, part)) for part in known)
        matrices = tuple(one.matrix for one in layers.weights if isinstance(one, Dense))
        rows, offsets, columns = map(np.ascontiguousarray, (self.rows, self.offsets, self.slope))
        hidden, margins = (matrices, bias, slope, sizes, errors), (rows, offsets, columns)
        lost = self.rounding_unit, self.underflow
        return PackedBounds(packed, self.box, *hidden, *margins, lost)

    @cached_property
    def first_run_loss(self) -> Floats:
        """About what rounding in the model takes from each margin, for searches."""
        xp = array_namespace(self.rows)
        if not any(errors.any() for errors in self.run_errors):
            none: Floats = xp.zeros_like(self.offsets)
            return none
        lines = activation_lines(self.lower[None], self.upper[None], self.slope[None])
        alpha = xp.repeat(lines.first_slopes(self.lower, self.upper), len(self.rows), axis=0)
        relaxed = Relaxation(self.layers, self.rows, self.offsets, lines, alpha, None)
        return run_loss(self, relaxed.propagate_back())

    def moved(self, change: Callable[[Array], Array]) -> LayerBounds:
        """The same on another device."""
        layers = self.layers.changed(change)
        undecided = (one if isinstance(one, slice) else change(one) for one in layers.undecided)
        sizes, largest, errors = (
            tuple(map(change, part)) for part in (self.sum_sizes, self.largest, self.run_errors)
        )
        return replace(
            self,
            box=self.box.moved(change),
            layers=replace(layers, undecided=tuple(undecided)),
            rows=change(self.rows),
            offsets=change(self.offsets),
            lower=change(self.lower),
            upper=change(self.upper),
            slope=change(self.slope),
            sum_sizes=sizes,
            largest=largest,
            run_errors=errors,
        )


@dataclass(frozen=True, eq=False)
class LinearBounds:
    """margin ≥ a·x + c over the box, for each node, after `rounding` is subtracted."""

    a: Floats
    c: Floats
    rounding: Floats

    @property
    def parts(self) -> tuple[Array, Array, Array]:
        """All arrays, in their order."""
        return self.a, self.c, self.rounding

    def take(self, index: NDArray[Any]) -> LinearBounds:
        """Of some nodes."""
        there = like_device(index, self.a)
        return LinearBounds(*(part[there] for part in self.parts))


def proved_linear_bounds(
    bounds: LayerBounds,
    rows: Floats,
    constant: Floats,
    lines: ActivationLines,
    alpha: Array,
    signed_beta: Array | None,
) -> LinearBounds:
    """Linear lower bounds of the rows in the input, in float64, true for any α and any β ≥ 0."""
    layers = bounds.layers
    xp = array_namespace(rows)
    inside = xp.maximum(xp.astype(alpha, rows.dtype), lines.least_slope)
    inside = xp.minimum(inside, lines.most_slope)
    beta = None if signed_beta is None else xp.astype(signed_beta, rows.dtype)
    backward = Relaxation(layers, rows, constant, lines, inside, beta).propagate_back()
    a = layers.weights[0].back(backward.sum_coefficients[0])
    c = backward.constant + backward.sum_coefficients[0] @ layers.bias[0]
    # Every sum above is rounded: what that can lose is subtracted, in the size of its terms.
    total = abs(constant)
    for j, coefficients in enumerate(backward.output_coefficients):
        total = total + row_sums(abs(coefficients), bounds.sum_sizes[j])
        if beta is not None:
            cols = layers.columns[j]
            own_sizes = bounds.sum_sizes[j][layers.undecided[j]]
            total = total + abs(beta[:, cols]) @ own_sizes
    rounding = bounds.rounding_unit * total
    lost = rounding + run_loss(bounds, backward)
    return LinearBounds(a, c - lost - bounds.underflow, rounding)


def run_loss(bounds: LayerBounds, backward: BackwardPass) -> Floats:
    """What the model's own rounding can take from rows bounded like this.

    Its sums are v = weights·h + bias + δ, |δ| at most the layer's `run_errors`, and each δ stands
    in the bound with the coefficient of its sum.
    """
    lost: Floats = array_namespace(backward.constant).zeros_like(backward.constant)
    for coefficients, errors in zip(backward.sum_coefficients, bounds.run_errors, strict=True):
        lost = lost + row_sums(abs(coefficients), errors)
    return lost


NEWTON_STEPS = 2
"""Towards the radius that a bound proves. Chosen by hand; what is proved holds whatever it is."""


def newton_steps(count: int = NEWTON_STEPS) -> NewtonSteps:
    """So many of them."""
    return NewtonSteps(count, _NEWTON_CAUTION, _TINY)


def proved_radius(
    box: Box, linear_bounds: LinearBounds, start: Floats, steps: int = NEWTON_STEPS
) -> Floats:
    """For each bound the radius up to which it is positive, from below; 0 where there is none.

    The box's own where it is positive on the whole box. Elsewhere Newton's steps: the minimum is
    convex and falls with the radius, so they stay left of where it is 0. `start`: radii to begin
    from, each already known or 0.
    """
    xp = array_namespace(start)
    one_box = box.norm is Ball.LINF and box.x.ndim == 1 and isinstance(start, np.ndarray)
    if one_box and (library := compiled_library()) is not None:
        known = linear_bounds.a, linear_bounds.c, start, newton_steps(steps)
        return radii_compiled(library, box, *known)
    best: Floats = xp.empty_like(start)
    whole = xp.zeros_like(start) + (box.radius if box.x.ndim == 1 else box.radius[:, 0])
    for part in row_pieces(linear_bounds.a):
        sloped = box.sloped(linear_bounds.a, linear_bounds.c, part)
        least, _ = sloped.least(whole[part])
        best[part] = xp.where(least > 0, whole[part], 0.0)
        (short,) = xp.nonzero(~(least > 0))
        if len(short):
            begun, most = start[part][short], whole[part][short]
            best[part][short] = _by_newton(sloped.take(short), begun, most, steps)
    return best


def _by_newton(sloped: Sloped, radius: Floats, most: Floats, steps: int) -> Floats:
    xp = array_namespace(radius)
    proved: Floats = xp.zeros_like(radius)
    for _ in range(steps):
        least, slope = sloped.least(radius)
        proved = xp.where(least > 0, xp.maximum(proved, radius), proved)
        with np.errstate(over="ignore"):
            step = least * _NEWTON_CAUTION / (slope + _TINY)
        radius = xp.where(least > 0, xp.minimum(radius + step, most), 0.0)
    least, _ = sloped.least(radius)
    last: Floats = xp.where(least > 0, xp.maximum(proved, radius), proved)
    return last
