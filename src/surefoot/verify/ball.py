"""Balls about an input, cut off by the domain: L∞ (also with a width for each value), L2 and L1.

A linear function is bounded from below by duality. Of the size of each slope one part is charged to
the radius and the rest to the room that the domain leaves; any such split gives a true bound, and
the best one is the exact minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.graph.network import Floats
from surefoot.subject.protocols import Array, Ball, array_namespace

_ROWS_IN_CACHE = 32
"""Rows treated at once, so that the intermediate arrays of an image stay in the processor's cache.
Chosen by hand; only the time depends on it, and the rounding."""
_STRETCH_ROUNDS = 4
"""Rounds in which values of an L2 ball reach the domain. Any number gives a true bound."""
_MOST_MOVED = 64
"""Values of the largest slopes that are followed in an L1 ball: its points move few. Any number
gives a true bound."""
_SMALL_SHARE = 1e-6
"""Of the radius of a ball: the least for which slopes are split. Any gives a true bound."""
_TINY, _LEAST_TOTAL = 1e-150, 1e-30
"""Divisors in place of 0, and of a sum of squares where nothing is left to move."""
_LOST_SQUARES = 2.0**-537
"""Times √n: what a norm can lose to squares below the smallest float64, 2⁻¹⁰⁷⁴ each."""
_LEAST_UNIT = 1e-100
"""Below it distances in units overflow, and products with them lose digits."""
_DISTANCE_ROUNDING = 2.0**-51
"""Times the number of values: a share of a distance above what rounding can take from it."""


@dataclass(frozen=True, eq=False)
class InputSpace:
    """Where inputs may lie, between `low` and `high`, and which distance counts between them.

    `unit`, of L∞ alone, is how far each value moves at a distance of 1; one of 0 never moves.
    """

    low: float | Floats = 0.0
    high: float | Floats = 1.0
    norm: Ball = Ball.LINF
    unit: float | Floats = 1.0

    def __post_init__(self) -> None:
        low, high = np.asarray(self.low), np.asarray(self.high)
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
            raise InvalidArgument(
                f"the valid range must have finite ends, the lower first, got [{low}, {high}]"
            )
        unit, each = np.asarray(self.unit), isinstance(self.unit, np.ndarray)
        if not (np.isfinite(unit) & ((unit >= _LEAST_UNIT) | (each & (unit == 0)))).all():
            raise InvalidArgument(
                f"unit, how far a value moves at a distance of 1, must be {_LEAST_UNIT:g} or more, "
                f"or 0 for one of several that never moves; got {self.unit}"
            )
        if self.norm is not Ball.LINF and np.any(unit != 1.0):
            raise InvalidArgument(
                f"widths of single values make a box, not an {self.norm} ball: use L∞"
            )

    def box(self, x: Floats, radius: float) -> Box:
        """The ball about x."""
        return Box(x, radius, self.low, self.high, self.norm, self.unit)

    def around(self, x: Floats) -> InputSpace:
        """The same for an input that may lie outside already: it is not moved farther out."""
        if not isinstance(self.low, np.ndarray):
            return self
        return replace(self, low=np.minimum(self.low, x), high=np.maximum(self.high, x))

    def widest(self, shape: tuple[int, ...]) -> float:
        """The largest distance between two inputs of this shape."""
        corner = np.broadcast_to(np.asarray(self.low, np.float64), int(np.prod(shape)))
        return self.farthest(corner)

    def contains(self, points: Floats) -> bool:
        """Whether all values lie in the range."""
        return bool(((points >= self.low) & (points <= self.high)).all())

    def distance(self, offset: Floats) -> float:
        """The distance of a point x + offset from x, rounded up."""
        return float(np.nextafter(self._length(np.abs(offset)), np.inf))

    def farthest(self, x: Floats) -> float:
        """The distance within which the whole range lies."""
        room = np.maximum(x - self.low, self.high - x)
        return self._length(np.where(np.asarray(self.unit) > 0, room, 0.0))

    def _length(self, size: Floats) -> float:
        rounded = 1 + size.size * _DISTANCE_ROUNDING
        if self.norm is Ball.L2:
            return float(np.sqrt((size * size).sum()) * rounded + size.size * _LOST_SQUARES)
        if self.norm is Ball.L1:
            return float(size.sum() * rounded)
        if not isinstance(self.unit, np.ndarray):
            return float(size.max() / self.unit)
        moving = self.unit > 0
        if not moving.any() or (size[~moving] > 0).any():
            return float(np.inf if (size[~moving] > 0).any() else 0.0)
        return float((size[moving] / self.unit[moving]).max() * (1 + 2 * _DISTANCE_ROUNDING))


def space_of(perturbation: Any, bounds: Interval) -> InputSpace:  # noqa: ANN401  any with a ball or a rectangle
    """The space in which radii of a perturbation are measured, within the bounds of the data."""
    if (norm := getattr(perturbation, "ball", None)) is not None:
        return InputSpace(bounds.low, bounds.high, norm)
    unit, low, high = perturbation.rectangle()
    return InputSpace(np.maximum(low, bounds.low), np.minimum(high, bounds.high), Ball.LINF, unit)


def row_sums(a: Array, b: Array) -> Array:
    """Σ a·b of each row, where `b` is one vector for all of them or has a row for each."""
    if b.ndim == 1:
        return a @ b
    sums: Array = array_namespace(a).einsum("ij,ij->i", a, b)
    return sums


@dataclass(frozen=True, eq=False)
class Box:
    """All points within `radius` of `x` and within [low, high]; see `InputSpace`.

    Or many boxes of L∞, for whose rows there is one each: `x` has a row for each box, and `radius`
    is a column.
    """

    x: Floats
    radius: Any
    low: float | Floats
    high: float | Floats
    norm: Ball = Ball.LINF
    unit: float | Floats = 1.0

    @property
    def lower(self) -> Floats:
        """The lower corner of the box around it."""
        corner = self.x - self.radius * self.unit
        lower: Floats = array_namespace(corner).maximum(corner, self.low)
        return lower

    @property
    def upper(self) -> Floats:
        """The upper corner of the box around it."""
        corner = self.x + self.radius * self.unit
        upper: Floats = array_namespace(corner).minimum(corner, self.high)
        return upper

    @property
    def largest(self) -> Floats:
        """No value of a point in it is larger, nor any amount by which one moves."""
        largest: Floats = abs(self.x) + self.radius * self.unit
        return largest

    @cached_property
    def moves(self) -> Moves | None:
        """What moves in a ball that is no box, for searching in float32."""
        if self.norm is Ball.LINF:
            return None
        down, up = (np.minimum(r, self.radius) for r in (self.x - self.low, self.high - self.x))
        return Moves(self.norm, self.radius, down.astype(np.float32), up.astype(np.float32))

    def moved(self, change: Callable[[Array], Array]) -> Box:
        """The same in other arrays."""
        ends = (self.low, self.high, self.unit)
        low, high, unit = (change(e) if isinstance(e, np.ndarray) else e for e in ends)
        radius = change(self.radius) if isinstance(self.radius, np.ndarray) else self.radius
        return Box(change(self.x), radius, low, high, self.norm, unit)

    def part(self, columns: slice | NDArray[np.intp]) -> Box:
        """Some coordinates of all its points."""
        ends = (self.low, self.high, self.unit)
        low, high, unit = (e[columns] if isinstance(e, np.ndarray) else e for e in ends)
        return Box(self.x[columns], self.radius, low, high, self.norm, unit)

    def worst(self, a: Floats) -> Floats:
        """The points at which a·x is smallest, about, one for each row of `a`."""
        if self.moves is None:
            return np.where(a > 0, self.lower, self.upper)
        return np.asarray(self.x - np.copysign(self.moves.of(a), a))

    def floor(self, a: Floats, c: Floats) -> Floats:
        """The minima of a·x + c over all of it, from below."""
        if self.norm is not Ball.LINF:
            return self.least(a, c, np.full(len(c), self.radius))[0]
        lower, upper = self.lower, self.upper
        middle = c + row_sums(a, (lower + upper) / 2)
        lowest: Floats = middle - row_sums(abs(a), (upper - lower) / 2)
        return lowest

    def least(self, a: Floats, c: Floats, radius: Floats) -> tuple[Floats, Floats]:
        """The minima of a·x + c within `radius` of x, and how fast they fall with it."""
        xp = array_namespace(c)
        value, falling = xp.empty_like(c), xp.empty_like(c)
        for part in row_pieces(a):
            value[part], falling[part] = self.sloped(a, c, part).least(radius[part])
        return value, falling

    def sloped(self, a: Floats, c: Floats, part: slice) -> Sloped:
        """Some rows of a·x + c over all balls around x."""

        def own(end: Array) -> Array:
            return end[part] if getattr(end, "ndim", 0) > 1 else end

        xp, slopes = array_namespace(a), a[part]
        x, low, high = map(own, (self.x, self.low, self.high))
        room = xp.where(slopes > 0, x - low, high - x)
        return Sloped(self, abs(slopes), room, row_sums(slopes, x) + c[part])


def row_pieces(a: Array) -> Iterator[slice]:
    """Rows that are treated at once: in NumPy as many as a processor's cache holds."""
    piece = _ROWS_IN_CACHE if isinstance(a, np.ndarray) else max(1, len(a))
    return (slice(i, i + piece) for i in range(0, len(a), piece))


@dataclass(frozen=True, eq=False)
class Sloped:
    """Linear functions around x: the `size` of their slopes, their `room`, and their `value` at x.

    Rounding is that of sums of the terms |a|·(|x| + radius), which `LayerBounds` subtracts.
    """

    box: Box
    size: Array
    room: Array
    value: Array

    def take(self, rows: NDArray[np.intp]) -> Sloped:
        """Some of them."""
        return Sloped(self.box, self.size[rows], self.room[rows], self.value[rows])

    def least(self, radius: Floats) -> tuple[Floats, Floats]:
        """The minima within `radius` of x, and how fast they fall with it."""
        xp, norm, unit = array_namespace(self.size), self.box.norm, self.box.unit
        near = xp.minimum(self.room, radius[:, None] * unit)
        if norm is Ball.LINF:
            moving = xp.where(self.room > near, self.size, 0.0)
            return self.value - row_sums(self.size, near), (moving * unit).sum(axis=1)
        # at a radius of 0 the split of a small one, whose slope leads to the next radius
        some = np.maximum(radius, _SMALL_SHARE * self.box.radius)
        charged = _charged(norm, self.size, np.minimum(self.room, some[:, None]), some)
        falling = _dual_norm(norm, charged)
        lost = np.einsum("ij,ij->i", self.size - charged, near) + radius * falling
        return self.value - lost, falling


def _dual_norm(norm: Ball, rows: Floats) -> Floats:
    """From above, apart from rounding: L2 of L2, L∞ of L1."""
    if norm is Ball.L1:
        return np.asarray(rows.max(axis=1))
    squares = np.einsum("ij,ij->i", rows, rows)
    return np.asarray(np.sqrt(squares) + np.sqrt(rows.shape[1]) * _LOST_SQUARES)


def _charged(norm: Ball, size: Floats, near: Floats, radius: Floats) -> Floats:
    """The part of each slope's size that the radius limits; of the rest the room does."""
    if norm is Ball.L2:
        shape, top = _relative(size)
        stretch = np.maximum(_stretch(shape, near, radius), _TINY)
        return np.asarray(np.minimum(size, near * (top / stretch[:, None])))
    _, last = _steepest(size, near, radius)
    return np.where(near > 0, np.minimum(size, last[:, None]), 0.0)


def _relative(size: Array) -> tuple[Array, Array]:
    """The sizes as shares of the largest of their row, and that: squares of them do not vanish."""
    top = np.maximum(size.max(axis=1, keepdims=True), np.finfo(size.dtype).tiny)
    return size / top, top


def _stretch(size: Array, near: Array, radius: Array) -> Array:
    """Of an L2 ball: how far a value of slope 1 moves, while those that reach their room stay."""
    squares, rooms, free = size * size, near * near, near > 0
    for _ in range(_STRETCH_ROUNDS):
        left = np.maximum(radius * radius - np.where(free, 0.0, rooms).sum(axis=1), 0.0)
        total = np.where(free, squares, 0.0).sum(axis=1)
        stretch = np.sqrt(left / np.maximum(total, _LEAST_TOTAL))
        free &= size * stretch[:, None] < near
    return np.asarray(stretch)


def _steepest(size: Array, near: Array, radius: Array) -> tuple[Array, Array]:
    """Of an L1 ball: how far values move, the largest slopes first; the slope of the last."""
    slopes, count = np.where(near > 0, size, 0.0), min(size.shape[1], _MOST_MOVED)
    order = np.argpartition(-slopes, count - 1, axis=1)[:, :count]
    top = np.take_along_axis(slopes, order, axis=1)
    order = np.take_along_axis(order, np.argsort(-top, axis=1, kind="stable"), axis=1)
    room = np.take_along_axis(near, order, axis=1)
    before = np.cumsum(room, axis=1) - room
    moved = np.clip(radius[:, None] - before, 0.0, room)
    moves = np.zeros_like(size)
    np.put_along_axis(moves, order, moved, axis=1)
    spent = before + room >= radius[:, None]
    place = np.where(spent.any(axis=1), spent.argmax(axis=1), count - 1)
    last = np.take_along_axis(slopes, np.take_along_axis(order, place[:, None], axis=1), axis=1)
    unlimited = ~spent.any(axis=1) & (count == size.shape[1])
    return moves, np.where(unlimited, 0.0, last[:, 0])


@dataclass(frozen=True, eq=False)
class Moves:
    """How far points of an L2 or L1 ball move to lower a linear function, within their rooms."""

    norm: Ball
    radius: float
    down: Array
    up: Array

    def of(self, gradient: Array) -> Array:
        """The sizes of the moves of each value, for each row."""
        size, near = np.abs(gradient), np.where(gradient > 0, self.down, self.up)
        radius = np.full(len(size), self.radius, size.dtype)
        if self.norm is Ball.L2:
            shape, _ = _relative(size)
            return np.minimum(near, shape * _stretch(shape, near, radius)[:, None])
        return _steepest(size, near, radius)[0]
