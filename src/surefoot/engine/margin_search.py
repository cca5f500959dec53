"""Our own attack: descents of a margin towards each target class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.engine.attack_search import Candidates, Float32Array, Targets
from surefoot.engine.device_arrays import on_device_of
from surefoot.region.attack_method import Attack
from surefoot.subject.protocols import Array, Gradients, Model, to_host

if TYPE_CHECKING:
    from surefoot.verify.margin_descent import ClippedBall

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
        start, rank = divmod(turn, self._targets)
        rivals = targets.ranked()[:, rank]
        return self._descent(targets.ball, targets.start(start), targets.labels, rivals)

    def _descent(
        self,
        ball: ClippedBall,
        start: Float32Array,
        labels: NDArray[np.int64],
        rivals: NDArray[np.int64],
    ) -> Candidates:
        """The lowest points of a descent towards each row's rival."""
        from surefoot.verify.margin_descent import minimise_margin

        place = self.model.place
        placed = replace(ball, x=place(ball.x), low=place(ball.low), high=place(ball.high))
        own, rival = on_device_of(placed.x, labels), on_device_of(placed.x, rivals)
        slack: Array = None
        sloped = on_device_of(placed.x, np.zeros(len(start), bool))

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
            place(start),
            ball.radius,
            self.attack.iterations,
            stop,
        )
        points = ball.moved_inside(to_host(best).astype(np.float32))
        claimed = np.asarray(to_host(lowest) <= 0)
        return Candidates(
            points, claimed, np.zeros_like(claimed), np.asarray(to_host(sloped), bool)
        )
