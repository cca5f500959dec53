"""The box that a proof is about: least values of linear functions on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.graph.network import Floats

_ROWS_IN_CACHE = 32
"""Rows treated at once, so that the intermediate arrays of an image stay in the processor's cache.
Chosen by hand; results do not depend on it, only the time."""


@dataclass(frozen=True, eq=False)
class Box:
    """All points within `radius` of `x` and within [low, high]."""

    x: Floats
    radius: float
    low: float
    high: float

    @property
    def lower(self) -> Floats:
        """The lower corner."""
        return np.maximum(self.x - self.radius, self.low)

    @property
    def upper(self) -> Floats:
        """The upper corner."""
        return np.minimum(self.x + self.radius, self.high)

    def worst(self, a: Floats) -> Floats:
        """The points at which a·x is smallest, one for each row of `a`."""
        return np.where(a > 0, self.lower, self.upper)

    def floor(self, a: Floats, c: Floats) -> Floats:
        """The minima of a·x + c over the whole box."""
        lower, upper = self.lower, self.upper
        return c + a @ ((lower + upper) / 2) - np.abs(a) @ ((upper - lower) / 2)

    def least(self, a: Floats, c: Floats, radius: Floats) -> tuple[Floats, Floats]:
        """The minima of a·x + c within `radius` of x, and how fast they fall with it."""
        value, falling = a @ self.x + c, np.empty(len(c))
        for i in range(0, len(c), _ROWS_IN_CACHE):
            part = slice(i, i + _ROWS_IN_CACHE)
            size = np.abs(a[part])
            room = np.where(a[part] > 0, self.x - self.low, self.high - self.x)
            near = np.minimum(room, radius[part, None])
            value[part] -= np.einsum("ij,ij->i", size, near)
            size *= room > near
            falling[part] = size.sum(axis=1)
        return value, falling
