"""What the engine asks for evidence: a bench answers tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from surefoot.core.tasks import Task

E_co = TypeVar("E_co", covariant=True)


class Bench(Protocol[E_co]):
    """Turns tasks into evidence, several at a time. An answer depends on its task alone."""

    @property
    def block(self) -> int:
        """Trials that are best run together, because their random numbers are drawn together."""
        ...

    def answer(self, tasks: Sequence[Task]) -> Sequence[E_co]:
        """One piece of evidence for each task, in order."""
        ...
