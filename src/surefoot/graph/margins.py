"""Margins of a network in float64, and the size of the sums that each is rounded in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.network import Floats, MarginQuestion, Network

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
            v = outputs[-1] @ layer.weights.T + layer.bias
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
            slope, growth = np.split(both @ layer.weights, 2)
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
        gain = gain @ np.abs(layer.weights)
        gains.append(gain + factor[:, None])
    return Margins(question, tuple(gains[::-1]), constant + np.finfo(np.float64).tiny)


def score_sizes(network: Network, x: Floats) -> Floats:
    """The size of the sums that each score is rounded in, at flat points: one column a class.

    A score evaluated with a rounding unit u, in any order of summation, is off by at most about n·u
    times this, n the terms of all sums on the way.
    """
    *hidden, last = network.layers
    sizes = margins_with_sizes(
        MarginQuestion(tuple(hidden), last.weights, last.bias, last.rounding_loss)
    )
    every = np.arange(network.classes)
    return np.stack([sizes.size(np.repeat(one[None], len(every), 0), every) for one in x])
