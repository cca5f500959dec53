"""The bench of an attack: descents towards each target class, every success run again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.engine.device_arrays import on_device_of
from surefoot.engine.streams import stream
from surefoot.evidence import Proof
from surefoot.input_set import Inputs
from surefoot.perturb._ops.levels import level_of
from surefoot.region.attack_method import FOUND, NO_GRADIENT, NOT_FOUND, WRONG_CLEAN, Attack
from surefoot.subject import Array, Ball, Gradients, Model, Perturbation, Property, to_host
from surefoot.tasks import Task

if TYPE_CHECKING:
    from surefoot.verify.margin_descent import ClippedBall

Float32Array = NDArray[np.float32]
_MOST_INPUTS, _MOST_VALUES = 256, 2**21
"""Inputs and values of a batch: enough to fill the processor, few enough to fit into memory."""
_CLEAR_SHARE = 1e-3
"""A descent ends where every margin is below 0 by this share of the clean margin: rounding then
does not bring it back. Chosen by hand; what is found is run again."""


@dataclass(frozen=True, eq=False)
class AttackBench:
    """Searches the ball around each input for a point that fails."""

    inputs: Inputs
    references: NDArray[np.int64]
    model: Model
    gradients: Gradients
    perturbation: Perturbation
    ball: Ball
    prop: Property
    attack: Attack
    seed: int

    @property
    def block(self) -> int:
        """Every input stands for itself."""
        return 1

    def batch_size(self) -> int:
        """Inputs that are attacked at once."""
        values = int(np.prod(self.inputs.x.shape[1:]))
        return max(1, min(_MOST_INPUTS, _MOST_VALUES // values))

    def answer(self, tasks: Sequence[Task]) -> list[Proof]:
        """The inputs of these tasks, all towards one target class at a time until they fail."""
        from surefoot.verify.margin_descent import clipped_ball

        begun = time.perf_counter()
        rows = np.array([task.subject.rows[0] for task in tasks], dtype=np.intp)
        signature, x = self.model.signature, self.inputs.x[rows]
        labels, targets = self.references[rows], self._ranked(x, self.references[rows])
        radius = level_of(self.perturbation)
        ball = clipped_ball(x, self.ball, radius, signature.bounds, whole=signature.whole_numbers)
        clean = self._fails(x, labels)
        sloped, discarded = np.full(len(rows), radius == 0), np.zeros(len(rows), int)
        hit_any = np.zeros(len(rows), bool)
        left = np.flatnonzero(~clean & (radius > 0))
        some = min(self.attack.targets, signature.classes - 1)
        for start, rank in product(range(self.attack.starts), range(some)):
            if len(left) == 0:
                break
            part = _rows_of(ball, left)
            begin = self._starts(x[left], rows[left], start)
            aim = labels[left], targets[left, rank]
            points, claimed, has_slope = self._descent(part, begin, *aim)
            hit = part.contains(points) & self._fails(points, labels[left])
            sloped[left] |= has_slope
            discarded[left] += claimed & ~hit
            hit_any[left] |= hit
            left = left[~hit]
        each = round((time.perf_counter() - begun) / len(rows), 6)
        outcomes = [_outcome(*flags) for flags in zip(clean, hit_any, sloped, strict=True)]
        high = {WRONG_CLEAN: 0.0, FOUND: radius}
        return [
            Proof(0.0, high.get(outcome), "", outcome, 0, each, int(lost))
            for outcome, lost in zip(outcomes, discarded, strict=True)
        ]

    def _ranked(self, x: Float32Array, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The other classes of each row, the highest score first."""
        scores = to_host(self.model.predict(self.model.place(x))).astype(np.float64)
        scores[np.arange(len(x)), labels] = -np.inf
        return np.argsort(-scores, axis=1, kind="stable")[:, :-1].astype(np.int64)

    def _fails(self, points: Float32Array, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """In which rows the model itself, in its own arithmetic, fails."""
        scores = self.model.predict(self.model.place(points))
        severity = self.prop.severity(scores, on_device_of(scores, labels))
        return np.asarray(to_host(severity) >= self.prop.limit)

    def _starts(self, x: Float32Array, rows: NDArray[np.intp], start: int) -> Float32Array:
        """The inputs themselves, or a perturbation of each that has a name of its own."""
        if start == 0:
            return x
        perturbation, bounds = self.perturbation, self.model.signature.bounds
        starts = []
        for one, row in zip(x, rows, strict=True):
            source = stream(self.seed, self.inputs.ids[row], "attack", start, one)
            drawn = perturbation.draw(source, 1, one.shape)
            perturbed = perturbation.apply(one[None], drawn, level_of(perturbation), bounds)
            starts.append(perturbed)
        return np.concatenate(starts).astype(np.float32)

    def _descent(
        self,
        ball: ClippedBall,
        start: Float32Array,
        labels: NDArray[np.int64],
        rivals: NDArray[np.int64],
    ) -> tuple[Float32Array, NDArray[np.bool_], NDArray[np.bool_]]:
        """The lowest points, whether their margin is lost, whether a gradient was not 0."""
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
        return points, np.asarray(to_host(lowest) <= 0), np.asarray(to_host(sloped), bool)


def _outcome(clean: bool, hit: bool, sloped: bool) -> str:
    if clean:
        return WRONG_CLEAN
    if hit:
        return FOUND
    return NOT_FOUND if sloped else NO_GRADIENT


def _rows_of(ball: ClippedBall, rows: NDArray[np.intp]) -> ClippedBall:
    return replace(ball, x=ball.x[rows], low=ball.low[rows], high=ball.high[rows])
