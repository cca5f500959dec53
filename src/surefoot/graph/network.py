"""A network for proofs: float64 layers, and what it means to keep a label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import Arithmetic
from surefoot.errors import InvalidArgument
from surefoot.graph.activation import CURVES, activated, steepness
from surefoot.graph.linear_map import (
    Convert,
    Convolution,
    Dense,
    Diagonal,
    LinearMap,
    absolute,
    composed,
    dense_rows,
)
from surefoot.subject.protocols import array_namespace

Floats = NDArray[np.float64]
Values = NDArray[Any]
"""Of the type that the file states."""


UNIT = 2.0**-24
"""The rounding unit of float32."""
SMALLEST = 2.0**-126
"""The smallest normal float32: below it a processor may round a result or a weight to 0."""
_LEAST_WEIGHT = SMALLEST / UNIT


@dataclass(frozen=True, eq=False)
class SumSizes:
    """How large the sums are that rows are rounded in: weights·|h| + constant, at outputs h.

    Every term passes at most `roundings` roundings and is added at most `additions` times, in any
    order of summation, fused or not. So with a rounding unit u, ours in float64 or the model's in
    float32, a row is off by at most γ = k·u / (1 − k·u) times its size, k both together; and in
    float32 by `underflow` more. A row with additions is one sum, a row of several sums has all
    their roundings. Without `weights` they are the absolute weights of the layer. Every number on
    the way is at most `peak`·(1 + Σ|h|).
    """

    weights: LinearMap | None
    constant: Floats
    underflow: Floats
    roundings: Floats
    additions: Floats
    peak: float = 0.0

    @property
    def longest(self) -> float:
        """The most roundings of a term."""
        return float((self.roundings + self.additions).max(initial=0.0))


_UPWARDS = 1 + 2.0**-20
"""On limits of rounding, so that their own rounding in float64 does not matter."""
MOST_ROUNDINGS = 2**20
"""Roundings of a term up to which γ is used; above it nothing is proved."""


def weight_sizes(weights: Floats) -> Floats:
    """Absolute weights; of one that may be rounded to 0, what a rounding unit of covers that."""
    size = np.abs(weights)
    return np.where((size > 0) & (size < _LEAST_WEIGHT), _LEAST_WEIGHT, size)


def raised(linear: LinearMap) -> LinearMap | None:
    """The map of the sizes of its weights; None where these are their absolute values."""
    other = False

    def size(weights: Floats) -> Floats:
        nonlocal other
        sizes = weight_sizes(weights)
        other = other or bool((sizes != np.abs(weights)).any())
        return sizes

    sizes = linear.converted(size)
    return sizes if other else None


def longest_sum(linear: LinearMap) -> int:
    """The most terms of a sum that the map makes of outputs, where it is one sum."""
    if isinstance(linear, Dense):
        return int(np.count_nonzero(linear.matrix, axis=1).max(initial=0))
    return linear.kernel.shape[2] if isinstance(linear, Convolution) else linear.terms


def flushed(terms: int) -> float:
    """What a sum of so many products loses at most where results are rounded to 0.

    Twice: what is lost early is rounded up again by later sums.
    """
    return 4 * (terms + 1) * SMALLEST


@dataclass(frozen=True, eq=False)
class Layer:
    """Outputs max(v, slope·v) of v = weights·h + bias; slope 0 is a ReLU, slope 1 is linear.

    In place of a slope there may be a curve, see `activation.py`. Without `sums` each row is one
    sum of products with its bias.
    """

    weights: LinearMap
    bias: Floats
    slope: Floats
    sums: SumSizes | None = None

    def __post_init__(self) -> None:
        rows = self.weights.shape[0]
        if self.bias.shape != (rows,) or self.slope.shape != (rows,):
            raise InvalidArgument(
                f"a layer of weights {self.weights.shape} needs {rows} biases and slopes, got "
                f"{self.bias.shape} and {self.slope.shape}"
            )
        xp = array_namespace(self.bias)
        if not (np.isfinite(self.weights.total) and xp.isfinite(self.bias).all()):
            raise InvalidArgument(
                "a layer holds weights that are not finite, nothing can be proved: export it again"
            )
        between = (self.slope >= 0) & (self.slope <= 1)
        if not between.all() and not (between | np.isin(self.slope, list(CURVES.values()))).all():
            raise InvalidArgument(
                f"slopes must be from 0 to 1, got {self.slope.min()} to {self.slope.max()}: proofs "
                "need a convex activation, Sigmoid or Tanh"
            )

    @cached_property
    def sum_sizes(self) -> SumSizes:
        """How large the sums are that its rows are rounded in."""
        if self.sums is not None:
            return self.sums
        sizes, ones = raised(self.weights), np.ones(self.weights.shape[1])
        terms = longest_sum(self.weights)
        size = (sizes or absolute(self.weights)).forward(ones)
        once, added = np.full(len(size), 2.0), np.full(len(size), float(terms))
        bias, underflow = weight_sizes(self.bias), flushed(terms) + SMALLEST * size
        return SumSizes(sizes, bias, underflow, once, added)

    def converted(self, change: Convert) -> Layer:
        """The same in other arrays."""
        own = self.sum_sizes
        weights = None if own.weights is None else own.weights.converted(change)
        parts = (own.constant, own.underflow, own.roundings, own.additions)
        constant, underflow, roundings, additions = map(change, parts)
        sums = SumSizes(weights, constant, underflow, roundings, additions, own.peak)
        return Layer(self.weights.converted(change), change(self.bias), change(self.slope), sums)

    def sizes_at(self, h: Floats) -> Floats:
        """The sizes of its sums where absolute outputs of the layer before are at most h."""
        sums = self.sum_sizes
        sizes: Floats = (sums.weights or absolute(self.weights)).forward(h) + sums.constant
        return sizes

    def float32_errors(self, low: Floats, high: Floats, sizes: Floats) -> Floats:
        """How far sums computed in float32 are from weights·h + bias, h computed, in [low, high].

        `sizes` are those of the sums. What is added up at any moment is at most the sum of all
        terms above 0, or of all below. A slope times a sum is rounded too, here as if the sum
        itself had been.
        """
        xp, sums = array_namespace(low), self.sum_sizes
        up, down = (high + abs(high)) / 2, (abs(low) - low) / 2
        if sums.weights is None and not down.any():
            within = sizes - sums.constant
        else:
            within = absolute(self.weights).forward(up + down)
        within = within + abs(self.weights.forward(up - down))
        share = (sums.roundings + sums.additions) * UNIT
        gamma = share / (1 - share)
        partial = xp.minimum(within / 2 + sums.constant + gamma * sizes, sizes)
        error = UNIT / (1 - share) * (sums.roundings * sizes + sums.additions * partial)
        leaky = (self.slope > 0) & (self.slope < 1)
        again = 2 * UNIT * sizes + SMALLEST / xp.where(leaky, self.slope, 1.0)
        error = error + sums.underflow + xp.where(leaky, again, 0.0)
        errors: Floats = error * _UPWARDS
        return errors

    def __call__(self, h: Floats) -> Floats:
        """The layer's outputs for a batch."""
        return np.asarray(activated(self.weights.forward(h) + self.bias, self.slope))


def dense_layer(matrix: Floats, bias: Floats, slope: Floats, sums: SumSizes | None = None) -> Layer:
    """A layer of a matrix."""
    if matrix.ndim != 2:
        raise InvalidArgument(f"the weights of a layer must be a matrix, got {matrix.shape}")
    return Layer(Dense(matrix), bias, slope, sums)


def linear_layer(matrix: Floats, bias: Floats, sums: SumSizes | None = None) -> Layer:
    """A layer of a matrix without activation."""
    return dense_layer(matrix, bias, np.ones(len(bias)), sums)


@dataclass(frozen=True, eq=False)
class Network:
    """Layers in order; the last is linear. `ends_in_relu`: the file clips the scores at zero.

    `ends_in_softmax`: its output is the Softmax of them; `normalised` counts that and LogSoftmax.
    `rounded_constants`: a run rounds weights that the file computes from others.
    The label is the first of the highest scores, as argmax gives it; in real arithmetic a Softmax
    leaves it as it is.
    """

    layers: tuple[Layer, ...]
    shape: tuple[int, ...]
    ends_in_relu: bool = False
    ends_in_softmax: bool = False
    normalised: int = 0
    rounded_constants: bool = False

    def __post_init__(self) -> None:
        widths = [int(np.prod(self.shape)), *(len(layer.bias) for layer in self.layers)]
        taken = [layer.weights.shape[1] for layer in self.layers]
        if not self.layers or taken != widths[:-1]:
            raise InvalidArgument(
                f"each layer must take what the one before gives: {taken} values are taken, "
                f"{widths[:-1]} are given: correct the shapes of the weights"
            )
        if not (self.layers[-1].slope == 1).all():
            raise InvalidArgument(
                "the last layer must be linear: pass ends_in_relu=True for a last ReLU"
            )
        if self.classes < 2:
            raise InvalidArgument(
                "a network needs one score for each class, got 1 score: export it with two"
            )

    @property
    def classes(self) -> int:
        """How many labels there are."""
        return len(self.layers[-1].bias)

    def scores(self, x: Floats) -> Floats:
        """Scores of a batch of any shape, in float64."""
        h = np.asarray(x, np.float64).reshape(len(x), -1)
        for layer in self.layers:
            h = layer(h)
        return np.maximum(h, 0.0) if self.ends_in_relu else h

    def outputs(self, x: NDArray[np.floating]) -> Floats:
        """What the file's output would be without rounding: the scores, or their Softmax."""
        scores = self.scores(np.asarray(x, np.float64))
        if not self.ends_in_softmax:
            return scores
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def label(self, x: Floats) -> int:
        """The label of one input."""
        return int(self.scores(np.asarray(x)[None])[0].argmax())

    def keeps(self, x: Floats, label: int, rank: int) -> bool:
        """Whether an input has the label; above rank 1, whether fewer rivals than that reach it."""
        if rank == 1:
            return self.label(x) == label
        scores = self.scores(np.asarray(x)[None])[0]
        return int((scores >= scores[label]).sum()) <= rank


@dataclass(frozen=True, eq=False)
class MarginQuestion:
    """Margins rows·h + offsets on the last hidden layer.

    The label is kept where fewer than `rank` of them are 0 or less. They are `signs` times the
    outputs of the layer `scores`; without one, of the last hidden layer. In float32 the rounding of
    these is subtracted from every margin, and what is left must exceed `gap`, so that a Softmax
    that follows keeps the order.
    """

    hidden: tuple[Layer, ...]
    rows: Floats
    offsets: Floats
    signs: Floats
    scores: Layer | None
    arithmetic: Arithmetic
    gap: float = 0.0
    rank: int = 1

    @property
    def curved(self) -> bool:
        """Whether a hidden layer has a Sigmoid or Tanh."""
        return any((layer.slope < 0).any() for layer in self.hidden)


_SOFTMAX_GAP = 2.0**-17
"""Lead of the highest score that Softmax and LogSoftmax keep in float32: the lead itself rounded,
exponentials and their sum off by some units, a quotient or a logarithm below 16 that is rounded to
2⁻²⁰. Smaller leads can tie."""


def margin_question(
    network: Network, label: int, rank: int = 1, arithmetic: Arithmetic = Arithmetic.REAL
) -> MarginQuestion:
    """What must be positive for `label` to stay the label, or among the best `rank`.

    With a last ReLU a score below zero ties with all others below zero, and the first of them wins.
    So a label other than 0 must also stay above zero; label 0 is beaten only by max(score_0, 0).
    Above rank 1 a tie fails, so every label must stay above zero: that margin stands for `rank`. In
    front of a Softmax in float32 label 0 must too: equal scores may come out unequal.
    """
    *hidden, last = network.layers
    if not 0 <= label < network.classes:
        raise InvalidArgument(
            f"label must be one of the network's labels 0 to {network.classes - 1}, got {label}"
        )
    if not 1 <= rank < network.classes:
        raise InvalidArgument(
            f"a label is always among the best {rank} of {network.classes}: choose a smaller rank"
        )
    one, gap = np.eye(network.classes), 0.0
    if network.normalised and arithmetic is Arithmetic.FLOAT32:
        gap = _SOFTMAX_GAP
    if gap and rank > 1:
        raise InvalidArgument(
            f"the best {rank} of a Softmax can tie in float32: use arithmetic real (--arithmetic "
            "real), or export the scores before the Softmax"
        )
    signs = one[label] - np.delete(one, label, axis=0)
    if network.ends_in_relu and label == 0 and rank == 1 and not gap:
        last = replace(last, slope=np.where(np.arange(network.classes) == 0, 0.0, 1.0))
        hidden.append(last)
    elif network.ends_in_relu:
        signs = np.vstack([signs, *[one[label]] * rank])
    if not hidden or hidden[-1] is last:
        layers, none = tuple(hidden) or (last,), np.zeros(len(signs))
        return MarginQuestion(layers, signs, none, signs, None, arithmetic, gap, rank)
    rows, offsets = signs @ dense_rows(last.weights, slice(None)), signs @ last.bias
    return MarginQuestion(tuple(hidden), rows, offsets, signs, last, arithmetic, gap, rank)


def with_normalisation(network: Network, scale: Floats, shift: Floats) -> Network:
    """The network after its inputs were multiplied by `scale` and then moved by `shift`."""
    first, *rest = network.layers
    sums, before = first.sum_sizes, Diagonal(scale)
    weights = sums.weights or absolute(first.weights)
    once = weights.forward(flushed(1) + SMALLEST * np.abs(scale))
    behind = SumSizes(
        composed(absolute(before), weights),
        sums.constant + weights.forward(np.abs(shift)),
        sums.underflow + once,
        sums.roundings + _NORMALISING,
        sums.additions,
        max(sums.peak, float(np.abs(scale).max()), float(np.abs(shift).max())),
    )
    bias = first.bias + first.weights.forward(shift)
    normalised = Layer(composed(before, first.weights), bias, first.slope, behind)
    return replace(network, layers=(normalised, *rest))


_NORMALISING = 8
"""Roundings by which an input is normalised: a difference and a quotient, or a folded product and
sum, and the same in float64 here."""


def check_float32(network: Network, low: float | Floats, high: float | Floats) -> None:
    """Refuse a network whose rounding in float32 is not limited on inputs within [low, high]."""
    ends = np.maximum(np.abs(low), np.abs(high)).reshape(-1).astype(np.float64)
    if why := _why_unlimited(network, ends.tobytes()):
        raise InvalidArgument(
            f"nothing can be proved of this network in float32: {why}; use arithmetic real "
            "(--arithmetic real)"
        )


@lru_cache(maxsize=1)
def _why_unlimited(network: Network, ends: bytes) -> str | None:
    """The same for all inputs of a network: thousands of them ask."""
    h = np.broadcast_to(np.frombuffer(ends), int(np.prod(network.shape)))
    largest, roundings = float(h.max()), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for layer in network.layers:
            sums = layer.sum_sizes
            largest = max(largest, sums.peak * (1 + float(h.sum())))
            h = 1.1 * layer.sizes_at(h) + sums.underflow  # rounded up, γ is below 0.07
            h = np.where(layer.slope < 0, np.maximum(h, 1.1), h)
            largest = max(largest, float(h.max(initial=0.0)))
            roundings = max(roundings, sums.longest)
    if not largest <= _LARGEST:
        return f"numbers up to {largest:.3g} are possible, which float32 does not hold"
    if roundings > MOST_ROUNDINGS:
        return f"a sum of {roundings:,.0f} terms is too long to limit its rounding"
    if network.normalised > 1:
        return "a Softmax of a Softmax can tie"
    if network.rounded_constants:
        return "it computes weights from others, and rounds them (export it with constants folded)"
    return None


_LARGEST = 2.0**120
"""Largest number that is allowed in float32; the factor of 128 to its end covers rounding."""


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins of a question in float64, and the size of the sums that each is rounded in.

    `gains[k][i]`: the part that an output of 1 of layer k has in the size of margin i; the first is
    of the input.
    """

    question: MarginQuestion
    gains: tuple[Floats, ...]
    constant: Floats

    def margin(self, points: Floats, row: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """The margins and their gradients."""
        return self._margins_and_sizes(points, row)[:2]

    def half_ratio(self, points: Floats, row: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Of the first half the margins, of the others the margins beside the size of their sums.

        And the directions of their gradients.
        """
        margin, slope, size, growth = self._margins_and_sizes(points, row)
        half = len(points) // 2
        ratio = margin[half:] / size[half:]
        slope[half:] -= ratio[:, None] * growth[half:]
        return np.concatenate([margin[:half], ratio]), slope

    def size(self, points: Floats, row: NDArray[np.intp]) -> Floats:
        """The size of the sums behind the margins."""
        return self._margins_and_sizes(points, row)[2]

    def _margins_and_sizes(
        self, points: Floats, row: NDArray[np.intp]
    ) -> tuple[Floats, Floats, Floats, Floats]:
        outputs, on = [points], []
        for layer in self.question.hidden:
            v = layer.weights.forward(outputs[-1]) + layer.bias
            outputs.append(activated(v, layer.slope))
            on.append(steepness(v, layer.slope))
        slope = self.question.rows[row]
        margin = np.einsum("ij,ij->i", outputs[-1], slope) + self.question.offsets[row]
        size = self.constant[row]
        for h, gain in zip(outputs, self.gains, strict=True):
            size = size + np.einsum("ij,ij->i", np.abs(h), gain[row])
        growth = np.sign(outputs[-1]) * self.gains[-1][row]
        layers = zip(
            self.question.hidden[::-1], on[::-1], outputs[-2::-1], self.gains[-2::-1], strict=True
        )
        for layer, side, h, gain in layers:
            both = np.concatenate([slope, growth]) * np.tile(side, (2, 1))
            slope, growth = np.split(layer.weights.back(both), 2)
            growth = growth + np.sign(h) * gain[row]
        return margin, slope, size, growth


def margins_with_sizes(question: MarginQuestion) -> Margins:
    """The margins of a question, with the gains of every layer."""
    gain, gains = np.abs(question.signs), []
    constant = np.full(len(gain), np.finfo(np.float64).tiny)
    layers = question.hidden if question.scores is None else (*question.hidden, question.scores)
    if question.scores is None:
        gains.append(gain)
    for layer in layers[::-1]:
        sums, size = layer.sum_sizes, absolute(layer.weights)
        constant = constant + gain @ (sums.constant + sums.underflow / UNIT)
        gains.append((sums.weights or size).back(gain))
        gain = np.abs(question.rows) if layer is question.scores else size.back(gain)
    return Margins(question, tuple(gains[::-1]), constant)


def score_sizes(network: Network, x: Floats) -> Floats:
    """The size of the sums that each score is rounded in, at flat points: one column a class.

    A score evaluated with a rounding unit u, in any order of summation, is off by at most about n·u
    times this, n the terms of all sums on the way.
    """
    *hidden, last = network.layers
    one = np.eye(network.classes)
    sizes = margins_with_sizes(
        MarginQuestion(
            tuple(hidden),
            dense_rows(last.weights, slice(None)),
            last.bias,
            one,
            last,
            Arithmetic.REAL,
        )
    )
    every = np.arange(network.classes)
    return np.stack([sizes.size(np.repeat(one[None], len(every), 0), every) for one in x])
