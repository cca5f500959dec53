"""The points that a perturbation can give, and descents in them that choose their own steps.

Everything here is a search in float32, on the device of its arrays. What it finds is confirmed
elsewhere; that it finds nothing proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.subject.protocols import Array, Ball, array_namespace

_ROUNDING = 1e-6
"""Share of the radius that a projection stays inside, so that rounding in float32 does not leave
the ball."""
_THRESHOLD_ROUNDS = 8
"""Newton steps, halvings where one leaves the bracket, for what an L1 projection takes off every
value: seven found it for 3,072 values. What is left over is scaled away, so that a point is in the
ball in any case."""

Float32Array = NDArray[np.float32]


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

    def take(self, rows: Array) -> Self:
        """The balls of some of the inputs, one row each."""
        return replace(self, x=self.x[rows], low=self.low[rows], high=self.high[rows])

    def project(self, points: Array) -> Array:
        """The points brought into the ball and the box: the nearest for L∞ and L1.

        For L2 into the ball, then into the box, which takes none out of the ball.
        """
        xp, most = array_namespace(points), self.radius * (1 - _ROUNDING)
        if self.ball is Ball.L2:
            offset = points - self.x
            length = lengths(offset, self.ball)
            points = xp.where(
                length > most, self.x + offset * (most / xp.clip(length, most)), points
            )
        if self.ball is Ball.L1:
            points = self.x + self._shrunk(points - self.x, most)
        return xp.clip(points, self.low, self.high)

    def _shrunk(self, offset: Array, most: float) -> Array:
        """The nearest offset within the bounds whose absolute values sum to at most this.

        It takes the same amount off every value, down to 0, and cuts at the bounds (Croce & Hein
        2021, *Mind the box*): the amount is the root of a falling function.
        """
        xp, axes = array_namespace(offset), tuple(range(1, offset.ndim))
        room = xp.where(offset > 0, self.high - self.x, self.x - self.low)
        size = xp.abs(offset)
        low = xp.zeros_like(xp.sum(size, axis=axes, keepdims=True))
        high, taken = xp.max(size, axis=axes, keepdims=True), low
        for _ in range(_THRESHOLD_ROUNDS):
            kept = xp.minimum(xp.clip(size - taken, 0.0), room)
            excess = xp.sum(kept, axis=axes, keepdims=True) - most
            falling = xp.astype((kept > 0) & (kept < room), kept.dtype)
            low, high = xp.where(excess > 0, taken, low), xp.where(excess > 0, high, taken)
            ahead = taken + excess / xp.clip(xp.sum(falling, axis=axes, keepdims=True), 1.0)
            taken = xp.where((ahead >= low) & (ahead <= high), ahead, (low + high) / 2)
            taken = xp.where(high > 0, taken, high)  # inside already: nothing is taken off
        kept = xp.minimum(xp.clip(size - taken, 0.0), room)
        total = xp.sum(kept, axis=axes, keepdims=True)
        return xp.sign(offset) * kept * (most / xp.clip(total, most))

    def direction(self, gradient: Array, share: Array | None = None) -> Array:
        """The steepest direction, of length 1 in the norm of the ball.

        For L1 `share` says how many of the values move, those of the largest slopes and all by the
        same amount; without it the gradient itself is the direction.
        """
        xp = array_namespace(gradient)
        if self.ball is Ball.LINF:
            return xp.sign(gradient)
        if share is not None:
            size = xp.sort(xp.reshape(xp.abs(gradient), (len(gradient), -1)), axis=1)
            last = size.shape[1] - 1
            place = xp.astype(xp.clip((1 - share) * (last + 1), 0, last), xp.int64)
            least = xp.take_along_axis(size, place[:, None], axis=1)
            steep = xp.abs(gradient) >= _rows_like(least[:, 0], gradient)
            gradient = xp.where(steep, xp.sign(gradient), 0.0)
        length = lengths(gradient, self.ball)
        return gradient / xp.where(length > 0, length, 1.0)

    def farthest(self, gradient: Array) -> Array:
        """Of an L1 ball: where a linear function of this gradient is lowest in it and the bounds.

        The values of the largest slopes move as far as they may, until the radius is spent.
        """
        xp, most = array_namespace(gradient), self.radius * (1 - _ROUNDING)
        room = xp.where(gradient < 0, self.high - self.x, self.x - self.low)
        room = xp.reshape(xp.where(gradient != 0, room, 0.0), (len(room), -1))
        order = xp.argsort(-xp.abs(xp.reshape(gradient, room.shape)), axis=1)
        steepest = xp.take_along_axis(room, order, axis=1)
        before = xp.cumulative_sum(steepest, axis=1) - steepest
        moved = xp.minimum(xp.clip(most - before, 0.0), steepest)
        moved = xp.take_along_axis(moved, xp.argsort(order, axis=1), axis=1)
        return self.project(self.x - xp.sign(gradient) * xp.reshape(moved, gradient.shape))

    def contains(self, points: Float32Array) -> NDArray[np.bool_]:
        """Which of some NumPy points lie in it."""
        axes = tuple(range(1, points.ndim))
        boxed = ((points >= self.low) & (points <= self.high)).all(axis=axes)
        near = self.ball is Ball.LINF or self._distance(points) <= self.radius
        return np.asarray(boxed & near)

    def moved_inside(self, points: Float32Array) -> Float32Array:
        """NumPy points moved back to where rounding in a device's arithmetic took them out."""
        moved = np.clip(np.rint(points) if self.whole else points, self.low, self.high)
        if self.ball is Ball.LINF:
            return moved
        far = self._distance(moved).reshape(-1, *(1,) * (points.ndim - 1))
        # a float32 number is off by half the distance to the next
        off = np.spacing(np.maximum(abs(self.low), abs(self.high))).astype(np.float64) / 2
        room = np.maximum(self.radius - lengths(off, self.ball), 0)
        nearer = self.x + (moved.astype(np.float64) - self.x) * (room / np.maximum(far, 1e-300))
        return np.where(far > self.radius, nearer, moved).astype(np.float32)

    def _distance(self, points: Float32Array) -> NDArray[np.float64]:
        """How far points are from their inputs."""
        offset = points.astype(np.float64) - self.x
        return np.asarray(lengths(offset, self.ball)).reshape(len(points))


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


def lengths(offset: Array, ball: Ball) -> Array:
    """The norm of each row, L2 or L1, with the axes kept."""
    xp, axes = array_namespace(offset), tuple(range(1, offset.ndim))
    if ball is Ball.L1:
        return xp.sum(xp.abs(offset), axis=axes, keepdims=True)
    return xp.sqrt(xp.sum(offset * offset, axis=axes, keepdims=True))


def _rows_like(values: Array, like: Array) -> Array:
    """One value a row, with the axes of an array of rows."""
    return array_namespace(values).reshape(values, (-1, *(1 for _ in like.shape[1:])))


MOMENTUM = 0.25
_FALLING_SHARE = 0.75
_FIRST_CHECK, _LESS_A_CHECK, _LEAST_CHECK = 0.22, 0.03, 0.06
"""Auto-PGD (Croce & Hein 2020, section 3): the share of the last step in the next; the share of
steps that must lower the loss between two checks for the step to stay as long as it is; the first
check, how much earlier each next one comes, and the shortest time between two, as shares of all
steps."""
_L1_CHECK, _L1_SHARE, _L1_FEWER, _L1_SHORTER, _L1_SHORTEST = 0.04, 0.2, 1.5, 1.5, 0.1
_L1_SETTLED = 0.95
"""The same for L1 (Croce & Hein 2021): the time between checks as a share of all steps;
the share of values that move at first, and by how much fewer than those moved so far it is
afterwards; by how much a step is shortened where their number settles, to no less than a tenth."""


@dataclass(frozen=True, eq=False)
class Value:
    """What an objective says of points: the loss to lower, its gradient, and which are enough."""

    loss: Array
    gradient: Array
    enough: Array


Objective = Callable[[Array, Array], Value]
"""From points, and the places of their rows in the batch, to their values."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that are under way; `rows` are their places in the batch.

    `best` is the lowest point so far with its loss and gradient; `falls` counts the steps since the
    last check that lowered the loss; `checked` is the lowest loss at the last check, for L1 the
    number of values moved; `share` the share of values that a step moves.
    """

    rows: Array
    points: Array
    before: Array
    loss: Array
    gradient: Array
    best: Array
    lowest: Array
    best_gradient: Array
    step: Array
    falls: Array
    checked: Array
    shortened: Array
    share: Array

    def take(self, keep: Array) -> _Rows:
        return _Rows(*(getattr(self, field.name)[keep] for field in fields(self)))


def adaptive_descent(
    objective: Objective,
    ball: ClippedBall,
    start: Array,
    owners: Array,
    steps: int,
    *,
    near: bool = False,
) -> tuple[Array, Array]:
    """The lowest points of Auto-PGD in the ball, and their losses; -inf: a point that is enough.

    Rows of the same owner search for the same thing: all end when one has found it. No owner
    affects another. `near`: the first steps do not leave the start behind.
    """
    points = ball.project(start)
    xp = array_namespace(points)
    found, lowest = xp.asarray(points, copy=True), xp.zeros_like(_one_each(points))
    now, enough = _first(objective, ball, points, near=near)
    over = xp.zeros_like(now.shortened)
    sparse = ball.ball is Ball.L1
    span = max(int((_L1_CHECK if sparse else _FIRST_CHECK) * steps), 1)
    checked_at = 0
    for k in range(1, steps):
        if bool(xp.any(enough)):
            over[owners[now.rows[enough]]] = True
            keep = ~over[owners[now.rows]]
            ended = now.take(~keep)
            found[ended.rows], lowest[ended.rows] = ended.best, ended.lowest
            now, ball = now.take(keep), ball.take(keep)
        if not len(now.rows):
            return found, lowest
        now, enough = _moved(objective, ball, now, k if near else k - 1)
        if k - checked_at == span:
            now, checked_at = (_sparser if sparse else _shortened)(ball, now, span), k
            if not sparse:
                span = max(span - int(_LESS_A_CHECK * steps), int(_LEAST_CHECK * steps), 1)
    found[now.rows], lowest[now.rows] = now.best, now.lowest
    return found, lowest


_LARGER = ((3.0, 0.3), (2.0, 0.3), (1.0, 0.4))
"""Radii and shares of the steps of a descent that comes from outside (Croce & Hein 2021)."""


def descent_from_outside(
    objective: Objective, ball: ClippedBall, start: Array, owners: Array, steps: int
) -> tuple[Array, Array]:
    """The same in an L1 or L2 ball, by way of larger ones, in which no failure counts.

    In L1 few values move, and hardly others later. Around the inputs of a network trained against
    attacks the slopes lead nowhere, and random points of an L2 ball are all near its input: from
    farther out up to twice as many were broken (`benchmarks/attack.py`, `mnist_conv`).
    """

    def passing(points: Array, rows: Array) -> Value:
        value = objective(points, rows)
        return replace(value, enough=value.enough & False)

    for factor, share in _LARGER[:-1]:
        larger = replace(ball, radius=factor * ball.radius)
        start, _ = adaptive_descent(
            passing, larger, start, owners, max(int(share * steps), 1), near=True
        )
    last = max(int(_LARGER[-1][1] * steps), 1)
    return adaptive_descent(objective, ball, start, owners, last, near=True)


def _one_each(points: Array) -> Array:
    """The first value of each row: an array of one number a row."""
    return points[(slice(None), *(0 for _ in points.shape[1:]))]


_FIRST_STEP, _NEAR_STEP = 2.0, 0.125
"""Radii of the first step, as in Auto-PGD, and of one that goes on from a low point: 1/10 to 1/2
went about as far down."""


def _first(
    objective: Objective, ball: ClippedBall, points: Array, *, near: bool
) -> tuple[_Rows, Array]:
    xp = array_namespace(points)
    each = xp.zeros_like(_one_each(points))
    rows = xp.arange(len(points), device=device(points))
    value = objective(points, rows)
    lowest = xp.where(value.enough, -xp.inf, value.loss)
    length = ball.radius
    if ball.ball is not Ball.L1:
        length *= _NEAR_STEP if near else _FIRST_STEP
    values = float(np.prod(points.shape[1:]))
    moved = _values_moved(ball, points)
    share = xp.where(moved > 0, moved / (_L1_FEWER * values), _L1_SHARE)
    checked = xp.where(moved > 0, moved, values) if ball.ball is Ball.L1 else value.loss
    now = _Rows(
        rows, points, points, value.loss, value.gradient, points, lowest, value.gradient,
        each + length, each, checked, each == 0, share,
    )  # fmt: skip
    return now, value.enough


def _moved(objective: Objective, ball: ClippedBall, now: _Rows, k: int) -> tuple[_Rows, Array]:
    """One step of every row."""
    xp, points = array_namespace(now.points), now.points
    sparse = ball.ball is Ball.L1
    way = ball.direction(now.gradient, now.share if sparse else None)
    ahead = ball.project(points - _rows_like(now.step, points) * way)
    if sparse and k == 0:  # the first steps of the other balls reach that far by themselves
        ahead = ball.farthest(now.gradient)
    if k > 0 and not sparse:
        ahead = points + (1 - MOMENTUM) * (ahead - points) + MOMENTUM * (points - now.before)
        ahead = ball.project(ahead)
    value = objective(ahead, now.rows)
    loss = xp.where(value.enough, -xp.inf, value.loss)
    better = loss < now.lowest
    wide = _rows_like(better, points)
    return replace(
        now,
        points=ahead,
        before=points,
        loss=value.loss,
        gradient=value.gradient,
        best=xp.where(wide, ahead, now.best),
        lowest=xp.where(better, loss, now.lowest),
        best_gradient=xp.where(wide, value.gradient, now.best_gradient),
        falls=now.falls + xp.astype(value.loss < now.loss, now.falls.dtype),
    ), value.enough


def _shortened(ball: ClippedBall, now: _Rows, span: int) -> _Rows:
    """Rows that got nowhere go on from their best points with half the step."""
    xp = array_namespace(now.points)
    stuck = now.falls <= _FALLING_SHARE * span
    stuck = stuck | (~now.shortened & (now.lowest >= now.checked))
    step = xp.where(stuck, now.step / 2, now.step)
    return _back_to_best(replace(now, step=step, shortened=stuck, checked=now.lowest), stuck)


def _sparser(ball: ClippedBall, now: _Rows, span: int) -> _Rows:
    """Fewer values move; rows whose number of these still falls go on from their best points."""
    xp, moved = array_namespace(now.points), _values_moved(ball, now.best)
    falling = moved < _L1_SETTLED * now.checked
    shorter = xp.clip(now.step / _L1_SHORTER, _L1_SHORTEST * ball.radius)
    step = xp.where(falling, ball.radius, shorter)
    share = moved / (_L1_FEWER * float(np.prod(now.points.shape[1:])))
    return _back_to_best(replace(now, step=step, share=share, checked=moved), falling)


def _values_moved(ball: ClippedBall, points: Array) -> Array:
    """How many values of each point are not those of its input."""
    xp, axes = array_namespace(points), tuple(range(1, points.ndim))
    return xp.sum(xp.astype(points != ball.x, points.dtype), axis=axes)


def _back_to_best(now: _Rows, which: Array) -> _Rows:
    xp, wide = array_namespace(now.points), _rows_like(which, now.points)
    return replace(
        now,
        points=xp.where(wide, now.best, now.points),
        gradient=xp.where(wide, now.best_gradient, now.gradient),
        falls=xp.zeros_like(now.falls),
    )
