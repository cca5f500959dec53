"""What was required of a result, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OfClasses = float | Mapping[Any, float]
"""One number for every class, or a number for each class named: by its name or its number."""


@dataclass(frozen=True)
class Requirements:
    """What a result must show; None where nothing is required."""

    least: float | None = None
    of_each_class: OfClasses | None = None
    not_worse: tuple[str, float] | None = None
    of_these: float | None = None

    @property
    def number(self) -> int:
        """How many requirements share the error."""
        every = (self.least, self.of_each_class, self.not_worse, self.of_these)
        return sum(one is not None for one in every)
