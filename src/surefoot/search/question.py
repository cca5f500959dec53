"""What a curve is asked for, as those who trace and conclude it read it."""

from __future__ import annotations

from typing import Protocol


class Question(Protocol):
    """Range, thresholds, error and assumption of a sequential curve; `SequentialCurve` is one."""

    @property
    def low(self) -> float: ...  # noqa: D102
    @property
    def high(self) -> float: ...  # noqa: D102
    @property
    def thresholds(self) -> tuple[float, ...]: ...  # noqa: D102
    @property
    def error(self) -> float: ...  # noqa: D102
    @property
    def precision(self) -> float: ...  # noqa: D102
    @property
    def over(self) -> str: ...  # noqa: D102
    @property
    def measure(self) -> str: ...  # noqa: D102
    @property
    def curvature(self) -> float | None: ...  # noqa: D102
    @property
    def size(self) -> int: ...  # noqa: D102

    @property
    def cuts(self) -> tuple[float, ...]:
        """Where the segments meet on which it goes one way."""
        ...
