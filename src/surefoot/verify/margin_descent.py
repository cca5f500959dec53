"""Descent of a margin inside a set of points: the search that every attack here makes.

In float32, in the namespace and on the device of what it is given. That it finds nothing proves
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.subject.protocols import Array, Ball

_MOMENTUM = 0.25
"""Share of the last step in the next (Auto-PGD, Croce & Hein 2020, has the same)."""
_LEAST_STEP = 0.02
"""Shortest step, as a share of the radius. Chosen by hand; what is found is checked."""
_ROUNDING = 1e-6
"""Share of the radius that a projection stays inside, so that rounding in float32 does not leave
the ball."""

Float32Array = NDArray[np.float32]


def minimise_margin(
    margin_and_gradient: Callable[[Array], tuple[Array, Array]],
    project: Callable[[Array], Array],
    direction: Callable[[Array], Array],
    start: Array,
    radius: float,
    steps: int,
    stop: Callable[[Array], bool],
    first_step: float = 1.0,
) -> tuple[Array, Array]:
    """Steps with momentum, the first a share of the radius: the lowest points, their margins.

    `project` brings points back into the set, `direction` is the way of unit length along a
    gradient; `stop` says of the lowest margins whether to end.
    """
    points = project(start)
    xp = array_namespace(points)
    before, best = points, xp.asarray(points, copy=True)
    lowest = xp.full_like(points[(slice(None), *(0 for _ in points.shape[1:]))], xp.inf)
    for k in range(steps):
        margin, gradient = margin_and_gradient(points)
        lower = margin < lowest
        lowest[lower], best[lower] = margin[lower], points[lower]
        if stop(lowest):
            break
        length = float(max(first_step * (1 - k / steps) ** 2, _LEAST_STEP) * radius)
        ahead = project(points - length * direction(gradient))
        if k:
            ahead = points + (1 - _MOMENTUM) * (ahead - points) + _MOMENTUM * (points - before)
            ahead = project(ahead)
        before, points = points, ahead
    return best, lowest


@dataclass(frozen=True, eq=False)
class ClippedBall:
    """The points that a perturbation of some inputs can give: a ball, cut off by the bounds.

    `low` and `high` are the corners of the box around it, one row an input. They are float32
    numbers rounded inwards, so that nothing between them is farther off than the radius.
    """

    x: Array
    low: Array
    high: Array
    ball: Ball
    radius: float
    whole: bool = False

    def project(self, points: Array) -> Array:
        """The points brought into the ball, then into the box, which takes none out of the ball."""
        xp = array_namespace(points)
        if self.ball is Ball.L2:
            offset = points - self.x
            length = _lengths(offset)
            most = self.radius * (1 - _ROUNDING)
            points = xp.where(
                length > most, self.x + offset * (most / xp.clip(length, most)), points
            )
        return xp.clip(points, self.low, self.high)

    def direction(self, gradient: Array) -> Array:
        """The steepest direction, of length 1 in the norm of the ball."""
        xp = array_namespace(gradient)
        if self.ball is Ball.LINF:
            return xp.sign(gradient)
        length = _lengths(gradient)
        return gradient / xp.where(length > 0, length, 1.0)

    def contains(self, points: Float32Array) -> NDArray[np.bool_]:
        """Which of some NumPy points lie in it."""
        boxed = ((points >= self.low) & (points <= self.high)).all(axis=_axes(points))
        return np.asarray(
            boxed if self.ball is Ball.LINF else boxed & (self._distance(points) <= self.radius)
        )

    def moved_inside(self, points: Float32Array) -> Float32Array:
        """NumPy points moved back to where rounding in a device's arithmetic took them out."""
        moved = np.clip(np.rint(points) if self.whole else points, self.low, self.high)
        if self.ball is Ball.LINF:
            return moved
        far = self._distance(moved).reshape(-1, *(1,) * (points.ndim - 1))
        # a float32 number is off by half the distance to the next
        off = np.spacing(np.maximum(abs(self.low), abs(self.high))).astype(np.float64) / 2
        room = np.maximum(self.radius - _lengths(off), 0)
        nearer = self.x + (moved.astype(np.float64) - self.x) * (room / np.maximum(far, 1e-300))
        return np.where(far > self.radius, nearer, moved).astype(np.float32)

    def _distance(self, points: Float32Array) -> NDArray[np.float64]:
        """How far points are from their inputs."""
        return np.asarray(_lengths(points.astype(np.float64) - self.x)).reshape(len(points))


def clipped_ball(
    x: Float32Array, ball: Ball, radius: float, bounds: Interval | None, *, whole: bool = False
) -> ClippedBall:
    """The points that a perturbation of these inputs can give; `whole`: whole numbers only."""
    wide = x.astype(np.float64)
    low, high = wide - radius, wide + radius
    if bounds is not None:
        low, high = np.maximum(low, bounds.low), np.minimum(high, bounds.high)
    if whole:
        return ClippedBall(x, _above(np.ceil(low)), _below(np.floor(high)), ball, radius, whole)
    # bounds need not be float32 numbers, and the input itself is always one of them
    return ClippedBall(x, np.minimum(_above(low), x), np.maximum(_below(high), x), ball, radius)


def _above(values: NDArray[np.float64]) -> Float32Array:
    """The least float32 numbers that are not below these."""
    near = values.astype(np.float32)
    return np.where(near < values, np.nextafter(near, np.float32(np.inf)), near)


def _below(values: NDArray[np.float64]) -> Float32Array:
    return -_above(-values)


def _axes(x: Array) -> tuple[int, ...]:
    return tuple(range(1, x.ndim))


def _lengths(offset: Array) -> Array:
    xp = array_namespace(offset)
    return xp.sqrt(xp.sum(offset * offset, axis=_axes(offset), keepdims=True))
