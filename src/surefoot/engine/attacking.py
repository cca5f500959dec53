"""A gradient attack on many inputs: descents towards each rival, every success replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.engine.bench import to_numpy
from surefoot.engine.drive import Progress
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument, ModelFailed, OutOfMemory
from surefoot.subject import Array, Ball, Gradients, Inputs, Model, Perturbation, Property

if TYPE_CHECKING:
    from surefoot.verify.descent import Reach

Singles = NDArray[np.float32]
_MOST_INPUTS, _MOST_VALUES = 512, 2**21
_ENOUGH = 1e-3


@dataclass(frozen=True)
class Attack:
    """How hard to search: starts towards each rival (the first at the input), steps of each.

    `rivals`: how many of the other classes are aimed at, those of the highest scores first.
    """

    starts: int = 2
    steps: int = 20
    rivals: int = 9

    def __post_init__(self) -> None:
        for name in ("starts", "steps", "rivals"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise InvalidArgument(f"attack: {name} must be a whole number from 1, got {value}")


class Outcome(StrEnum):
    """What became of one input. Blind: nothing was found, and every gradient met was zero."""

    UNDISTURBED = "undisturbed"
    FOUND = "found"
    NOT_FOUND = "not found"
    BLIND = "blind"


@dataclass(frozen=True, eq=False)
class Struck:
    """One input under attack: a point that breaks the property, if one was found.

    `discarded`: points that the search took for a success and the model itself did not confirm.
    """

    outcome: Outcome
    witness: Singles | None
    discarded: int


@dataclass(frozen=True, eq=False)
class AttackBench:
    """The model under attack, what gives its gradients, and what must be broken."""

    inputs: Inputs
    references: NDArray[np.int64]
    model: Model
    gradients: Gradients
    perturbation: Perturbation
    ball: Ball
    property: Property
    seed: int

    def strike(
        self, attack: Attack, batch: int | None, watch: Callable[[Progress], None]
    ) -> list[Struck]:
        """Attack every input, some at a time; out of memory halves how many."""
        n, values = len(self.inputs), int(np.prod(self.inputs.x.shape[1:]))
        size = batch or max(1, min(_MOST_INPUTS, _MOST_VALUES // values))
        turns = attack.starts * self._rivals(attack)
        found: list[Struck] = []
        while (at := len(found)) < n:
            rows = np.arange(at, min(at + size, n))

            def told(turn: int, left: int, at: int = at, taken: int = len(rows)) -> None:
                done = at * turns + turn * left + turns * (taken - left)
                watch(Progress(done, n * turns, at + taken - left, n, "attacking", "descents"))

            try:
                found += self._struck(attack, rows, told)
            except OutOfMemory as error:
                if len(rows) == 1:
                    raise ModelFailed(
                        f"input {self.inputs.ids[at]}: not even one gradient fits into memory "
                        f"({error})"
                    ) from error
                size = len(rows) // 2
        watch(Progress(n * turns, n * turns, n, n, "attacking", "descents"))
        return found

    def _rivals(self, attack: Attack) -> int:
        return min(attack.rivals, self.model.signature.classes - 1)

    def _struck(
        self, attack: Attack, rows: NDArray[np.intp], told: Callable[[int, int], None]
    ) -> list[Struck]:
        """The inputs in these rows, all towards one rival at a time until they are broken."""
        from surefoot.verify.descent import reach

        signature, x = self.model.signature, self.inputs.x[rows]
        labels, rivals = self.references[rows], self._ranked(x, self.references[rows])
        within = reach(
            x, self.ball, self.perturbation.level, signature.bounds, whole=signature.whole_numbers
        )
        undisturbed = self._breaks(x, labels)
        idle = self.perturbation.level == 0
        moved, discarded = np.full(len(rows), idle), np.zeros(len(rows), int)
        witness: dict[int, Singles] = {}
        left = np.flatnonzero(~undisturbed & (not idle))
        turns = product(range(attack.starts), range(self._rivals(attack)))
        for turn, (start, rank) in enumerate(turns):
            told(turn, len(left))
            if len(left) == 0:
                break
            begun = self._begun(x[left], rows[left], start)
            aim = labels[left], rivals[left, rank]
            points, claimed, seen = self._descent(_part(within, left), begun, *aim, attack.steps)
            hit = _part(within, left).holds(points) & self._breaks(points, labels[left])
            moved[left] |= seen
            discarded[left] += claimed & ~hit
            witness |= {int(i): points[k] for k, i in enumerate(left) if hit[k]}
            left = left[~hit]
        return [
            Struck(
                _outcome(bool(undisturbed[i]), i in witness, bool(moved[i])),
                witness.get(i),
                int(discarded[i]),
            )
            for i in range(len(rows))
        ]

    def _ranked(self, x: Singles, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The other classes of each row, the highest score first."""
        scores = to_numpy(self.model.predict(self.model.place(x))).astype(np.float64)
        scores[np.arange(len(x)), labels] = -np.inf
        return np.argsort(-scores, axis=1, kind="stable")[:, :-1].astype(np.int64)

    def _breaks(self, points: Singles, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """In which rows the model itself, in its own arithmetic, breaks the property."""
        scores = self.model.predict(self.model.place(points))
        severity = self.property.severity(scores, beside(scores, labels))
        return np.asarray(to_numpy(severity) >= self.property.limit)

    def _begun(self, x: Singles, rows: NDArray[np.intp], start: int) -> Singles:
        """The inputs themselves, or a perturbation of each that has a name of its own."""
        if start == 0:
            return x
        made, bounds = self.perturbation, self.model.signature.bounds
        moved = []
        for one, row in zip(x, rows, strict=True):
            source = stream(self.seed, self.inputs.ids[row], "attack", start, one)
            drawn = made.draw(source, 1, one.shape)
            moved.append(made.apply(one[None], drawn, made.level, bounds))
        return np.concatenate(moved).astype(np.float32)

    def _descent(
        self,
        within: Reach,
        begun: Singles,
        labels: NDArray[np.int64],
        rivals: NDArray[np.int64],
        steps: int,
    ) -> tuple[Singles, NDArray[np.bool_], NDArray[np.bool_]]:
        """The lowest points, whether the search takes them for broken, whether it saw a slope."""
        from surefoot.verify.descent import descend

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
            slope, there.inside, there.step, place(begun), within.radius, steps, enough
        )
        points = within.settled(to_numpy(best).astype(np.float32))
        return points, np.asarray(to_numpy(lowest) <= 0), np.asarray(to_numpy(seen), bool)


def _outcome(undisturbed: bool, found: bool, moved: bool) -> Outcome:
    if undisturbed:
        return Outcome.UNDISTURBED
    if found:
        return Outcome.FOUND
    return Outcome.NOT_FOUND if moved else Outcome.BLIND


def beside(like: Array, values: NDArray[Any]) -> Array:
    """Where `like` is."""
    return array_namespace(like).asarray(values, device=device(like))


def _part(whole: Reach, rows: NDArray[np.intp]) -> Reach:
    return replace(whole, x=whole.x[rows], low=whole.low[rows], high=whole.high[rows])
