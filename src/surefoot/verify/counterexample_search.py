"""Counterexamples close to an input: the upper end of a bracket.

Everything here is a search in float32. What it finds is confirmed elsewhere in float64; that it
finds nothing proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.network import Floats, Question
from surefoot.verify.margin_descent import Singles, descend

_SHRINKS = 12
_BISECTIONS = 16
_NOISE = (0.0, 0.1, 0.3)
_FIRST = (0.2, 0.5, 1.0)
_OUTWARDS = 40


@dataclass(frozen=True)
class Effort:
    """How long to search: rounds of descent, steps in each, targets kept, random starts of each."""

    rounds: int = 10
    steps: int = 25
    targets: int = 3
    starts: int = 1


@dataclass(frozen=True, eq=False)
class Target:
    """The question in float32 about one input, in its domain."""

    weights: tuple[Singles, ...]
    bias: tuple[Singles, ...]
    slope: tuple[Singles, ...]
    rows: Singles
    offsets: Singles
    x: Singles
    low: float
    high: float

    def margins(self, points: Singles) -> Singles:
        """All margins of some points."""
        h = points
        for w, b, s in zip(self.weights, self.bias, self.slope, strict=True):
            v = h @ w.T + b
            h = np.maximum(v, s * v)
        return h @ self.rows.T + self.offsets

    def margin_and_gradient(
        self, points: Singles, row: NDArray[np.intp]
    ) -> tuple[Singles, Singles]:
        """One margin of each point and its gradient."""
        h, signs = points, []
        for w, b, s in zip(self.weights, self.bias, self.slope, strict=True):
            v = h @ w.T + b
            h = np.maximum(v, s * v)
            signs.append(v > 0)
        g = self.rows[row]
        margin = (h * g).sum(axis=1) + self.offsets[row]
        for w, s, on in zip(self.weights[::-1], self.slope[::-1], signs[::-1], strict=True):
            g = np.where(on, g, g * s) @ w
        return margin, g

    def inside(self, points: Singles, radius: float) -> Singles:
        """The points brought into the ball and the domain."""
        lower = np.maximum(self.x - np.float32(radius), np.float32(self.low))
        upper = np.minimum(self.x + np.float32(radius), np.float32(self.high))
        return np.clip(points, lower, upper)

    def distance(self, points: Singles) -> Singles:
        """How far points are from the input."""
        return np.asarray(np.abs(points - self.x).max(axis=-1))


def target_of(question: Question, x: Floats, low: float, high: float) -> Target:
    """The question in float32."""
    single = np.float32
    return Target(
        tuple(layer.weights.astype(single) for layer in question.hidden),
        tuple(layer.bias.astype(single) for layer in question.hidden),
        tuple(layer.slope.astype(single) for layer in question.hidden),
        question.rows.astype(single),
        question.offsets.astype(single),
        x.astype(single),
        low,
        high,
    )


def outwards(target: Target, reach: float) -> Floats:
    """Points ever farther down the lowest margin's slope, from an input that has lost already."""
    row = target.margins(target.x[None])[0].argmin()[None]
    way = np.sign(target.margin_and_gradient(target.x[None], row)[1][0])
    radii = np.geomspace(1e-6 * reach, reach, _OUTWARDS)[:, None]
    return np.asarray(np.clip(target.x - radii * way, target.low, target.high), np.float64)


def descend_margins(
    target: Target,
    start: Singles,
    row: NDArray[np.intp],
    radius: float,
    steps: int,
    first: float = 1.0,
) -> tuple[Singles, Singles]:
    """Signed gradient steps with momentum inside the ball: the lowest points and their margins.

    `first` is the length of the first step as a share of the radius.
    """
    return descend(
        lambda points: target.margin_and_gradient(points, row),
        lambda points: target.inside(points, radius),
        np.sign,
        start,
        radius,
        steps,
        lambda lowest: bool(lowest.min() <= 0),
        first,
    )


def shrink(target: Target, point: Singles) -> Singles:
    """The point on the way from the input to `point` where the label changes, about."""
    way = point - target.x
    held, broken = 0.0, 1.0
    for _ in range(2):
        share = np.linspace(held, broken, _SHRINKS + 2, dtype=np.float32)[1:-1]
        bad = target.margins(target.x + share[:, None] * way).min(axis=1) <= 0
        first = int(bad.argmax()) if bad.any() else len(bad)
        held = float(share[first - 1]) if first else held
        broken = float(share[first]) if first < len(bad) else broken
    return np.asarray(target.x + np.float32(broken) * way)


def polish(target: Target, point: Singles, rounds: int) -> Singles:
    """A closer counterexample: the nearest point of the margin's linear model, again and again."""
    best, distance, at = point, float(target.distance(point)), point
    for _ in range(rounds):
        row = target.margins(at[None])[0].argmin()[None]
        margin, g = target.margin_and_gradient(at[None], row)
        aim = _nearest(target, g[0], float(margin[0] - g[0] @ at), distance)
        shares = np.array([[1.0], [0.5], [0.25]], np.float32)
        tries = target.inside(at + shares * (aim - at), 0.9995 * distance)
        bad = target.margins(tries).min(axis=1) <= 0
        if not bad.any():
            break
        nearer = shrink(target, tries[int(bad.argmax())])
        if (new := float(target.distance(nearer))) >= distance:
            break
        best, distance, at = nearer, new, nearer
    return best


def _nearest(target: Target, g: Singles, constant: float, most: float) -> Singles:
    """The nearest point with g·x + constant below zero, if one lies within `most`."""
    room = np.where(g > 0, target.x - np.float32(target.low), np.float32(target.high) - target.x)
    size, base = np.abs(g), float(g @ target.x) + constant
    held, broken = 0.0, most
    for _ in range(_BISECTIONS):
        mid = (held + broken) / 2
        if base - float(size @ np.minimum(room, np.float32(mid))) <= -1e-5:
            broken = mid
        else:
            held = mid
    return np.asarray(target.x - np.sign(g) * np.minimum(room, np.float32(broken)))


def nearby(
    target: Target, reach: float, effort: Effort, rng: np.random.Generator
) -> Singles | None:
    """A counterexample as close as this effort finds one, or nothing.

    Descents at a share of the best distance so far, from the last round's points and random ones,
    against every margin first and then against the lowest few.
    """
    count, n = len(target.rows), len(target.x)
    best: Singles | None = None
    distance, share = reach, 0.5
    order = np.arange(count)
    warm = np.repeat(target.x[None], count, axis=0)
    for turn in range(effort.rounds):
        kept = order[: count if turn < 3 else effort.targets]
        radius = share * distance
        starts = [warm[kept]]
        for _ in range(effort.starts if turn else 0):
            noise = rng.uniform(-radius, radius, (len(kept), n)).astype(np.float32)
            starts.append(target.x + noise)
        row = np.tile(kept, len(starts))
        points, margin = descend_margins(target, np.concatenate(starts), row, radius, effort.steps)
        table = margin.reshape(len(starts), len(kept))
        warm[kept] = points.reshape(len(starts), len(kept), n)[
            table.argmin(0), np.arange(len(kept))
        ]
        lowest = np.full(count, np.inf)
        lowest[kept] = table.min(axis=0)
        order = np.argsort(lowest, kind="stable")
        if margin.min() <= 0:
            found = polish(target, shrink(target, points[int(margin.argmin())]), 6)
            if (near := float(target.distance(found))) < distance or best is None:
                best, distance = found, min(near, distance)
        elif best is None:
            share = min((1 + share) / 2, 1.0) if turn < 3 else 1.0
        else:
            share = min((1 + share) / 2, 0.985)
    return best


def nearer(
    target: Target, distance: float, effort: Effort, rng: np.random.Generator
) -> Singles | None:
    """A counterexample nearer than `distance`, or nothing.

    Descents with short and long first steps from the input and from points close to it: far points
    and long steps can all end on the same plateau.
    """
    best: Singles | None = None
    kept = np.arange(len(target.rows))
    for _ in range(effort.rounds):
        radius = 0.985 * distance
        noise = np.repeat(np.array(_NOISE), len(kept))[:, None]
        around = noise * rng.uniform(-radius, radius, (len(noise), len(target.x)))
        start = (target.x + around).astype(np.float32)
        row, lowest = np.tile(kept, len(_NOISE)), np.full(len(target.rows), np.inf)
        found = None
        for first in _FIRST:
            points, margin = descend_margins(target, start, row, radius, effort.steps, first)
            np.minimum.at(lowest, row, margin)
            if margin.min() <= 0:
                found = polish(target, shrink(target, points[int(margin.argmin())]), 6)
                break
        if found is not None and float(target.distance(found)) < distance:
            best, distance = found, float(target.distance(found))
        elif len(kept) <= effort.targets:
            break
        kept = np.argsort(lowest, kind="stable")[: effort.targets]
    return best
