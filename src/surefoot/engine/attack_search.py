"""What every attack gets and gives (inputs with their ball, candidates in it), and the searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.engine.devices import on_device_of
from surefoot.region.attack_method import PGD, Attack
from surefoot.subject.protocols import Array, Gradients, Model, to_host

if TYPE_CHECKING:
    from surefoot.verify.counterexample_search import ClippedBall


Float32Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Targets:
    """Inputs that have not failed yet: their labels, clean scores, ball, and named random points.

    `start(k)` gives a point of the ball for each, the same whatever else is in the batch.
    """

    labels: NDArray[np.int64]
    scores: NDArray[np.floating]
    ball: ClippedBall
    start: Callable[[int], Float32Array]

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


class Search(Protocol):
    """An attack: rounds, each of which gives candidates for the inputs that are left."""

    @property
    def rounds(self) -> int:
        """How many rounds there are at most."""
        ...

    def candidates(self, targets: Targets, turn: int) -> Candidates:
        """A point for each target."""
        ...


@dataclass(frozen=True, eq=False)
class PgdSearch:
    """PGD as published: the last point of each start, wherever the loss was highest."""

    attack: PGD
    model: Model
    gradients: Gradients

    @property
    def rounds(self) -> int:
        """Each start is one round."""
        return self.attack.starts

    def candidates(self, targets: Targets, turn: int) -> Candidates:
        """Steps up the cross-entropy from a random point; no input affects another."""
        place, ball = self.model.place, targets.ball
        placed = replace(ball, x=place(ball.x), low=place(ball.low), high=place(ball.high))
        labels = on_device_of(placed.x, targets.labels)
        points = placed.project(place(targets.start(turn + 1)))
        xp = array_namespace(points)
        sloped = on_device_of(points, np.zeros(len(ball.x), bool))
        length = self.attack.step_at(ball.radius)

        def weights(logits: Array, rows: Array) -> Array:
            """The gradient of the cross-entropy in the logits: softmax minus one at the label."""
            shares = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
            shares = shares / xp.sum(shares, axis=1, keepdims=True)
            classes = xp.arange(logits.shape[1], device=device_of(logits))
            return shares - xp.astype(classes[None] == labels[rows][:, None], shares.dtype)

        for _ in range(self.attack.iterations):
            _, gradient = self.gradients.logits_and_gradient(points, weights)
            gradient = xp.where(xp.isfinite(gradient), gradient, 0.0)
            sloped = sloped | xp.any(gradient != 0, axis=tuple(range(1, gradient.ndim)))
            points = placed.project(points + length * placed.direction(gradient))
        none = np.zeros(len(ball.x), bool)
        return Candidates(
            ball.moved_inside(to_host(points).astype(np.float32)),
            none,
            none,
            np.asarray(to_host(sloped), bool),
        )


def device_of(array: Array) -> object:
    """The device of an array; of NumPy, which has one, none."""
    return None if isinstance(array, np.ndarray) else array.device


_CLEAR_SHARE = 1e-3
"""A descent ends where every margin is below 0 by this share of the clean margin: rounding then
does not bring it back. Chosen by hand; what is found is run again."""


@dataclass(frozen=True, eq=False)
class MarginSearch:
    """One descent for each start and target class, all targets of a start first."""

    attack: Attack
    model: Model
    gradients: Gradients

    @property
    def rounds(self) -> int:
        """One for each start and target class."""
        return self.attack.starts * self._targets

    @property
    def _targets(self) -> int:
        return min(self.attack.targets, self.model.signature.classes - 1)

    def candidates(self, targets: Targets, turn: int) -> Candidates:
        """The lowest points of a descent towards one class."""
        from surefoot.verify.counterexample_search import minimise_margin

        start, rank = divmod(turn, self._targets)
        place, ball = self.model.place, targets.ball
        placed = replace(ball, x=place(ball.x), low=place(ball.low), high=place(ball.high))
        own = on_device_of(placed.x, targets.labels)
        rival = on_device_of(placed.x, targets.ranked()[:, rank])
        slack: Array = None
        sloped = on_device_of(placed.x, np.zeros(len(ball.x), bool))

        def margin_and_gradient(points: Array) -> tuple[Array, Array]:
            nonlocal sloped, slack
            xp = array_namespace(points)
            margin, gradient = self.gradients.margin_and_gradient(points, own, rival)
            gradient = xp.where(xp.isfinite(gradient), gradient, 0.0)
            sloped = sloped | xp.any(gradient != 0, axis=tuple(range(1, gradient.ndim)))
            slack = _CLEAR_SHARE * abs(margin) if slack is None else slack
            return margin, gradient

        def stop(lowest: Array) -> bool:
            return bool((lowest < -slack).all())

        best, lowest = minimise_margin(
            margin_and_gradient,
            placed.project,
            placed.direction,
            place(targets.start(start)),
            ball.radius,
            self.attack.iterations,
            stop,
        )
        points = ball.moved_inside(to_host(best).astype(np.float32))
        claimed = np.asarray(to_host(lowest) <= 0)
        return Candidates(
            points, claimed, np.zeros_like(claimed), np.asarray(to_host(sloped), bool)
        )
