"""Searches of the balls around inputs by gradients: points for the bench to run again."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.engine.devices import concatenated, on_device_of
from surefoot.errors import OutOfMemory
from surefoot.region.attack_method import LONGER_STARTS, LOWEST_TARGETS, PGD, Attack
from surefoot.subject.protocols import Array, Ball, Gradients, MarginProperty, Model, to_host

if TYPE_CHECKING:
    from surefoot.verify.descent import ClippedBall, Value

Float32Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Targets:
    """Inputs that have not failed yet: their labels, clean scores, ball, and named random points.

    `start(k)` gives a point of the ball for each, the same whatever else is in the batch.
    """

    labels: NDArray[np.int64]
    scores: NDArray[np.floating]
    ball: ClippedBall
    draw: Callable[[int, NDArray[np.intp]], Float32Array]
    places: NDArray[np.intp]

    def take(self, rows: NDArray[np.bool_]) -> Targets:
        """Some of them."""
        return Targets(
            self.labels[rows], self.scores[rows], self.ball.take(rows), self.draw,
            self.places[rows],
        )  # fmt: skip

    def start(self, number: int) -> Float32Array:
        """A point of the ball for each, the same whatever else is in the batch; 0: the input."""
        return self.draw(number, self.places)

    def placed(self, model: Model) -> tuple[ClippedBall, Array]:
        """Ball and labels where the model is."""
        place, ball = model.place, self.ball
        placed = replace(ball, x=place(ball.x), low=place(ball.low), high=place(ball.high))
        return placed, on_device_of(placed.x, self.labels)

    def ranked(self) -> NDArray[np.int64]:
        """The other classes of each row, the highest score first."""
        scores = self.scores.astype(np.float64)
        scores[np.arange(len(scores)), self.labels] = -np.inf
        return np.argsort(-scores, axis=1, kind="stable")[:, :-1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Candidates:
    """A point for each input, in main memory; the model itself says which of them fail.

    `claimed`: the search says that it fails. `outside`: it was no point of the ball and is not
    used. `sloped`: there was a gradient to follow.
    """

    points: Float32Array
    claimed: NDArray[np.bool_]
    outside: NDArray[np.bool_]
    sloped: NDArray[np.bool_]


Rounds = Generator[Candidates, NDArray[np.bool_], None]
"""Candidates for all inputs; what is sent back says which failed, and the next are for the rest."""


class Search(Protocol):
    """An attack: rounds, each of which gives candidates for the inputs that are left."""

    def rounds(self, targets: Targets) -> Rounds:
        """A point for each target that is left, until there is nothing more to try."""


@dataclass(frozen=True, eq=False)
class PgdSearch:
    """PGD as published: the last point of each start, wherever the loss was highest."""

    attack: PGD
    model: Model
    gradients: Gradients

    def rounds(self, targets: Targets) -> Rounds:
        """Each start is one round."""
        for start in range(self.attack.starts):
            failed = yield self._ends(targets, start + 1)
            targets = targets.take(~failed)

    def _ends(self, targets: Targets, start: int) -> Candidates:
        """Steps up the cross-entropy from a random point; no input affects another."""
        ball, labels = targets.placed(self.model)
        points = ball.project(self.model.place(targets.start(start)))
        xp = array_namespace(points)
        sloped = labels < 0  # of none yet
        length = self.attack.step_at(ball.radius)

        def weights(logits: Array, rows: Array) -> Array:
            """The gradient of the cross-entropy in the logits: softmax minus one at the label."""
            shares = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
            shares = shares / xp.sum(shares, axis=1, keepdims=True)
            classes = xp.arange(logits.shape[1], device=device(logits))
            return shares - xp.astype(classes[None] == labels[rows][:, None], shares.dtype)

        for _ in range(self.attack.iterations):
            gradient, steep = _finite(self.gradients.logits_and_gradient(points, weights)[1])
            sloped = sloped | steep
            points = ball.project(points + length * ball.direction(gradient))
        inside = targets.ball.moved_inside(to_host(points).astype(np.float32))
        none = np.zeros(len(inside), bool)
        return Candidates(inside, none, none, np.asarray(to_host(sloped), bool))


def _finite(gradient: Array) -> tuple[Array, Array]:
    """The gradient with 0 where it is no number, and in which rows there is one to follow."""
    xp = array_namespace(gradient)
    gradient = xp.where(xp.isfinite(gradient), gradient, 0.0)
    return gradient, xp.any(gradient != 0, axis=tuple(range(1, gradient.ndim)))


_CLEAR_SHARE = 1e-3
"""A descent ends where the property fails by this share of its first margin: rounding then does not
bring it back. Chosen by hand; what is found is run again."""
_ROW_VALUES = 2**21
"""Values of the points whose gradients are computed at once: fills a GPU, fits into memory."""


@dataclass(frozen=True)
class _Stage:
    """Descents from one point of each input: towards some targets at once, 0: the nearest class.

    `start` numbers the point; None: the lowest so far, with short steps.
    """

    targets: int
    start: int | None
    steps: int


def _stages(attack: Attack, classes: int) -> list[_Stage]:
    """From the nearest class, where most inputs fail, over all targets to the lowest few.

    Then on from the lowest points of all: descents of other starts end in other basins, and each
    stops above the bottom of its own.
    """
    targets, steps = min(attack.targets, classes - 1), attack.iterations
    few = min(LOWEST_TARGETS, targets)
    starts = range(0 if classes > 2 else 1, attack.starts)  # the only other class was the nearest
    return [
        _Stage(0, 0, steps),
        *(_Stage(targets, start, steps) for start in starts),
        *(_Stage(few, attack.starts + k, 2 * steps) for k in range(LONGER_STARTS)),
        _Stage(targets, None, 2 * steps),
        _Stage(few, None, 3 * steps),
    ]


@dataclass(frozen=True, eq=False)
class MarginSearch:
    """Descents of the margin to the nearest class, to each target class, and to the lowest few."""

    attack: Attack
    model: Model
    gradients: Gradients
    prop: MarginProperty

    def rounds(self, targets: Targets) -> Rounds:
        """One for each stage."""
        classes = self.model.signature.classes
        order = targets.ranked()[:, : self.attack.targets]
        lowest = np.full(order.shape, np.inf)
        points = np.repeat(targets.ball.x[:, None], order.shape[1], axis=1)
        for stage in _stages(self.attack, classes):
            each = np.arange(len(order))[:, None]
            chosen = np.argsort(lowest, axis=1, kind="stable")[:, : max(stage.targets, 1)]
            aims = order[each, chosen] if stage.targets else None
            start = points[each, chosen]
            if stage.start is not None:
                start = np.repeat(targets.start(stage.start)[:, None], start.shape[1], axis=1)
            found, margins, sloped = self._descend(targets, aims, start, stage)
            if stage.targets:
                better = margins < lowest[each, chosen]
                lowest[each, chosen] = np.where(better, margins, lowest[each, chosen])
                wide = better.reshape(*better.shape, *(1 for _ in found.shape[2:]))
                points[each, chosen] = np.where(wide, found, points[each, chosen])
            first = margins.argmin(axis=1)
            inside = targets.ball.moved_inside(found[each[:, 0], first])
            claimed = margins[each[:, 0], first] <= 0
            failed = yield Candidates(inside, claimed, np.zeros_like(claimed), sloped)
            targets, order = targets.take(~failed), order[~failed]
            lowest, points = lowest[~failed], points[~failed]

    def _descend(
        self,
        targets: Targets,
        aims: NDArray[np.int64] | None,
        start: Float32Array,
        stage: _Stage,
    ) -> tuple[Float32Array, NDArray[np.floating], NDArray[np.bool_]]:
        """The lowest points from these starts, several an input, their margins, and its slopes."""
        from surefoot.verify.descent import Value, adaptive_descent, descent_from_outside

        n, many = start.shape[:2]
        ball, labels = targets.placed(self.model)
        owners = on_device_of(labels, np.repeat(np.arange(n), many))
        ball, labels = ball.take(owners), labels[owners]
        rivals = None if aims is None else on_device_of(labels, aims.reshape(-1))
        sloped, slack = labels < 0, None  # no slope was met yet

        def objective(points: Array, rows: Array) -> Value:
            nonlocal slack
            own, aim = labels[rows], None if rivals is None else rivals[rows]
            logits, gradient = self._in_parts(points, own, aim, one_input=n == 1)
            gradient, steep = _finite(gradient)
            sloped[rows] = sloped[rows] | steep
            loss = self.prop.margin(logits, own, aim)[0]
            margin = loss if aim is None else self.prop.margin(logits, own, None)[0]
            slack = _CLEAR_SHARE * abs(margin) if slack is None else slack
            return Value(loss, gradient, margin < -slack[rows])

        begin = self.model.place(start.reshape(n * many, *start.shape[2:]))
        if stage.start and ball.ball is not Ball.LINF:  # a random point: see the function
            found, lowest = descent_from_outside(objective, ball, begin, owners, stage.steps)
        else:
            near = stage.start is None
            found, lowest = adaptive_descent(objective, ball, begin, owners, stage.steps, near=near)
        met = np.asarray(to_host(sloped).reshape(n, many).any(axis=1))
        points: Float32Array = to_host(found).astype(np.float32).reshape(start.shape)
        return points, to_host(lowest).reshape(n, many), met

    def _in_parts(
        self, points: Array, labels: Array, aim: Array | None, *, one_input: bool
    ) -> tuple[Array, Array]:
        """Logits, and the gradients of the margins, of as many points at once as have room."""

        def part(rows: slice) -> tuple[Array, Array]:
            own, to = labels[rows], None if aim is None else aim[rows]

            def weights(logits: Array, at: Array) -> Array:
                return self.prop.margin(logits, own[at], None if to is None else to[at])[1]

            return self.gradients.logits_and_gradient(points[rows], weights)

        def parts(size: int) -> tuple[Array, Array]:
            pairs = [part(slice(k, k + size)) for k in range(0, len(points), size)]
            return concatenated([a for a, _ in pairs]), concatenated([b for _, b in pairs])

        try:
            return parts(max(1, _ROW_VALUES // int(np.prod(points.shape[1:]))))
        except OutOfMemory:
            if not one_input:  # fewer inputs are tried first
                raise
            return parts(1)
