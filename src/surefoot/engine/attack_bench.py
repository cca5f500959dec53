"""The bench of an attack: a search for points that fail, every one run through the model again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Proof
from surefoot.core.tasks import Task
from surefoot.engine.attack_function import FunctionSearch
from surefoot.engine.attack_search import PgdSearch, Search, Targets
from surefoot.engine.device_arrays import on_device_of
from surefoot.engine.margin_search import MarginSearch
from surefoot.engine.streams import stream
from surefoot.engine.unchanged_model import answers, check_unchanged
from surefoot.perturb._ops.levels import level_of
from surefoot.region.attack_method import (
    FOUND,
    NO_GRADIENT,
    NOT_FOUND,
    PGD,
    WRONG_CLEAN,
    AnyAttack,
    AttackFunction,
)
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Ball, Gradients, Model, Perturbation, Property, to_host

if TYPE_CHECKING:
    from surefoot.verify.margin_descent import ClippedBall

Float32Array = NDArray[np.float32]
_MOST_INPUTS, _MOST_VALUES = 256, 2**21
"""Inputs and values of a batch: enough to fill the processor, few enough to fit into memory."""


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
    attack: AnyAttack
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
        """The inputs of these tasks, round by round until they fail."""
        from surefoot.verify.margin_descent import clipped_ball

        begun = time.perf_counter()
        rows = np.array([task.subject.rows[0] for task in tasks], dtype=np.intp)
        signature, x = self.model.signature, self.inputs.x[rows]
        labels, radius = self.references[rows], level_of(self.perturbation)
        ball = clipped_ball(x, self.ball, radius, signature.bounds, whole=signature.whole_numbers)
        scores = answers(self.model, x)
        clean = self._fails(x, labels)
        sloped, discarded = np.full(len(rows), radius == 0), np.zeros(len(rows), int)
        hit_any = np.zeros(len(rows), bool)
        left = np.flatnonzero(~clean & (radius > 0))
        search = self._search()
        for turn in range(search.rounds):
            if len(left) == 0:
                break
            part = _rows_of(ball, left)
            start = partial(self._starts, x[left], rows[left])
            targets = Targets(labels[left], scores[left], part, start)
            candidates = search.candidates(targets, turn)
            hit = part.contains(candidates.points) & self._fails(candidates.points, labels[left])
            sloped[left] |= candidates.sloped
            discarded[left] += (candidates.claimed & ~hit) | candidates.outside
            hit_any[left] |= hit
            left = left[~hit]
        check_unchanged(self.model, x, scores, _name(self.attack))
        each = round((time.perf_counter() - begun) / len(rows), 6)
        outcomes = [_outcome(*flags) for flags in zip(clean, hit_any, sloped, strict=True)]
        high = {WRONG_CLEAN: 0.0, FOUND: radius}
        return [
            Proof(0.0, high.get(outcome), "", outcome, 0, each, int(lost))
            for outcome, lost in zip(outcomes, discarded, strict=True)
        ]

    def _search(self) -> Search:
        """How this attack looks for points."""
        match self.attack:
            case PGD():
                return PgdSearch(self.attack, self.model, self.gradients)
            case AttackFunction():
                return FunctionSearch(self.attack, self.model, self.seed)
            case _:
                return MarginSearch(self.attack, self.model, self.gradients)

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


def _name(attack: AnyAttack) -> str:
    return attack.name if isinstance(attack, AttackFunction) else "the attack"


def _outcome(clean: bool, hit: bool, sloped: bool) -> str:
    if clean:
        return WRONG_CLEAN
    if hit:
        return FOUND
    return NOT_FOUND if sloped else NO_GRADIENT


def _rows_of(ball: ClippedBall, rows: NDArray[np.intp]) -> ClippedBall:
    return replace(ball, x=ball.x[rows], low=ball.low[rows], high=ball.high[rows])
