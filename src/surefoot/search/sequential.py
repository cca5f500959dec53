"""Where a curve meets a threshold, from few levels and few inputs."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from surefoot.errors import InvalidArgument
from surefoot.evidence import Outcomes, Severities
from surefoot.procedure import Ask, Needs
from surefoot.results import Curve
from surefoot.search.looks import FIRST, Over
from surefoot.search.segments import check_size, check_span, check_thresholds
from surefoot.search.tracing import Tracing

_FINEST, _MOST_LEVELS = 1e-5, 400
_SCAN, _PASSES = 17, 3.4
"""Levels of the scan, and passes over the inputs that a crossing took in the mean."""
MEASURES: dict[str, type[Outcomes | Severities]] = {"accuracy": Outcomes, "confidence": Severities}


@dataclass(frozen=True)
class SequentialCurve:
    """The default of `surefoot curve`: a sequential test at every level that matters.

    Inputs are taken in a random order, the same at every level, until it is plain on which side
    of the threshold the level lies; levels are chosen where the curve may meet it. `resolution` is
    the length, as a share of the range, to which a crossing is narrowed down. The curve is taken
    to go one way on each segment between `breaks` (at 0, if that is inside); or, with `curvature`,
    to bend no more than so (in accuracy per squared share of the range). `size` is the number of
    inputs.
    """

    low: float
    high: float
    thresholds: tuple[float, ...] = (0.8,)
    error: float = 0.05
    resolution: float = 0.001
    scope: str = "set"
    measure: str = "accuracy"
    breaks: tuple[float, ...] | None = None
    curvature: float | None = None
    size: int = 0
    needs: ClassVar[Needs] = Needs.LEVELS

    def __post_init__(self) -> None:
        check_span(self.low, self.high)
        check_thresholds(self.thresholds)
        if not 1e-9 <= self.error < 1:
            raise InvalidArgument(
                f"error must lie between 1e-9 and 1, got {self.error}: it is 1 - confidence, try "
                "0.05"
            )
        if not _FINEST <= self.resolution <= 0.5:
            raise InvalidArgument(
                f"resolution is a share of the range between {_FINEST:g} and 0.5, got "
                f"{self.resolution:g}: try 0.001"
            )
        if self.scope not in tuple(Over):
            raise InvalidArgument(f"a curve is about the set or the population, got {self.scope!r}")
        if self.measure not in MEASURES:
            raise InvalidArgument(f"a curve is of {' or '.join(MEASURES)}, got {self.measure!r}")
        outside = [b for b in self.cuts if not self.low < b < self.high]
        if outside:
            raise InvalidArgument(
                f"a break lies inside the range {self.low:g} to {self.high:g}, got {outside[0]:g}"
            )
        if self.curvature is not None and not 0 < self.curvature < math.inf:
            raise InvalidArgument(
                f"curvature is a number above 0, in accuracy per squared range, got "
                f"{self.curvature:g}: try 128"
            )

    @property
    def cuts(self) -> tuple[float, ...]:
        """Where the segments meet: at the breaks, or at 0, the undisturbed input, if inside."""
        if self.breaks is not None:
            return self.breaks
        return (0.0,) if self.low < 0 < self.high else ()

    @property
    def forecast(self) -> int:
        """Trials that it may take, for the time left: the scan, and so many passes a crossing."""
        crossings = len(self.thresholds) * (len(self.cuts) + 1)
        return _SCAN * min(self.size, max(FIRST, self.size // 32)) + int(
            _PASSES * self.size * crossings
        )

    @property
    def evidence(self) -> type[Outcomes | Severities]:
        """What a bench hands back."""
        return MEASURES[self.measure]

    def steps(
        self,
    ) -> Generator[tuple[Ask, ...], Sequence[Outcomes | Severities], Curve]:
        """Ask for more inputs at one level or another until every crossing is narrowed down."""
        check_size(self.size)
        trace = Tracing(self)
        while asks := trace.next_asks(_MOST_LEVELS):
            trace.tell(asks, (yield asks))
        return trace.curve()
