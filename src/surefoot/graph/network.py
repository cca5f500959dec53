"""A network for proofs: float64 layers, and what it means to keep a label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.graph.linear_map import (
    Dense,
    Diagonal,
    LinearMap,
    absolute,
    composed,
    dense_rows,
)

Floats = NDArray[np.float64]
Values = NDArray[Any]
"""Of the type that the file states."""


@dataclass(frozen=True, eq=False)
class RoundingLoss:
    """How far rows are from real arithmetic: each by at most constant + factor·Σ|h|.

    Layers without an activation between them are multiplied out in float64; this is what that lost.
    """

    constant: Floats
    factor: Floats

    def at(self, total: float) -> Floats:
        """The limits where Σ|h| is at most `total`."""
        return self.constant + self.factor * total

    def like(self, shape: tuple[int, ...]) -> RoundingLoss:
        """The same for a broader shape."""
        return RoundingLoss(
            np.broadcast_to(self.constant, shape), np.broadcast_to(self.factor, shape)
        )

    def take(self, rows: list[int]) -> RoundingLoss:
        """Of some rows."""
        return RoundingLoss(self.constant[rows], self.factor[rows])

    def plus(self, other: RoundingLoss) -> RoundingLoss:
        """Of sums or differences of rows."""
        return RoundingLoss(self.constant + other.constant, self.factor + other.factor)


def no_rounding_loss(rows: int) -> RoundingLoss:
    """Nothing was multiplied out."""
    return RoundingLoss(np.zeros(rows), np.zeros(rows))


@dataclass(frozen=True, eq=False)
class Layer:
    """Outputs max(v, slope·v) of v = weights·h + bias; slope 0 is a ReLU, slope 1 is linear.

    Without a `loss` the weights and bias are those of the file.
    """

    weights: LinearMap
    bias: Floats
    slope: Floats
    loss: RoundingLoss | None = None

    def __post_init__(self) -> None:
        rows = self.weights.shape[0]
        if self.bias.shape != (rows,) or self.slope.shape != (rows,):
            raise InvalidArgument(
                f"a layer of weights {self.weights.shape} needs {rows} biases and slopes, got "
                f"{self.bias.shape} and {self.slope.shape}"
            )
        if not (np.isfinite(self.weights.total) and np.isfinite(self.bias).all()):
            raise InvalidArgument(
                "a layer holds weights that are not finite, nothing can be proved: export it again"
            )
        if not ((self.slope >= 0) & (self.slope <= 1)).all():
            raise InvalidArgument(
                f"slopes must be from 0 to 1, got {self.slope.min()} to {self.slope.max()}: proofs "
                "need a convex activation"
            )

    @property
    def rounding_loss(self) -> RoundingLoss:
        """What multiplying out lost, nothing if nothing was."""
        return self.loss or no_rounding_loss(len(self.bias))

    def __call__(self, h: Floats) -> Floats:
        """The layer's outputs for a batch."""
        v = self.weights.forward(h) + self.bias
        return np.asarray(np.maximum(v, self.slope * v))


def dense_layer(
    matrix: Floats, bias: Floats, slope: Floats, loss: RoundingLoss | None = None
) -> Layer:
    """A layer of a matrix."""
    if matrix.ndim != 2:
        raise InvalidArgument(f"the weights of a layer must be a matrix, got {matrix.shape}")
    return Layer(Dense(matrix), bias, slope, loss)


def linear_layer(matrix: Floats, bias: Floats, loss: RoundingLoss | None = None) -> Layer:
    """A layer of a matrix without activation."""
    return dense_layer(matrix, bias, np.ones(len(bias)), loss)


@dataclass(frozen=True, eq=False)
class Network:
    """Layers in order; the last is linear. `ends_in_relu`: the file clips the scores at zero.

    `ends_in_softmax`: its output is the Softmax of them. The label is the first of the highest
    scores, as argmax gives it; in real arithmetic a Softmax leaves it as it is.
    """

    layers: tuple[Layer, ...]
    shape: tuple[int, ...]
    ends_in_relu: bool = False
    ends_in_softmax: bool = False

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

    The label is kept where fewer than `rank` of them are 0 or less.
    """

    hidden: tuple[Layer, ...]
    rows: Floats
    offsets: Floats
    loss: RoundingLoss
    rank: int = 1


def margin_question(network: Network, label: int, rank: int = 1) -> MarginQuestion:
    """What must be positive for `label` to stay the label, or among the best `rank`.

    With a last ReLU a score below zero ties with all others below zero, and the first of them wins.
    So a label other than 0 must also stay above zero; label 0 is beaten only by max(score_0, 0).
    Above rank 1 a tie fails, so every label must stay above zero: that margin stands for `rank`.
    """
    *hidden, last = network.layers
    if not 0 <= label < network.classes:
        raise InvalidArgument(
            f"label must be one of the network's labels 0 to {network.classes - 1}, got {label}"
        )
    weights, bias, loss = dense_rows(last.weights, slice(None)), last.bias, last.rounding_loss
    if not 1 <= rank < network.classes:
        raise InvalidArgument(
            f"a label is always among the best {rank} of {network.classes}: choose a smaller rank"
        )
    others = [j for j in range(network.classes) if j != label]
    if network.ends_in_relu and label == 0 and rank == 1:
        slope = np.ones(network.classes)
        slope[0] = 0.0
        hidden.append(dense_layer(weights, bias, slope, loss))
        weights, bias = np.eye(network.classes), np.zeros(network.classes)
        loss = no_rounding_loss(network.classes)
    rows, offsets = weights[label] - weights[others], bias[label] - bias[others]
    lost = loss.take([label] * len(others)).plus(loss.take(others))
    if network.ends_in_relu and (label != 0 or rank > 1):
        own, again = loss.take([label] * rank), [label] * rank
        rows, offsets = np.vstack([rows, weights[again]]), np.append(offsets, bias[again])
        lost = RoundingLoss(
            np.append(lost.constant, own.constant), np.append(lost.factor, own.factor)
        )
    if not hidden:
        margins, none = linear_layer(rows, offsets, lost), no_rounding_loss(len(rows))
        return MarginQuestion((margins,), np.eye(len(rows)), np.zeros(len(rows)), none, rank)
    return MarginQuestion(tuple(hidden), rows, offsets, lost, rank)


def with_normalisation(network: Network, scale: Floats, shift: Floats) -> Network:
    """The network after its inputs were multiplied by `scale` and then moved by `shift`."""
    first, *rest = network.layers
    terms = (max(first.weights.shape[1], first.weights.terms) + 4) * 2.0**-52
    bias, size = first.bias + first.weights.forward(shift), absolute(first.weights)
    lost = first.rounding_loss
    constant = lost.at(float(np.abs(shift).sum())) + terms * (
        size.forward(np.abs(shift)) + np.abs(bias)
    )
    loss = RoundingLoss(constant, lost.factor * np.abs(scale).max())
    before = Layer(composed(Diagonal(scale), first.weights), bias, first.slope, loss)
    return replace(network, layers=(before, *rest))


_UNDERFLOW = 2.0**-125
"""What underflow adds to a sum, 2⁻¹⁴⁹, in units of the rounding of float32, 2⁻²⁴."""
_LOSS_AS_SIZE = 2.0**52
"""What multiplying layers out in float64 lost, as a size: float32 loses more of the same sums."""


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins of a question in float64, and the size of the sums that each is rounded in.

    `gains[k][i]`: the most by which margin i can move when an output of layer k moves by 1; the
    first is of the input.
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
            outputs.append(np.maximum(v, layer.slope * v))
            on.append(v > 0)
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
            both = np.concatenate([slope, growth]) * np.where(np.tile(side, (2, 1)), 1, layer.slope)
            slope, growth = np.split(layer.weights.back(both), 2)
            growth = growth + np.sign(h) * gain[row]
        return margin, slope, size, growth


def margins_with_sizes(question: MarginQuestion) -> Margins:
    """The margins of a question, with the gains of every layer."""
    gain, loss = np.abs(question.rows), question.loss
    constant = np.abs(question.offsets) + _LOSS_AS_SIZE * loss.constant
    gains = [gain + _LOSS_AS_SIZE * loss.factor[:, None]]
    for layer in question.hidden[::-1]:
        lost = _LOSS_AS_SIZE * layer.rounding_loss.constant
        constant = constant + gain @ (np.abs(layer.bias) + lost + _UNDERFLOW)
        factor = _LOSS_AS_SIZE * (gain @ layer.rounding_loss.factor)
        gain = absolute(layer.weights).back(gain)
        gains.append(gain + factor[:, None])
    return Margins(question, tuple(gains[::-1]), constant + np.finfo(np.float64).tiny)


def score_sizes(network: Network, x: Floats) -> Floats:
    """The size of the sums that each score is rounded in, at flat points: one column a class.

    A score evaluated with a rounding unit u, in any order of summation, is off by at most about n·u
    times this, n the terms of all sums on the way.
    """
    *hidden, last = network.layers
    sizes = margins_with_sizes(
        MarginQuestion(
            tuple(hidden), dense_rows(last.weights, slice(None)), last.bias, last.rounding_loss
        )
    )
    every = np.arange(network.classes)
    return np.stack([sizes.size(np.repeat(one[None], len(every), 0), every) for one in x])
