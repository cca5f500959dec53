"""What a test framework, which has no word for it, does with a requirement that is undecided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from surefoot.errors import InvalidArgument

UndecidedAs = Literal["fail", "skip", "pass"]
UNDECIDED_CHOICES: tuple[UndecidedAs, ...] = get_args(UndecidedAs)
"""The same words for pytest, for JUnit and for a single assertion; the first is the default."""


OfClasses = float | Mapping[Any, float]
"""One number for every class, or a number for each class named: by its name or its number."""


@dataclass(frozen=True)
class EarlierModel:
    """That a model is not worse than an earlier one, of which `run` is the run.

    `names` are how a sentence calls the two; `margin` is by how much it may be worse, and `error`
    what the verdict may spend.
    """

    run: str
    names: tuple[str, str]
    margin: float
    error: float

    def __post_init__(self) -> None:
        first, second = self.names
        if not (first and second and first != second):
            raise InvalidArgument(
                f"two models that are compared need two names, got {first!r} and {second!r}: give "
                "each its own"
            )
        if not (0 <= self.margin <= 1 and 0 <= self.error < 1):
            raise InvalidArgument(
                f"margin and error lie between 0 and 1, got {self.margin:g} and {self.error:g}: "
                "try 0.01"
            )


@dataclass(frozen=True)
class Requirements:
    """What a result must show; None where nothing is required.

    `earlier` spends an error of its own, the others share that of the study.
    """

    least: float | None = None
    of_each_class: OfClasses | None = None
    not_worse: tuple[str, float] | None = None
    of_these: float | None = None
    earlier: EarlierModel | None = None

    @property
    def number(self) -> int:
        """How many requirements share the error of the study."""
        every = (self.least, self.of_each_class, self.not_worse, self.of_these)
        return sum(one is not None for one in every)
