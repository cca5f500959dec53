"""The bench of an attack, its searches, and every candidate run through the model again."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Proof
from surefoot.core.tasks import Task
from surefoot.engine.attack_search import (
    Candidates,
    MarginSearch,
    PgdSearch,
    Rounds,
    Search,
    Targets,
)
from surefoot.engine.devices import on_device_of
from surefoot.engine.outputs import answers, changed, check_unchanged
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.models.torch_modules import fixed_parameters
from surefoot.perturb._ops.arrays import level_of
from surefoot.region.attack_method import PGD, AnyAttack, AttackFunction, AttackOutcome
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import (
    Array,
    Ball,
    Gradients,
    MarginProperty,
    Model,
    Perturbation,
    Property,
    to_host,
)
from surefoot.system.user_code import named_errors

if TYPE_CHECKING:
    import torch

    from surefoot.verify.descent import ClippedBall


Float32Array = NDArray[np.float32]


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

    def rounds(self, targets: Targets) -> Rounds:
        """What the function returns, where it is a point of the ball; else the input itself."""
        ball = targets.ball
        answer = self._answer(ball.x, targets.labels, ball.radius)
        finite = np.isfinite(answer).all(axis=tuple(range(1, answer.ndim)))
        answer = np.where(_wide(finite, answer), answer, ball.x).astype(np.float32)
        inside = ball.moved_inside(answer)
        outside = ~finite | ~_near(answer, inside, ball)
        points = np.where(_wide(outside, answer), ball.x, inside)
        none = np.zeros(len(answer), bool)
        yield Candidates(points, none, outside, ~none)

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
    from surefoot.verify.descent import lengths

    whole, axes = np.rint(answer) if ball.whole else answer, tuple(range(1, answer.ndim))
    moved = abs(whole.astype(np.float64) - inside)
    spacing = _SPACINGS * np.spacing(abs(inside) + np.float32(ball.radius)).astype(np.float64)
    if ball.ball is not Ball.LINF:
        moved, spacing = lengths(moved, ball.ball), lengths(spacing, ball.ball)
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
    scorer: Model
    """The model, giving the kind of scores that the property reads."""

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
        from surefoot.verify.descent import clipped_ball

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
        part = ball.take(left)
        draw = partial(self._starts, x, rows)
        targets = Targets(labels[left], scores[left], part, draw, left)
        rounds = self._search().rounds(targets)
        failed: NDArray[np.bool_] | None = None
        while len(left):
            try:
                candidates = rounds.send(failed) if failed is not None else next(rounds)
            except StopIteration:
                break
            # Searches only propose points. Ball, bounds and failure are decided here, for all of
            # them alike (docs/decisions/attack.md).
            part = ball.take(left)
            failed = part.contains(candidates.points)
            failed &= self._fails(candidates.points, labels[left])
            sloped[left] |= candidates.sloped
            discarded[left] += (candidates.claimed & ~failed) | candidates.outside
            hit_any[left] |= failed
            left = left[~failed]
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
                followed = cast("MarginProperty", self.prop)  # others are refused by the study
                return MarginSearch(self.attack, self.model, self.gradients, followed)

    def _fails(self, points: Float32Array, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """In which rows the model itself, in its own arithmetic, fails."""
        scores = self.scorer.predict(self.scorer.place(points))
        severity = self.prop.severity(scores, on_device_of(scores, labels))
        return np.asarray(to_host(severity) >= self.prop.limit)

    def _starts(
        self, x: Float32Array, rows: NDArray[np.intp], start: int, places: NDArray[np.intp]
    ) -> Float32Array:
        """The inputs themselves, or a perturbation of each that has a name of its own."""
        x, rows = x[places], rows[places]
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
