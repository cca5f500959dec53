"""Attacks as methods: one search of the ball around each input."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from surefoot.core.assumptions import Assumed
from surefoot.core.counts import Proof
from surefoot.core.procedure import Needs
from surefoot.core.results import Bracket
from surefoot.errors import InvalidArgument
from surefoot.region.critical_level import bracket_of


class AttackOutcome(StrEnum):
    """How the search of one ball ended; the `reason` of its proof and of its bracket."""

    FOUND = "a point that fails was found"
    NOT_FOUND = "no point that fails was found"
    NO_GRADIENT = "every gradient was zero"
    WRONG_CLEAN = "fails when clean"


BROKEN = (AttackOutcome.FOUND, AttackOutcome.WRONG_CLEAN)
"""The input fails at a point of its ball."""


STEP_SHARE = 2.5
"""Radii that the steps of one start of PGD cover together by default: Madry et al. take 100 steps
of 2.5 radius/100, so that it can reach any point of the ball and turn back."""


class _Searching:
    """What attacks share."""

    needs: ClassVar[Needs] = Needs.REGION
    evidence: ClassVar[type[Proof]] = Proof
    error: ClassVar[float] = 0.0

    def steps(self) -> Generator[int, Proof, Bracket]:
        """One question an input: search the ball."""
        return bracket_of((yield 1), Assumed.CONFIRMED)

    def _check_counts(self, kind: str, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise InvalidArgument(f"{kind}.{name} must be an integer ≥ 1, got {value}")


LOWEST_TARGETS, LONGER_STARTS = 3, 4
"""Target classes that are followed longer, those of the lowest margins, and from how many points.
`benchmarks/attack.py` notices the inputs that fewer would miss."""


@dataclass(frozen=True)
class Attack(_Searching):
    """How hard to search: starts towards each target class, gradient steps of each.

    The first start is the input itself, the others are random points of the ball. `targets`: how
    many of the other classes are aimed at, those of the highest scores first. Before, one descent
    goes to whichever class is nearest; after, four of twice the steps go to each of the three
    targets of the lowest margins, and short steps go on from the lowest points of all targets. The
    step lengths are those of Auto-PGD (Croce & Hein 2020).
    """

    starts: int = 2
    iterations: int = 30
    targets: int = 9

    def __post_init__(self) -> None:
        self._check_counts("attack", "starts", "iterations", "targets")

    @property
    def most_steps(self) -> int:
        """Gradients of one input, where none of the descents succeeds."""
        longer = (2 * LONGER_STARTS + 3) * min(LOWEST_TARGETS, self.targets)
        return self.iterations * (1 + (self.starts + 2) * self.targets + longer)


@dataclass(frozen=True)
class PGD(_Searching):
    """Projected gradient descent as published (Madry et al. 2018): untargeted, cross-entropy.

    Each start is a random point of the ball. Every step goes up the cross-entropy of the label, by
    `step` along the sign of the gradient (L∞) or along the gradient (L2, L1), then back into the
    ball and the bounds. The last point of each start counts. Without `step`: 2.5 radius/iterations.
    """

    step: float | None = None
    iterations: int = 20
    starts: int = 1

    def __post_init__(self) -> None:
        self._check_counts("pgd", "iterations", "starts")
        number = isinstance(self.step, int | float) and not isinstance(self.step, bool)
        if self.step is not None and not (number and 0 < self.step < math.inf):
            raise InvalidArgument(
                f"pgd.step must be a number above 0, got {self.step!r}: write 2/255, or leave it "
                "out for 2.5 radius/iterations"
            )

    @property
    def most_steps(self) -> int:
        """Gradients of one input, where no start succeeds."""
        return self.starts * self.iterations

    def step_at(self, radius: float) -> float:
        """The length of a step in a ball of this radius."""
        return STEP_SHARE * radius / self.iterations if self.step is None else self.step


@dataclass(frozen=True)
class AttackFunction(_Searching):
    """An attack of the user's own: `function(model, images, labels, radius)` returns images.

    One for each image given, in the ball of that radius. Of PyTorch models and ONNX files `model`
    is a `torch.nn.Module` that gives logits, and images and labels are tensors on its device; of
    any other model it is a function from a NumPy array to scores. Points outside the ball or the
    bounds by more than rounding are ignored and counted. `name` is how the report calls it.
    """

    function: Callable[..., Any]
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function) or isinstance(self.function, type):
            raise InvalidArgument(
                "an attack of your own is a function of (model, images, labels, radius), got "
                f"{self.function!r}: pass one"
            )
        if not self.name:
            own = getattr(self.function, "__name__", type(self.function).__name__)
            object.__setattr__(self, "name", own)


AnyAttack = Attack | PGD | AttackFunction
GivenAttack = AnyAttack | Callable[..., Any]
"""What a user passes: an attack, or a function of (model, images, labels, radius)."""


def as_attack(value: object) -> AnyAttack:
    """The attack itself, or a function as one."""
    if isinstance(value, AnyAttack):
        return value
    if callable(value) and not isinstance(value, type) and not hasattr(value, "needs"):
        return AttackFunction(value)
    raise InvalidArgument(
        f"attack must be True, False, an sf.methods.Attack(), an sf.methods.PGD() or a function of "
        f"(model, images, labels, radius), got {value!r}"
    )
