"""The bench of an attack: descents towards each target class, every success run again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.engine.device_arrays import to_numpy
from surefoot.engine.streams import stream
from surefoot.evidence import Proof
from surefoot.perturb._ops.levels import level_of
from surefoot.search.attack_method import FOUND, NO_GRADIENT, NOT_FOUND, WRONG_CLEAN, Attack
from surefoot.subject import Array, Ball, Gradients, Inputs, Model, Perturbation, Property
from surefoot.tasks import Task

if TYPE_CHECKING:
    from surefoot.verify.margin_descent import Reach

Singles = NDArray[np.float32]
_MOST_INPUTS, _MOST_VALUES = 256, 2**21
"""Inputs and values of a batch: enough to fill the processor, few enough to fit into memory."""
_ENOUGH = 1e-3


@dataclass(frozen=True, eq=False)
class AttackBench:
    """Answers tasks by searching the ball around each input for a point that fails."""

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
        """The inputs of these tasks, all towards one target at a time until they are broken."""
        from surefoot.verify.margin_descent import reach

        begun = time.perf_counter()
        rows = np.array([task.subject.rows[0] for task in tasks], dtype=np.intp)
        signature, x = self.model.signature, self.inputs.x[rows]
        labels, targets = self.references[rows], self._ranked(x, self.references[rows])
        radius = level_of(self.perturbation)
        within = reach(x, self.ball, radius, signature.bounds, whole=signature.whole_numbers)
        clean = self._breaks(x, labels)
        sloped, discarded = np.full(len(rows), radius == 0), np.zeros(len(rows), int)
        hit_any = np.zeros(len(rows), bool)
        left = np.flatnonzero(~clean & (radius > 0))
        some = min(self.attack.targets, signature.classes - 1)
        for start, rank in product(range(self.attack.starts), range(some)):
            if len(left) == 0:
                break
            begin = self._begin(x[left], rows[left], start)
            aim = labels[left], targets[left, rank]
            points, claimed, seen = self._descent(_part(within, left), begin, *aim)
            hit = _part(within, left).holds(points) & self._breaks(points, labels[left])
            sloped[left] |= seen
            discarded[left] += claimed & ~hit
            hit_any[left] |= hit
            left = left[~hit]
        each = round((time.perf_counter() - begun) / len(rows), 6)
        outcomes = [_outcome(*flags) for flags in zip(clean, hit_any, sloped, strict=True)]
        far = {WRONG_CLEAN: 0.0, FOUND: radius}
        return [
            Proof(0.0, far.get(outcome), "", outcome, 0, each, int(lost))
            for outcome, lost in zip(outcomes, discarded, strict=True)
        ]

    def _ranked(self, x: Singles, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The other classes of each row, the highest score first."""
        scores = to_numpy(self.model.predict(self.model.place(x))).astype(np.float64)
        scores[np.arange(len(x)), labels] = -np.inf
        return np.argsort(-scores, axis=1, kind="stable")[:, :-1].astype(np.int64)

    def _breaks(self, points: Singles, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """In which rows the model itself, in its own arithmetic, breaks the property."""
        scores = self.model.predict(self.model.place(points))
        severity = self.prop.severity(scores, beside(scores, labels))
        return np.asarray(to_numpy(severity) >= self.prop.limit)

    def _begin(self, x: Singles, rows: NDArray[np.intp], start: int) -> Singles:
        """The inputs themselves, or a perturbation of each that has a name of its own."""
        if start == 0:
            return x
        made, bounds = self.perturbation, self.model.signature.bounds
        moved = []
        for one, row in zip(x, rows, strict=True):
            source = stream(self.seed, self.inputs.ids[row], "attack", start, one)
            drawn = made.draw(source, 1, one.shape)
            moved.append(made.apply(one[None], drawn, level_of(made), bounds))
        return np.concatenate(moved).astype(np.float32)

    def _descent(
        self,
        within: Reach,
        begun: Singles,
        labels: NDArray[np.int64],
        rivals: NDArray[np.int64],
    ) -> tuple[Singles, NDArray[np.bool_], NDArray[np.bool_]]:
        """The lowest points, whether the search takes them for broken, whether it saw a slope."""
        from surefoot.verify.margin_descent import descend

        place = self.model.place
        there = replace(within, x=place(within.x), low=place(within.low), high=place(within.high))
        own, rival = beside(there.x, labels), beside(there.x, rivals)
        slack: Array = None
        seen = beside(there.x, np.zeros(len(begun), bool))

        def slope(points: Array) -> tuple[Array, Array]:
            nonlocal seen, slack
            xp = array_namespace(points)
            margin, gradient = self.gradients.margin_and_gradient(points, own, rival)
            gradient = xp.where(xp.isfinite(gradient), gradient, 0.0)
            seen = seen | xp.any(gradient != 0, axis=tuple(range(1, gradient.ndim)))
            slack = _ENOUGH * abs(margin) if slack is None else slack
            return margin, gradient

        def enough(lowest: Array) -> bool:
            return bool((lowest < -slack).all())

        best, lowest = descend(
            slope,
            there.inside,
            there.step,
            place(begun),
            within.radius,
            self.attack.iterations,
            enough,
        )
        points = within.settled(to_numpy(best).astype(np.float32))
        return points, np.asarray(to_numpy(lowest) <= 0), np.asarray(to_numpy(seen), bool)


def _outcome(clean: bool, found: bool, sloped: bool) -> str:
    if clean:
        return WRONG_CLEAN
    if found:
        return FOUND
    return NOT_FOUND if sloped else NO_GRADIENT


def beside(like: Array, values: NDArray[Any]) -> Array:
    """Where `like` is."""
    return array_namespace(like).asarray(values, device=device(like))


def _part(whole: Reach, rows: NDArray[np.intp]) -> Reach:
    return replace(whole, x=whole.x[rows], low=whole.low[rows], high=whole.high[rows])
