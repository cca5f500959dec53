"""Where a curve meets a threshold, from few levels and few inputs."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from surefoot.curve.assumptions import CELLS, WIGGLE, Assumption
from surefoot.curve.levels import Grid, Sampling
from surefoot.curve.reading import between_of, points_of, reading_of
from surefoot.curve.tracing import Tracing
from surefoot.evidence import Outcomes, Severities
from surefoot.procedure import Ask, Needs, TimeUp
from surefoot.results import Curve, Footing, Guarantee, Interval


@dataclass(frozen=True)
class SequentialCurve:
    """x."""

    low: float
    high: float
    thresholds: tuple[float, ...] = (0.8,)
    error: float = 0.05
    resolution: float = 0.001
    scope: str = "set"
    measure: str = "accuracy"
    assume: str = "wiggle:0.01"
    fixed_draws: bool = False
    clean: float = 0.0
    size: int = 0
    fresh: bool = False
    needs: ClassVar[Needs] = Needs.LEVELS
    evidence: ClassVar = Outcomes

    def steps(self):
        grid = Grid.over(self.low, self.high, self.resolution, self.clean)
        sampled = frozenset(grid.scan(2 * CELLS[WIGGLE]))
        sampling = Sampling(self.size, self.error, sampled, self.fresh, self.measure == "accuracy")
        tracing = Tracing(grid, self.thresholds, Assumption.parse(self.assume), sampling)
        notes = ()
        try:
            while asks := tracing.next_asks():
                tracing.put(asks, (yield asks))
        except TimeUp:
            notes = ("stopped",)
        raised = max(tracing.raised.values(), default=0.0)
        size = tracing.assumption.margin(0)
        promise = Guarantee(Footing.CONDITIONAL, self.error, (tracing.assumption.sentence("accuracy", raised),))
        return Curve(
            Interval(self.low, self.high), self.size, points_of(tracing),
            tuple(reading_of(tracing, t, promise) for t in self.thresholds),
            Guarantee(Footing.SOUND, self.error),
            sum(level.trials for level in tracing.levels.values()),
            notes, between_of(tracing), tracing.contradiction)
