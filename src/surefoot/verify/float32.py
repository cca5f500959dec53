"""How far the model as run in float32 is from the network that proofs are about: a measurement.

Proofs hold for the network of the file in real arithmetic. float64 stands for it here, whose own
rounding is 2⁻²⁹ of float32's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.graph.network import Floats, Margins, Network, margin_question, margins_with_sizes
from surefoot.subject.protocols import Ball
from surefoot.verify.bracket import one_blas_thread
from surefoot.verify.counterexample_search import minimise_margin
from surefoot.verify.descent import ClippedBall, Float32Array, clipped_ball

Labels = Callable[[Float32Array], NDArray[np.integer]]

_DESCENTS = 8
"""Descents by each of the two measures: one for each of the nearest rivals, then random starts."""
_RIVALS = 4
"""Rival classes that are followed, those whose margin a linear model sees fall lowest. Chosen by
hand; what is found is checked."""
_STEPS = 6
"""Steps of a descent. The first is as long as the radius, so that a margin without kinks is done
after one; eight times as many found no more on the networks of the tests."""
_MOST_ULPS = 4
"""Float32 numbers by which a value is moved at most. Chosen by hand; what is found is checked."""
_MOVES = 4
"""Kinds of small moves, see `_moved`."""


def points_near_ties(
    network: Network,
    x: NDArray[np.floating],
    label: int,
    radius: float,
    bounds: Interval,
    rng: np.random.Generator,
    n: int,
) -> Float32Array:
    """`n` flat float32 points within `radius` of x, exactly, where a real margin is small.

    Descents of the margins, and of the margins beside the size of their sums, from x, random
    corners and random points; then their ends and small moves of them.
    """
    flat = np.asarray(x, np.float64).reshape(-1)
    ball = _exact_box(flat, radius, bounds)
    with np.errstate(all="ignore"):  # a gradient that overflows leads nowhere and does no harm
        ends = _descent_ends(margins_with_sizes(margin_question(network, label)), ball, rng)
    points = [ends[:n]]
    for k in range(-(-max(n - len(ends), 0) // len(ends))):
        points.append(_moved(ends, ball, rng, k % _MOVES))
    return np.concatenate(points)[:n]


@one_blas_thread()
def find_contradiction(
    network: Network,
    label_of: Labels,
    x: NDArray[np.floating],
    label: int,
    radius: float,
    bounds: Interval,
    seed: int,
    tries: int = 128,
) -> Float32Array | None:
    """A float32 point within a proved radius that the model as run labels otherwise, or nothing.

    `label_of` gives the labels of a batch of inputs by the model itself. The nearest of them
    is returned, in the shape of `x`.
    """
    rng = np.random.default_rng(seed)
    points = points_near_ties(network, x, label, radius, bounds, rng, tries)
    other = np.asarray(label_of(points.reshape(-1, *np.shape(x)))) != label
    broken = points[other & lies_within(points, x, radius, bounds)]
    if not len(broken):
        return None
    far = np.abs(broken - np.asarray(x, np.float64).reshape(-1)).max(axis=1)
    return np.asarray(broken[int(far.argmin())].reshape(np.shape(x)), np.float32)


def lies_within(
    points: Float32Array, x: NDArray[np.floating], radius: float, bounds: Interval
) -> NDArray[np.bool_]:
    """Which flat points lie in the ball and the bounds, in exact arithmetic."""
    p = points.astype(np.float64)
    boxed = (p >= bounds.low) & (p <= bounds.high)
    return np.asarray((boxed & _near(p, np.asarray(x, np.float64).reshape(-1), radius)).all(axis=1))


def _near(p: Floats, x: Floats, radius: float) -> NDArray[np.bool_]:
    """|p − x| ≤ radius: by the rounded difference, or its rounding error where that is equal."""
    apart = p - x
    back = apart - p
    rest = (p - (apart - back)) - (x + back)  # Knuth's two-sum
    size = np.abs(apart)
    return np.asarray((size < radius) | ((size == radius) & (rest * np.sign(apart) <= 0)))


def _exact_box(x: Floats, radius: float, bounds: Interval) -> ClippedBall:
    """The box of float32 numbers, every one of which is within the radius."""
    box = clipped_ball(x.astype(np.float32), Ball.LINF, radius, bounds)
    low, high, inward = box.low, box.high, x.astype(np.float32)
    low = np.where(_near(low.astype(np.float64), x, radius), low, np.nextafter(low, inward))
    high = np.where(_near(high.astype(np.float64), x, radius), high, np.nextafter(high, inward))
    return replace(box, low=low, high=high)


def _descent_ends(margins: Margins, box: ClippedBall, rng: np.random.Generator) -> Float32Array:
    """The ends of descents by both measures."""
    count = len(margins.question.rows)
    every = np.arange(count)
    clean, slope = margins.margin(np.repeat(box.x[None].astype(np.float64), count, 0), every)
    expected = clean - box.radius * np.abs(slope).sum(axis=1)
    nearest = np.argsort(expected, kind="stable")[:_RIVALS]
    row = nearest[np.arange(_DESCENTS) % len(nearest)]
    start = _spread(box, rng, 2 * _DESCENTS)
    start[: len(nearest)] = start[_DESCENTS : _DESCENTS + len(nearest)] = box.x
    ends, _ = minimise_margin(
        lambda points: margins.half_ratio(points, np.concatenate([row, row])),
        lambda points: np.clip(points, box.low, box.high),
        np.sign,
        start.astype(np.float64),
        box.radius,
        _STEPS,
        lambda lowest: False,
    )
    return np.asarray(np.clip(ends.astype(np.float32), box.low, box.high), np.float32)


def _spread(box: ClippedBall, rng: np.random.Generator, n: int) -> Float32Array:
    """Random points and random corners of the box in turn."""
    share = rng.random((n, len(box.x)), dtype=np.float32)
    share[1::2] = np.rint(share[1::2])
    spread = box.low + share * (box.high - box.low)
    return np.asarray(np.clip(spread, box.low, box.high), np.float32)


def _moved(
    points: Float32Array, box: ClippedBall, rng: np.random.Generator, move: int
) -> Float32Array:
    """The points moved a little: to neighbouring numbers, towards x, or in some of the values."""
    if move == 0:
        steps = rng.integers(-_MOST_ULPS, _MOST_ULPS + 1, points.shape).astype(np.float32)
        moved = points + steps * np.spacing(np.abs(points))
    elif move == 1:
        share = rng.uniform(0.7, 1.0, (len(points), 1)).astype(np.float32)
        moved = box.x + share * (points - box.x)
    elif move == 2:
        other = rng.random(points.shape) < rng.uniform(0.02, 0.3, (len(points), 1))
        moved = np.where(other, _spread(box, rng, len(points)), points)
    else:
        moved = points + np.float32(1e-3) * (_spread(box, rng, len(points)) - points)
    return np.asarray(np.clip(moved, box.low, box.high), np.float32)


Outputs = Callable[[Float32Array], NDArray[np.floating]]


class PointKind(StrEnum):
    """Where a difference was measured."""

    CLEAN = "a clean input"
    RANDOM = "a random point of the box"
    NEAR_TIE = "a point near a tie"


@dataclass(frozen=True)
class LargestDifference:
    """The largest of some differences, of which input, and where."""

    value: float
    input: int
    place: PointKind


@dataclass(frozen=True)
class MarginDifference:
    """Margins as run against margins in real arithmetic, at the points that were tried.

    `absolute` is in the unit of the file's output; `relative` is a share of the clean input's own
    margin. `labels` counts points whose label differs. A measurement, which bounds nothing.
    """

    absolute: LargestDifference
    relative: LargestDifference
    labels: int
    points: int

    @property
    def sentence(self) -> str:
        """What was measured, and that it assures nothing."""
        return (
            f"On {self.points:,} points tried, margins as run in float32 differ from real "
            f"arithmetic by up to {self.relative.value:.1e} of the clean margin (at "
            f"{self.relative.place} of input {self.relative.input}), and {self.labels:,} labels "
            "differ. Other points were not tried and may differ more."
        )


@one_blas_thread()
def margin_difference(
    network: Network,
    outputs: Outputs,
    x: NDArray[np.floating],
    radius: float,
    bounds: Interval,
    *,
    seed: int = 0,
    draws: int = 32,
) -> MarginDifference:
    """Margins as run and in real arithmetic compared at inputs, random points and near ties.

    `outputs` is the model as run, of a batch; `draws` random points and as many near ties are tried
    within `radius` of each of the inputs `x`.
    """
    if not len(x) or draws < 1 or not radius > 0:
        raise InvalidArgument(
            f"a comparison needs inputs, draws ≥ 1 and a radius above 0, got {len(x)} inputs, "
            f"{draws} draws and radius {radius}"
        )
    rng = np.random.default_rng(seed)
    absolute = relative = LargestDifference(-1.0, 0, PointKind.CLEAN)
    labels = points = 0
    for i, one in enumerate(x):
        clean = np.asarray(one, np.float32)
        real = network.outputs(clean[None])[0]
        label = int(real.argmax())
        margin = real[label] - np.delete(real, label).max()
        wide = clean.astype(np.float64)
        low, high = np.maximum(wide - radius, bounds.low), np.minimum(wide + radius, bounds.high)
        random = rng.uniform(low, high, (draws, *clean.shape)).astype(np.float32)
        near = points_near_ties(network, clean, label, radius, bounds, rng, draws)
        batches = {
            PointKind.CLEAN: clean[None],
            PointKind.RANDOM: random,
            PointKind.NEAR_TIE: near.reshape(-1, *clean.shape),
        }
        for place, batch in batches.items():
            difference, other = _largest_difference(network, outputs, batch, label)
            labels, points = labels + other, points + len(batch)
            share = 0.0 if difference == 0 else difference / margin if margin > 0 else np.inf
            if difference > absolute.value:
                absolute = LargestDifference(difference, i, place)
            if share > relative.value:
                relative = LargestDifference(share, i, place)
    return MarginDifference(absolute, relative, labels, points)


def _largest_difference(
    network: Network, outputs: Outputs, batch: Float32Array, label: int
) -> tuple[float, int]:
    """The largest difference of a margin to the label, and how many labels differ."""
    run = np.asarray(outputs(batch), np.float64)
    real = network.outputs(batch)
    margins = (scores[:, label, None] - scores for scores in (run, real))
    with np.errstate(invalid="ignore"):
        difference = np.abs(np.subtract(*margins)).max()
    other = int((run.argmax(axis=1) != real.argmax(axis=1)).sum())
    return float(difference) if np.isfinite(difference) else np.inf, other
