"""The mean failure probability of the population, to a stated precision, with few trials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.core.claims import About, Sampling
from surefoot.core.counts import Counts
from surefoot.core.procedure import Needs
from surefoot.core.results import Footing, Guarantee, Interval
from surefoot.population.mean import unequal_error
from surefoot.population.precision import Asks, Tally, check_precision, design_fits
from surefoot.population.requirement import assumptions_of_sample
from surefoot.statistics.bounds import clopper_pearson, fixed_size
from surefoot.statistics.intervals import betting

_SHARE_OF_REPEATS = 0.1
"""Part of the error for the interval from several trials an input. Little: that interval matters
only where inputs are much alike, and the other gets 5 % wider at a tenth of the error less."""
_MORE_TRIALS = 4
"""Trials of each input grow by this factor."""
_MOST_TRIALS = 64
"""Trials of each input beyond which their own chance is a sixty-fourth: nothing left to gain."""
_LEAST_WITHIN = 0.1
"""Part of the variance that must lie within inputs for more trials of them to be worth it."""


@dataclass(frozen=True)
class PopulationMean:
    """One trial of each input, in random order, until the mean is known to `precision`.

    Each such trial fails with the population's mean probability, so that all of them are one
    sample of yes and no. Where there are inputs enough, the exact sequential design says when to
    stop. Otherwise every input has one trial and Clopper-Pearson holds; then more trials each,
    while a good part of the variance lies within the inputs. `betting` needs neither the number
    nor the order of values, and its capital as the trials of each input grow is a martingale in
    reverse, so it holds at every number of them (Doob). `size`, `level`, `fresh` and `sampling` are
    set by the study, which also puts the inputs in random order.
    """

    precision: float
    error: float
    size: int = 0
    level: float = 0.0
    fresh: bool = True
    sampling: Sampling = Sampling.INDEPENDENT
    needs: ClassVar[Needs] = Needs.MEAN
    evidence: ClassVar[type[Counts]] = Counts
    about: ClassVar[About] = About.POPULATION

    def __post_init__(self) -> None:
        check_precision(self.precision, self.error)

    @property
    def forecast(self) -> int:
        """One trial of each input, or as many as are enough for any probability."""
        return fixed_size(self.precision, self.error) if self._enough_inputs else self.size

    @property
    def _enough_inputs(self) -> bool:
        """Whether the sequential design can be run to its end, whatever the trials say."""
        independent = self.sampling is Sampling.INDEPENDENT
        return independent and design_fits(self.precision, self.error, self.size)

    def steps(self) -> Asks:
        """Ask for single trials of more inputs, then for more trials of the same ones."""
        tally = Tally(self.size)
        if self._enough_inputs:
            return (yield from self._sequential(tally))
        return (yield from self._all_inputs(tally))

    def _sequential(self, tally: Tally) -> Asks:
        places = np.arange(self.size)
        around = yield from tally.ask_design(self.level, self.precision, self.error, places)
        rate = float(tally.failed.sum() / tally.trials.sum())
        return tally.result(rate, around, self._guarantee)

    def _all_inputs(self, tally: Tally) -> Asks:
        failed = yield from tally.ask(self.level, np.ones(self.size, dtype=np.int64))
        several = self.fresh and self.size > 1
        spent = (1 - _SHARE_OF_REPEATS) * self.error if several else self.error
        if self.sampling is not Sampling.INDEPENDENT:
            spent = unequal_error(spent)
        around = clopper_pearson(Counts(self.size, int(failed.sum())), spent)
        while several and around.width > 2 * self.precision and _worth_more(tally):
            more = (_MORE_TRIALS - 1) * tally.trials
            yield from tally.ask(self.level, more)
            rates = tally.failed / tally.trials
            around = _both(around, betting(rates, _SHARE_OF_REPEATS * self.error))
        mean = float((tally.failed / tally.trials).mean())
        value = min(max(mean, around.low), around.high)
        note = ""
        if around.width > 2 * self.precision:
            reached = around.width / 2
            by_width = math.ceil(self.size * (reached / self.precision) ** 2)
            needed = min(by_width, inputs_needed(value, self.precision, spent))
            note = (
                f"{_number_of(self.size)} ± {reached:.2g}, and more trials would hardly narrow it; "
                f"about {needed:,} inputs would be enough"
            )
        return tally.result(value, around, self._guarantee, note)

    @property
    def _guarantee(self) -> Guarantee:
        return Guarantee(Footing.CONDITIONAL, self.error, assumptions_of_sample(self.sampling, ()))


def _number_of(inputs: int) -> str:
    return "1 input allows" if inputs == 1 else f"{inputs:,} inputs allow"


def _worth_more(tally: Tally) -> bool:
    """Whether the variance of the inputs' rates is to a good part that of their trials."""
    n = int(tally.trials[0])
    if n >= _MOST_TRIALS:
        return False
    if n == 1:
        return bool(0 < tally.failed.sum() < len(tally.failed))
    rates = tally.failed / n
    within = float((rates * (1 - rates)).mean()) / (n - 1)
    return within > _LEAST_WITHIN * float(rates.var())


def _both(one: Interval, other: Interval) -> Interval:
    """What both say; the first where they have nothing in common."""
    low, high = max(one.low, other.low), min(one.high, other.high)
    return Interval(low, high) if low <= high else one


def inputs_needed(failure: float, precision: float, error: float) -> int:
    """About how many inputs, with one trial each, make the mean known to `precision`.

    A forecast: Clopper-Pearson at the expected number of failures.
    """
    low, high = 1, 2
    while _half_width(failure, high, error) > precision and high < 2**40:
        low, high = high, 2 * high
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        enough = _half_width(failure, middle, error) <= precision
        low, high = (low, middle) if enough else (middle, high)
    return high


def likely_width(precision: float, error: float, size: int, failure: float) -> float:
    """Of the interval of `PopulationMean`, if so many trials fail: a forecast, without trials
    beyond the first."""
    if design_fits(precision, error, size):
        return 2 * precision
    return 2 * _half_width(failure, size, (1 - _SHARE_OF_REPEATS) * error)


def _half_width(failure: float, size: int, error: float) -> float:
    failed = min(size, math.ceil(failure * size))
    return clopper_pearson(Counts(size, size - failed), error).width / 2
