"""Counterexamples close to an input: the upper end of a bracket.

Everything here is a search in float32. What it finds is confirmed elsewhere in float64; that it
finds nothing proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.activation import activated, steepness
from surefoot.graph.linear_map import LinearMap
from surefoot.graph.network import Floats, MarginQuestion
from surefoot.subject.protocols import Array, Ball, array_namespace
from surefoot.verify.ball import InputSpace, Moves
from surefoot.verify.descent import MOMENTUM, Float32Array, lengths

_LEAST_STEP = 0.02
"""Shortest step, as a share of the radius. Chosen by hand; what is found is checked."""
_QUIET = np.errstate(invalid="ignore")
"""In single precision OpenBLAS also multiplies numbers that are no part of the product; what
earlier work left there, such as an infinity, raises the flag of an invalid operation."""


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
            ahead = points + (1 - MOMENTUM) * (ahead - points) + MOMENTUM * (points - before)
            ahead = project(ahead)
        before, points = points, ahead
    return best, lowest


_BOUNDARY_POINTS = 12
"""Points tried on the way from the input to a counterexample, in each of two rounds: the place
where the label changes is then known to 1/169 of the way."""
_TINY = np.float32(1e-30)
"""Divisor in place of a length of 0."""
_BISECTIONS = 16
"""Halvings of the distance at which the linear model is 0. Chosen by hand; the point is checked."""
_NOISE_SHARES = (0.0, 0.1, 0.3)
_FIRST_STEPS = (0.2, 0.5, 1.0)
"""Starts around the input and lengths of first steps, as shares of the radius. Far starts and long
steps alone can all end on the same plateau; the values are chosen by hand."""
_GRADIENT_POINTS = 40
_NEAREST_SHARE = 1e-6
"""Points along the gradient from an input that has lost already, and the nearest of them as a share
of the largest radius. Chosen by hand; what they find is checked."""
_FIRST_SHARE = 0.5
_CLOSEST_SHARE = 0.985
"""Radius of a descent as a share of the best distance so far, first and at most: beyond it there is
hardly anything to gain. Chosen by hand; what is found is checked."""
_CLOSER_ROUNDS = 6
_SLIGHTLY_NEARER = 0.9995
"""Rounds of moving a counterexample closer, and the share of its distance that each must stay
within. Chosen by hand; what is found is checked."""
_BROKEN_MARGIN = -1e-5
"""Margin of the linear model at the point aimed at: at 0 rounding in float32 would decide."""
_MOVE_SHARES = (1.0, 0.5, 0.25)
"""Shares of the way to the nearest point of the linear model that are tried, the whole first."""


@dataclass(frozen=True)
class Effort:
    """How long to search: rounds of descent, steps in each, targets kept, random starts of each.

    The first `full` rounds are against every margin, later ones against the lowest few. Once there
    is a counterexample, descents are at no less than the share `near` of its distance.
    """

    rounds: int = 10
    steps: int = 25
    targets: int = 3
    starts: int = 1
    near: float = 0.0
    full: int = 3


@dataclass(frozen=True, eq=False)
class AttackProblem:
    """The margins of one input's question in float32, and its space.

    It fails where `rank` of the margins are 0 or less.
    """

    weights: tuple[LinearMap, ...]
    bias: tuple[Float32Array, ...]
    slope: tuple[Float32Array, ...]
    rows: Float32Array
    offsets: Float32Array
    x: Float32Array
    space: InputSpace
    rank: int = 1

    @_QUIET
    def margins(self, points: Float32Array) -> Float32Array:
        """All margins of some points."""
        return np.asarray(self._forward(points)[0] @ self.rows.T + self.offsets)

    @_QUIET
    def margin_and_gradient(
        self, points: Float32Array, row: NDArray[np.intp]
    ) -> tuple[Float32Array, Float32Array]:
        """What a descent towards this margin lowers at each point, and its gradient."""
        h, slopes = self._forward(points)
        if self.rank == 1:
            return self._margin(h, row), self._backward(self.rows[row], slopes)
        value, counted = self._leads(h @ self.rows.T + self.offsets, row)
        return value, self._backward(counted @ self.rows, slopes)

    @_QUIET
    def margin_at(self, point: Float32Array, row: NDArray[np.intp]) -> tuple[float, Float32Array]:
        """One margin at one point, and its gradient."""
        h, slopes = self._forward(point[None])
        return float(self._margin(h, row)[0]), self._backward(self.rows[row], slopes)[0]

    def _margin(self, h: Float32Array, row: NDArray[np.intp]) -> Float32Array:
        return np.asarray((h * self.rows[row]).sum(axis=1) + self.offsets[row])

    def _forward(self, points: Float32Array) -> tuple[Float32Array, list[Float32Array]]:
        h, slopes = points, []
        for w, b, s in zip(self.weights, self.bias, self.slope, strict=True):
            v = w.forward(h) + b
            h = activated(v, s)
            slopes.append(steepness(v, s))
        return h, slopes

    def _backward(self, g: Float32Array, slopes: list[Float32Array]) -> Float32Array:
        for w, slope in zip(self.weights[::-1], slopes[::-1], strict=True):
            g = w.back(g * slope)
        return g

    def _leads(
        self, margins: Float32Array, row: NDArray[np.intp]
    ) -> tuple[Float32Array, Float32Array]:
        """The `rank` lowest margins, that of `row` among them, as far as above 0, summed.

        Where none is above 0: the largest of them. And which were counted.
        """
        first = margins.copy()
        np.put_along_axis(first, row[:, None], -np.inf, axis=1)
        chosen = np.argsort(first, axis=1, kind="stable")[:, : self.rank]
        lead = np.take_along_axis(margins, chosen, axis=1)
        worst = lead.max(axis=1)
        counted = np.zeros_like(margins)
        above = (lead > 0) | ((lead == worst[:, None]) & (worst <= 0)[:, None])
        np.put_along_axis(counted, chosen, above.astype(np.float32), axis=1)
        return np.where(worst > 0, np.maximum(lead, 0).sum(axis=1), worst), counted

    def lead(self, points: Float32Array) -> Float32Array:
        """The margin of each point that decides: 0 or less where it fails."""
        return np.asarray(
            np.partition(self.margins(points), self.rank - 1, axis=1)[:, self.rank - 1]
        )

    def deciding_row(self, point: Float32Array) -> NDArray[np.intp]:
        """The margin that decides at one point, as an array of one."""
        order = np.argsort(self.margins(point[None])[0], kind="stable")
        return order[self.rank - 1 : self.rank]

    def project(self, points: Float32Array, radius: float) -> Float32Array:
        """The points brought into the ball, for L2 and L1 straight towards x, and the domain."""
        if self.space.norm is not Ball.LINF:
            offset = points - self.x
            far = lengths(offset, self.space.norm)
            points = self.x + offset * np.minimum(1.0, np.float32(radius) / np.maximum(far, _TINY))
        down, up = self._rooms(radius)
        return np.clip(points, self.x - down, self.x + up)

    def direction(self, gradient: Float32Array, radius: float) -> Float32Array:
        """The way of length 1 to where a linear function of this gradient is lowest."""
        if self.space.norm is Ball.LINF:
            return np.asarray(np.sign(gradient) * np.float32(self.space.unit))
        return np.asarray(np.sign(gradient) * self._moves(gradient, radius) / np.float32(radius))

    def distance(self, point: Float32Array) -> float:
        """How far a point is from the input."""
        return self.space.distance((point - self.x).astype(np.float64))

    def nearest_zero(self, g: Float32Array, constant: float, most: float) -> Float32Array:
        """The nearest point with g·x + constant below zero, if one lies within `most`."""
        size, base = np.abs(g), float(g @ self.x) + constant
        unbroken, broken = 0.0, most
        for _ in range(_BISECTIONS):
            mid = (unbroken + broken) / 2
            if base - float(size @ self._moves(g[None], mid)[0]) <= _BROKEN_MARGIN:
                broken = mid
            else:
                unbroken = mid
        return np.asarray(self.x - np.sign(g) * self._moves(g[None], broken)[0])

    def _moves(self, g: Float32Array, radius: float) -> Float32Array:
        """How far each value moves within a radius to lower a linear function most, by row."""
        down, up = self._rooms(radius)
        if self.space.norm is Ball.LINF:
            return np.where(g > 0, down, up)
        return np.asarray(Moves(self.space.norm, radius, down, up).of(g), np.float32)

    def _rooms(self, radius: float) -> tuple[Float32Array, Float32Array]:
        """How far each value may move down and up."""
        space, single = self.space, np.float32
        reach = single(radius * np.asarray(space.unit))
        down = np.minimum(self.x - single(space.low), reach)
        return down, np.minimum(single(space.high) - self.x, reach)


def attack_problem(question: MarginQuestion, x: Floats, space: InputSpace) -> AttackProblem:
    """The question in float32."""
    single = np.float32
    return AttackProblem(
        tuple(layer.weights.converted(lambda a: a.astype(single)) for layer in question.hidden),
        tuple(layer.bias.astype(single) for layer in question.hidden),
        tuple(layer.slope.astype(single) for layer in question.hidden),
        question.rows.astype(single),
        question.offsets.astype(single),
        x.astype(single),
        space,
        question.rank,
    )


def points_along_gradient(problem: AttackProblem, largest_radius: float) -> Floats:
    """Points ever farther down the lowest margin's slope, from an input that has lost already."""
    row, space = problem.deciding_row(problem.x), problem.space
    gradient = problem.margin_and_gradient(problem.x[None], row)[1]
    way = problem.direction(gradient, largest_radius)[0]
    radii = np.geomspace(_NEAREST_SHARE * largest_radius, largest_radius, _GRADIENT_POINTS)[:, None]
    return np.asarray(np.clip(problem.x - radii * way, space.low, space.high), np.float64)


def descend_margins(
    problem: AttackProblem,
    start: Float32Array,
    row: NDArray[np.intp],
    radius: float,
    steps: int,
    first: float = 1.0,
) -> tuple[Float32Array, Float32Array]:
    """Steepest steps with momentum inside the ball: the lowest points and their margins.

    `first` is the length of the first step as a share of the radius.
    """
    return minimise_margin(
        lambda points: problem.margin_and_gradient(points, row),
        lambda points: problem.project(points, radius),
        lambda gradient: problem.direction(gradient, radius),
        start,
        radius,
        steps,
        lambda lowest: bool(lowest.min() <= 0),
        first,
    )


def shrink_to_boundary(problem: AttackProblem, point: Float32Array) -> Float32Array:
    """The point on the way from the input to `point` where the label changes, about."""
    way = point - problem.x
    unbroken, broken = 0.0, 1.0
    for _ in range(2):
        share = np.linspace(unbroken, broken, _BOUNDARY_POINTS + 2, dtype=np.float32)[1:-1]
        breaks = problem.lead(problem.x + share[:, None] * way) <= 0
        first = int(breaks.argmax()) if breaks.any() else len(breaks)
        unbroken = float(share[first - 1]) if first else unbroken
        broken = float(share[first]) if first < len(breaks) else broken
    return np.asarray(problem.x + np.float32(broken) * way)


def move_closer(problem: AttackProblem, point: Float32Array) -> Float32Array:
    """A closer counterexample: the nearest point of the margin's linear model, again and again."""
    best, distance = point, problem.distance(point)
    for _ in range(_CLOSER_ROUNDS):
        margin, g = problem.margin_at(best, problem.deciding_row(best))
        nearest = problem.nearest_zero(g, margin - float(g @ best), distance)
        shares = np.array(_MOVE_SHARES, np.float32)[:, None]
        tries = problem.project(best + shares * (nearest - best), _SLIGHTLY_NEARER * distance)
        breaks = problem.lead(tries) <= 0
        if not breaks.any():
            break
        nearer = shrink_to_boundary(problem, tries[int(breaks.argmax())])
        if (new := problem.distance(nearer)) >= distance:
            break
        best, distance = nearer, new
    return best


def refine_lowest(
    problem: AttackProblem, points: Float32Array, margin: Float32Array
) -> Float32Array:
    """The point of the lowest margin, a counterexample, drawn towards the input."""
    point = shrink_to_boundary(problem, points[int(margin.argmin())])
    return move_closer(problem, point)


def find_counterexample(
    problem: AttackProblem, largest_radius: float, effort: Effort, rng: np.random.Generator
) -> Float32Array | None:
    """A counterexample as close as this effort finds one, or nothing.

    Descents at a share of the best distance so far, from the last round's points and random ones,
    against every margin first and then against the lowest few.
    """
    count, n = len(problem.rows), len(problem.x)
    best: Float32Array | None = None
    distance, share = largest_radius, _FIRST_SHARE
    order = np.arange(count)
    last_points = np.repeat(problem.x[None], count, axis=0)
    for turn in range(effort.rounds):
        chosen = order[: count if turn < effort.full else effort.targets]
        radius = share * distance
        starts = [last_points[chosen]]
        for _ in range(effort.starts if turn else 0):
            noise = rng.uniform(-radius, radius, (len(chosen), n)).astype(np.float32)
            starts.append(problem.x + noise)
        row = np.tile(chosen, len(starts))
        points, margin = descend_margins(problem, np.concatenate(starts), row, radius, effort.steps)
        table = margin.reshape(len(starts), len(chosen))
        last_points[chosen] = points.reshape(len(starts), len(chosen), n)[
            table.argmin(0), np.arange(len(chosen))
        ]
        lowest = np.full(count, np.inf)
        lowest[chosen] = table.min(axis=0)
        order = np.argsort(lowest, kind="stable")
        if margin.min() <= 0:
            point = refine_lowest(problem, points, margin)
            if (near := problem.distance(point)) < distance or best is None:
                best, distance, share = point, min(near, distance), max(share, effort.near)
        elif best is None:
            share = min((1 + share) / 2, 1.0) if turn < effort.full else 1.0
        else:
            share = min((1 + share) / 2, _CLOSEST_SHARE)
    return best


def find_nearer_counterexample(
    problem: AttackProblem, distance: float, effort: Effort, rng: np.random.Generator
) -> Float32Array | None:
    """A counterexample nearer than `distance`, or nothing.

    Descents with short and long first steps from the input and from points close to it: far points
    and long steps can all end on the same plateau.
    """
    best: Float32Array | None = None
    chosen = np.arange(len(problem.rows))
    for _ in range(effort.rounds):
        radius = _CLOSEST_SHARE * distance
        noise = np.repeat(np.array(_NOISE_SHARES), len(chosen))[:, None]
        around = noise * rng.uniform(-radius, radius, (len(noise), len(problem.x)))
        start = (problem.x + around).astype(np.float32)
        row, lowest = np.tile(chosen, len(_NOISE_SHARES)), np.full(len(problem.rows), np.inf)
        point = None
        for first in _FIRST_STEPS:
            points, margin = descend_margins(problem, start, row, radius, effort.steps, first)
            np.minimum.at(lowest, row, margin)
            if margin.min() <= 0:
                point = refine_lowest(problem, points, margin)
                break
        if point is not None and problem.distance(point) < distance:
            best, distance = point, problem.distance(point)
        elif len(chosen) <= effort.targets:
            break
        chosen = np.argsort(lowest, kind="stable")[: effort.targets]
    return best
