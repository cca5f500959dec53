"""A tensor as an affine function of the last layer's outputs, and what multiplying out has lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.graph.network import Floats, RoundingLoss

_ROUNDING_UNIT = 2.0**-52
"""Twice the rounding unit of float64, to be on the safe side."""
_INHERITED = 32
"""Roundings that entries may have had each by itself (scales, quotients, square roots). The
prover's own allowance covers them while no sum cancels them; a sum adds them to its loss."""


@dataclass(frozen=True, eq=False)
class AffineValue:
    """A tensor as an affine function: columns[i] multiplies the i-th output of the layer before.

    The tensor's own shape keeps its batch axis, of length 1. `loss` limits, for each element, how
    far this is from the product in real arithmetic. `one_to_one`: each element depends on one
    output and each output reaches one element, so that products with it are not sums.
    """

    columns: Floats
    constant: Floats
    loss: RoundingLoss
    one_to_one: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return self.constant.shape

    def rearranged(self, change: Callable[[Floats], Floats]) -> AffineValue:
        """The value in another order or shape; `change` is given one more axis in front."""
        each = (self.constant, self.loss.constant, self.loss.factor)
        constant, lost, factor = (change(part[None])[0] for part in each)
        return AffineValue(
            change(self.columns), constant, RoundingLoss(lost, factor), self.one_to_one
        )

    def multiplied(
        self, change: Callable[[Floats, Floats], Floats], weights: Floats, terms: int
    ) -> AffineValue:
        """The value after a linear change by weights, each element a sum of so many terms.

        A sum of n products is off by at most n·2⁻⁵³ times the sum of their absolute values.
        """
        size, unit = np.abs(weights), (terms + _INHERITED) * _ROUNDING_UNIT

        def by_sizes(part: Floats) -> Floats:
            return np.asarray(change(part[None], size)[0])

        lost = by_sizes(self.loss.constant + unit * np.abs(self.constant))
        factor = by_sizes(self.loss.factor)
        if not self.one_to_one:
            factor = factor + unit * change(np.abs(self.columns), size).max(axis=0)
        constant = change(self.constant[None], weights)[0]
        return AffineValue(change(self.columns, weights), constant, RoundingLoss(lost, factor))

    def shifted(self, by: Floats, size: Floats | None = None) -> AffineValue:
        """The value plus a constant, itself rounded in a sum of this size."""
        constant = self.constant + by
        inherited = np.abs(self.constant) + (0.0 if size is None else size)
        lost = self.loss.constant + _INHERITED * _ROUNDING_UNIT * inherited
        return self._reshaped(self._columns_as(constant.shape), constant, lost, self.loss.factor)

    def scaled(self, by: Floats) -> AffineValue:
        """The value times a constant, element by element."""
        constant, size = self.constant * by, np.abs(by)
        columns = self._columns_as(constant.shape) * by
        return self._reshaped(columns, constant, self.loss.constant * size, self.loss.factor * size)

    def plus(self, other: AffineValue) -> AffineValue:
        """The sum of two values."""
        constant = self.constant + other.constant
        columns = self._columns_as(constant.shape) + other._columns_as(constant.shape)
        loss = self._inherited().plus(other._inherited())
        return AffineValue(columns, constant, loss.like(constant.shape))

    def _inherited(self) -> RoundingLoss:
        """The loss where a sum may cancel what roundings of the entries are measured by."""
        unit, loss = _INHERITED * _ROUNDING_UNIT, self.loss
        return RoundingLoss(
            loss.constant + unit * np.abs(self.constant),
            loss.factor + unit * np.abs(self.columns).max(axis=0),
        )

    def _reshaped(
        self, columns: Floats, constant: Floats, lost: Floats, factor: Floats
    ) -> AffineValue:
        loss = RoundingLoss(lost, factor).like(constant.shape)
        return AffineValue(
            columns, constant, loss, self.one_to_one and constant.shape == self.shape
        )

    def _columns_as(self, shape: tuple[int, ...]) -> Floats:
        n, own = len(self.columns), self.shape
        wide = self.columns.reshape(n, *(1,) * (len(shape) - len(own)), *own)
        return np.broadcast_to(wide, (n, *shape))


def layer_outputs(columns: Floats) -> AffineValue:
    """The last layer's outputs themselves, or some of them; `columns` are those of the identity."""
    nothing = np.zeros(columns.shape[1:])
    return AffineValue(columns, nothing, RoundingLoss(nothing, nothing), one_to_one=True)
