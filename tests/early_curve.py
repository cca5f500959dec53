"""A curve method that can conclude at any time, and a slow study of it."""

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import surefoot as sf
from surefoot.core.counts import Outcomes
from surefoot.core.procedure import Ask, Needs, TimeUp
from surefoot.core.results import Curve, Footing, Guarantee, Interval, Point, Reading
from tests.worlds import SHAPE, linear, points

STOPPED = "the time was up"


@dataclass(frozen=True)
class Climb:
    """The mean at `levels` levels, one after the other, from `low` to `high`."""

    low: float = 0.0
    high: float = 1.0
    levels: int = 30
    trials: int = 40
    error: float = 0.05
    size: int = 1
    needs: ClassVar[Needs] = Needs.LEVELS
    evidence: ClassVar[type[Outcomes]] = Outcomes
    concludes_early: ClassVar[bool] = True

    def steps(self) -> Generator[Ask, Outcomes, Curve]:
        measured: list[Point] = []
        notes: tuple[str, ...] = ()
        try:
            for k in range(self.levels):
                level = self.low + (self.high - self.low) * k / (self.levels - 1)
                outcomes = yield Ask(level, self.trials)
                mean = float(outcomes.goodness.mean())
                measured.append(Point(level, self.trials, mean, Interval(0.0, 1.0)))
        except TimeUp:
            notes = (STOPPED,)
        nothing = Guarantee(Footing.NONE, self.error)
        reading = Reading(0.8, 0.5, Interval(0.0, 1.0), (), nothing)
        trials = sum(point.trials for point in measured)
        span = Interval(self.low, self.high)
        return Curve(span, self.size, tuple(measured), (reading,), nothing, trials, notes)


@dataclass(frozen=True)
class Stubborn(Climb):
    """The same, but it does not say that it can conclude early."""

    concludes_early: ClassVar[bool] = False


def slow_linear(x):
    time.sleep(0.004)
    return linear(x)


def slow_study(method: object = None) -> sf.Study:
    """A study of many short batches."""
    model = sf.load_model(slow_linear, shape=SHAPE)
    return sf.Study(model, points(40), sf.perturb.GaussianNoise(), method or Climb())
