"""The bench of an attack, its searches, and every candidate run through the model again."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.core.counts import Proof
from surefoot.core.tasks import Task
from surefoot.engine.devices import on_device_of
from surefoot.engine.outputs import answers, changed, check_unchanged
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.models.torch_modules import fixed_parameters
from surefoot.perturb._ops.arrays import level_of
from surefoot.region.attack_method import PGD, AnyAttack, Attack, AttackFunction, AttackOutcome
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import (
    Array,
    Ball,
    Gradients,
    Model,
    Perturbation,
    Property,
    to_host,
)
from surefoot.system.user_code import named_errors

if TYPE_CHECKING:
    import torch

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

    def placed(self, model: Model) -> tuple[ClippedBall, Array, Array]:
        """Ball and labels where the model is; and of each input, that no gradient was met yet."""
        place, ball = model.place, self.ball
        placed = replace(ball, x=place(ball.x), low=place(ball.low), high=place(ball.high))
        labels, none = self.labels, np.zeros(len(ball.x), bool)
        return placed, on_device_of(placed.x, labels), on_device_of(placed.x, none)

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

    def candidates(self, targets: Targets, turn: int) -> Candidates:
        """A point for each target."""


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
        placed, labels, sloped = targets.placed(self.model)
        points = placed.project(self.model.place(targets.start(turn + 1)))
        xp = array_namespace(points)
        length = self.attack.step_at(placed.radius)

        def weights(logits: Array, rows: Array) -> Array:
            """The gradient of the cross-entropy in the logits: softmax minus one at the label."""
            shares = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
            shares = shares / xp.sum(shares, axis=1, keepdims=True)
            classes = xp.arange(logits.shape[1], device=device(logits))
            return shares - xp.astype(classes[None] == labels[rows][:, None], shares.dtype)

        for _ in range(self.attack.iterations):
            gradient, steep = _finite(self.gradients.logits_and_gradient(points, weights)[1])
            sloped = sloped | steep
            points = placed.project(points + length * placed.direction(gradient))
        inside = targets.ball.moved_inside(to_host(points).astype(np.float32))
        none = np.zeros(len(inside), bool)
        return Candidates(inside, none, none, np.asarray(to_host(sloped), bool))


def _finite(gradient: Array) -> tuple[Array, Array]:
    """The gradient with 0 where it is no number, and in which rows there is one to follow."""
    xp = array_namespace(gradient)
    gradient = xp.where(xp.isfinite(gradient), gradient, 0.0)
    return gradient, xp.any(gradient != 0, axis=tuple(range(1, gradient.ndim)))


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
        placed, own, sloped = targets.placed(self.model)
        rival = on_device_of(placed.x, targets.ranked()[:, rank])
        slack: Array = None

        def margin_and_gradient(points: Array) -> tuple[Array, Array]:
            nonlocal sloped, slack
            margin, gradient = self.gradients.margin_and_gradient(points, own, rival)
            gradient, steep = _finite(gradient)
            sloped = sloped | steep
            slack = _CLEAR_SHARE * abs(margin) if slack is None else slack
            return margin, gradient

        best, lowest = minimise_margin(
            margin_and_gradient,
            placed.project,
            placed.direction,
            self.model.place(targets.start(start)),
            placed.radius,
            self.attack.iterations,
            lambda lowest: bool((lowest < -slack).all()),
        )
        points = targets.ball.moved_inside(to_host(best).astype(np.float32))
        claimed, met = np.asarray(to_host(lowest) <= 0), np.asarray(to_host(sloped), bool)
        return Candidates(points, claimed, np.zeros_like(claimed), met)


OUTSIDE_SHARE = 1e-4
"""How far outside the ball or the bounds a point may lie, as a share of the radius, and be moved
back: attacks in float32 leave the ball by some 1e-6 of it. Points farther off are ignored."""
_REAL_NUMBERS = "fiub"
"""What NumPy calls floats, integers and truth values."""
_SPACINGS = 4
"""The same in distances between float32 numbers, for small balls far from zero."""


@dataclass(frozen=True, eq=False)
class FunctionSearch:
    """One call of the function for each batch, with random numbers of its own name."""

    attack: AttackFunction
    model: Model
    seed: int
    rounds: int = 1

    def candidates(self, targets: Targets, turn: int) -> Candidates:
        """What the function returns, where it is a point of the ball; else the input itself."""
        ball = targets.ball
        answer = self._answer(ball.x, targets.labels, ball.radius)
        finite = np.isfinite(answer).all(axis=tuple(range(1, answer.ndim)))
        answer = np.where(_wide(finite, answer), answer, ball.x).astype(np.float32)
        inside = ball.moved_inside(answer)
        outside = ~finite | ~_near(answer, inside, ball)
        points = np.where(_wide(outside, answer), ball.x, inside)
        none = np.zeros(len(answer), bool)
        return Candidates(points, none, outside, ~none)

    def _answer(
        self, x: Float32Array, labels: NDArray[np.int64], radius: float
    ) -> NDArray[np.floating]:
        own: Callable[[], torch.nn.Module] | None = getattr(self.model, "torch_module", None)
        with seeded(self.seed), named_errors(self.attack.name):
            if own is None:
                answer = self.attack.function(  # it sees scores, in memory of their own, alone
                    lambda images: answers(self.model, np.asarray(images, np.float32)),
                    x.copy(),
                    labels.copy(),
                    radius,
                )
            else:
                answer = self._on_tensors(own(), x, labels, radius)
        self._check_shape(answer, x.shape)
        with named_errors(self.attack.name):
            points = to_host(answer)
        if points.dtype.kind not in _REAL_NUMBERS:
            raise InvalidArgument(
                f"{self.attack.name} must return images of real numbers, got {points.dtype}: of "
                "complex numbers return the real part"
            )
        return points.astype(np.float64)

    def _check_shape(self, answer: Array, shape: tuple[int, ...]) -> None:
        """Refuse what are no images of this shape."""
        if isinstance(answer, tuple | list) or not hasattr(answer, "shape"):
            raise InvalidArgument(
                f"{self.attack.name} must return the perturbed images, got "
                f"{type(answer).__name__}: of several values return the images alone, such as the "
                "second of the three that a Foolbox attack gives"
            )
        if tuple(answer.shape) != shape:
            raise InvalidArgument(
                f"{self.attack.name} must return one image for each it is given, of shape "
                f"{shape}, got {tuple(answer.shape)}"
            )

    def _on_tensors(
        self,
        module: torch.nn.Module,
        x: Float32Array,
        labels: NDArray[np.int64],
        radius: float,
    ) -> Array:
        import torch

        placed = self.model.place(x)
        images = torch.from_numpy(placed.copy()) if isinstance(placed, np.ndarray) else placed
        state = getattr(self.model, "state_digest", lambda: "")
        before = state()
        with fixed_parameters(module), torch.enable_grad():
            whole = torch.from_numpy(labels.copy()).to(images.device)
            answer = self.attack.function(module, images, whole, radius)
        if state() != before:
            raise changed(self.attack.name)
        return answer


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """The global random numbers of Python, NumPy and PyTorch begin at the seed, and are restored.

    Attack libraries draw from these and from nothing else.
    """
    torch = sys.modules.get("torch")
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  code of others draws from it
    with nullcontext() if torch is None else torch.random.fork_rng():
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002  code of others draws from it
        if torch is not None:
            torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002  code of others draws from it


def _near(answer: Float32Array, inside: Float32Array, ball: ClippedBall) -> NDArray[np.bool_]:
    """Which points of the function were moved by no more than rounding to be in the ball."""
    whole, axes = np.rint(answer) if ball.whole else answer, tuple(range(1, answer.ndim))
    moved = abs(whole.astype(np.float64) - inside)
    spacing = _SPACINGS * np.spacing(abs(inside) + np.float32(ball.radius)).astype(np.float64)
    if ball.ball is Ball.L2:
        moved, spacing = (np.sqrt((v * v).sum(axis=axes, keepdims=True)) for v in (moved, spacing))
    return np.asarray((moved <= OUTSIDE_SHARE * ball.radius + spacing).all(axis=axes))


def _wide(rows: NDArray[np.bool_], like: NDArray[np.floating]) -> NDArray[np.bool_]:
    return rows.reshape(-1, *(1 for _ in like.shape[1:]))


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
        from surefoot.verify.counterexample_search import clipped_ball

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
            part = replace(ball, x=ball.x[left], low=ball.low[left], high=ball.high[left])
            start = partial(self._starts, x[left], rows[left])
            targets = Targets(labels[left], scores[left], part, start)
            candidates = search.candidates(targets, turn)
            # Searches only propose points. Ball, bounds and failure are decided here, for all of
            # them alike (docs/decisions/attack.md).
            hit = part.contains(candidates.points) & self._fails(candidates.points, labels[left])
            sloped[left] |= candidates.sloped
            discarded[left] += (candidates.claimed & ~hit) | candidates.outside
            hit_any[left] |= hit
            left = left[~hit]
        check_unchanged(self.model, x, scores, getattr(self.attack, "name", "the attack"))
        each = round((time.perf_counter() - begun) / len(rows), 6)
        outcomes = [_outcome(*flags) for flags in zip(clean, hit_any, sloped, strict=True)]
        high = {AttackOutcome.WRONG_CLEAN: 0.0, AttackOutcome.FOUND: radius}
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


def _outcome(clean: bool, hit: bool, sloped: bool) -> AttackOutcome:
    if clean:
        return AttackOutcome.WRONG_CLEAN
    if hit:
        return AttackOutcome.FOUND
    return AttackOutcome.NOT_FOUND if sloped else AttackOutcome.NO_GRADIENT
