"""What a search for a crossing is asked for."""

from __future__ import annotations

from typing import Protocol


class CurveRequest(Protocol):
    """The fields of a curve method that its search reads."""

    @property
    def low(self) -> float:
        """The lowest level."""
        ...

    @property
    def high(self) -> float:
        """The highest level."""
        ...

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Where crossings are sought."""
        ...

    @property
    def error(self) -> float:
        """How likely an interval may be wrong."""
        ...

    @property
    def resolution(self) -> float:
        """To which share of the range a crossing is narrowed down."""
        ...

    @property
    def scope(self) -> str:
        """The set of inputs, or the population."""
        ...

    @property
    def measure(self) -> str:
        """Accuracy, or confidence."""
        ...

    @property
    def curvature(self) -> float | None:
        """The bound on the curvature, where that is assumed."""
        ...

    @property
    def size(self) -> int:
        """The number of inputs."""
        ...

    @property
    def cuts(self) -> tuple[float, ...]:
        """Levels at which the curve may turn."""
        ...
