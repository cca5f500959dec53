"""An attack of the user's own: called with the model, its points checked."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.attack_search import Candidates, Float32Array, Targets
from surefoot.engine.unchanged_model import answers, changed
from surefoot.errors import InvalidArgument
from surefoot.models.torch_module import fixed_parameters
from surefoot.region.attack_method import AttackFunction
from surefoot.subject.protocols import Ball, Model, to_host
from surefoot.system.user_code import named_errors

if TYPE_CHECKING:
    from surefoot.verify.margin_descent import ClippedBall

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
        own: Any = getattr(self.model, "torch_module", None)
        with seeded(self.seed), named_errors(self.attack.name):
            if own is None:
                answer = self.attack.function(
                    _scores_of(self.model), x.copy(), labels.copy(), radius
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

    def _check_shape(self, answer: Any, shape: tuple[int, ...]) -> None:  # noqa: ANN401  of a function of the user
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
        module: Any,  # noqa: ANN401  a module of Torch
        x: Float32Array,
        labels: NDArray[np.int64],
        radius: float,
    ) -> Any:  # noqa: ANN401  of a function of the user
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


def _wide(rows: NDArray[np.bool_], like: NDArray[Any]) -> NDArray[np.bool_]:
    return rows.reshape(-1, *(1 for _ in like.shape[1:]))


def _scores_of(model: Model) -> Callable[[Any], NDArray[Any]]:
    """A function that gives the scores of images, in memory of their own, and nothing else."""

    def scores(images: Any) -> NDArray[Any]:  # noqa: ANN401  of a function of the user
        return answers(model, np.asarray(images, np.float32))

    return scores
