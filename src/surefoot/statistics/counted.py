"""Values in [0, 1] counted as yes and no: exact binomial tests and intervals for their mean.

A value v becomes yes with probability v, by a number that was drawn without looking at it: one
trial of the input, drawn from all of its trials. Independent values of mean m are so many tosses of
a coin of probability m. Nothing else is as sharp where inputs differ much from each other; where
they are alike, bets on the values themselves are sharper, and have a small part of the error.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts
from surefoot.core.results import Interval
from surefoot.statistics.bounds import clopper_pearson
from surefoot.statistics.intervals import COMMON_SHARES, SHARES, lower_end, p_value_above
from surefoot.statistics.kappa import tail_above
from surefoot.statistics.paired import ONE_TRIAL, one_trial

Floats = NDArray[np.float64]
_LADDER_FIRST, _LADDER_NEXT = 0.8, 0.2
"""Run j of a study spends .8 * .2^j of the error, so that all runs together spend at most all."""
_HOEFFDING = 0.25
"""Hoeffding's theorem compares tails of at most this probability: P(at least 2 of 2) at p = 1/2."""
_PLANNED = 0.7
"""Share of an error for the test at the number of inputs that was planned; the rest is for bets."""
_QUANTILES = (np.arange(64) + 0.5) / 64
"""Of what the truth may be: a forecast is the mean over them."""


def rung(error: float, number: int) -> float:
    """What run `number` (0 is the first) of a study may spend of the error of all its runs."""
    return error * _LADDER_FIRST * _LADDER_NEXT**number


def unequal_error(error: float) -> float:
    """The error at which Clopper-Pearson holds for trials of unequal probabilities.

    Hoeffding's theorem leaves out a single failure or success. There the probabilities may add
    up: 1 - (1 - p)^n <= 1 - e^-a makes n p <= a.
    """
    return -2 * math.expm1(-error / 2)


def unequal_p_value(p: float) -> float:
    """A binomial p-value, for trials of unequal probabilities: the same, seen from the other end.

    Above 1/4 the theorem says nothing, nor does the p-value.
    """
    adjusted = -math.log1p(-p) if p < 1 else math.inf
    return adjusted if adjusted <= _HOEFFDING else 1.0


@dataclass(frozen=True, eq=False)
class Side:
    """Values of inputs, or groups, whose mean is shown to be large; it is, less the `slack`.

    `single`: each is one yes or no, so that the count has the whole error. `unequal`: their
    probabilities differ by design, as those of classes. `anytime`: values may be added whenever one
    likes, so bets alone; or `planned`, a number settled before any value was seen: then bets have
    0.3 of the error and the exact test at that number 0.7. `first`: yes among the first trials,
    where the number of further ones depends on them; these are counted, and none drawn from all.
    `inputs` names them, for the draws.
    """

    values: Floats
    slack: float = 0.0
    single: bool = False
    unequal: bool = False
    anytime: bool = False
    first: int | None = None
    inputs: str = ""
    planned: int = 0

    @property
    def yes(self) -> int:
        """How many of the inputs say yes."""
        if self.first is not None:
            return self.first
        if self.single:
            return round(float(self.values.sum()))
        return int(np.count_nonzero(one_trial(self.values, inputs=self.inputs)[0]))

    def lower_end(self, error: float) -> float:
        """Above the mean with probability at most `error`."""
        counted = staked = 0.0
        if not len(self.values):
            return 0.0
        if self.anytime:
            counted = self._planned_end(error)
            staked = lower_end(self.values, self._bets * error, self._shares)
        else:
            spent = 2 * error if self.single else 2 * ONE_TRIAL * error
            spent = unequal_error(spent) if self.unequal else spent
            counted = clopper_pearson(Counts(len(self.values), self.yes), spent).low
        if not self.anytime and not self.single:
            staked = lower_end(self.values, (1 - ONE_TRIAL) * error)
        return max(0.0, max(counted, staked) - self.slack)

    @property
    def _bets(self) -> float:
        """The share of the error that bets have where values may be added at any time."""
        return 1 - _PLANNED if self.planned else 1.0

    @property
    def _shares(self) -> Floats:
        """Of these bets: without a plan most are for the numbers of inputs that are common."""
        return SHARES if self.planned else COMMON_SHARES

    @property
    def _of_plan(self) -> Floats:
        """Those among the planned number; of more, the least of them, whichever came first."""
        few: Floats = np.sort(self.values)[: 0 if self.unequal else self.planned]
        return few

    def _planned_end(self, error: float) -> float:
        """The exact limit at the planned number, where all of its values are yes and no."""
        few = self._of_plan
        if not self.planned or len(few) < self.planned or ((few > 0) & (few < 1)).any():
            return 0.0
        return clopper_pearson(Counts(len(few), round(few.sum())), 2 * _PLANNED * error).low

    def _planned_capital(self, mean: float, error: float) -> float:
        """How much likelier the exact test at the planned number rejects, given these values.

        Were the mean at most `mean`, the probability that yes reach the critical number, given
        the values so far, is at most a martingale (Doob), also with a value in [0, 1] taken for
        yes with that probability, as the probability is linear in each value. Divided by what it
        is at the start it is a capital of 1 that ever reaches 1/a with probability at most a
        (Ville): one may look after every value. From the planned number on it stays as it is,
        and no less than with the least of all values.
        """
        from scipy.special import bdtrc

        few, plain = self._of_plan, replace(self, single=True, anytime=False)
        needed = plain.needed(self.planned, mean, _PLANNED * error)
        if needed > self.planned or not len(few):
            return 0.0
        chances = np.ones(1)
        for value in few[(few > 0) & (few < 1)]:
            chances = np.convolve(chances, (1 - value, value))
        short = needed - np.count_nonzero(few == 1) - np.arange(len(chances))
        left = self.planned - len(few)
        tails = np.where(short <= left, bdtrc(np.clip(short - 1, 0, left), left, mean), 0.0)
        tails = np.where(short <= 0, 1.0, tails)
        return float(chances @ tails) / tail_above(needed, self.planned, mean)

    def p_value(self, mean: float, error: float) -> float:
        """How surely the mean exceeds `mean`: valid at every level; bets are made for `error`."""
        mean += self.slack
        if self.anytime:
            staked = p_value_above(self.values, mean, self._bets * error, self._shares)
            staked /= self._bets
            if self.planned and 0 < mean < 1:
                capital = self._planned_capital(mean, error)
                staked = min(staked, 1 / (_PLANNED * capital) if capital else 1.0)
            return min(1.0, staked)
        counted = self._p_value_of(self.yes, len(self.values), mean)
        if self.single:
            return counted
        staked = p_value_above(self.values, mean, (1 - ONE_TRIAL) * error)
        return min(counted, staked / (1 - ONE_TRIAL))

    def _p_value_of(self, yes: int, number: int, mean: float) -> float:
        """Of the count alone, as a p-value at the whole error."""
        p = tail_above(yes, number, min(1.0, max(0.0, mean)))
        p = unequal_p_value(p) if self.unequal else p
        return p if self.single else min(1.0, p / ONE_TRIAL)

    def chance(self, mean: float, inputs: int, error: float) -> float:
        """That so many inputs in all show it at this error, these among them: a forecast.

        What further inputs say is drawn from what these leave open (Jeffreys' prior), so that it
        counts in how far off the estimate may be.
        """
        from scipy.special import betainc, betaincinv

        n, yes = len(self.values), self.yes
        on_the_way = self.chance(mean, self.planned, error) if n < self.planned < inputs else 0.0
        short, more = self.needed(inputs, mean + self.slack, error) - yes, inputs - n
        if short <= 0 or short > more:
            return max(on_the_way, float(short <= 0))
        likely = betaincinv(yes + 0.5, n - yes + 0.5, _QUANTILES)
        return max(on_the_way, float(betainc(short, more - short + 1, likely).mean()))

    def needed(self, inputs: int, mean: float, error: float) -> int:
        """The fewest yes of so many that show it."""

        def shows(yes: int) -> bool:
            if not self.anytime:
                return self._p_value_of(yes, inputs, mean) <= error
            ones = np.repeat([1.0, 0.0], [yes, inputs - yes])
            return replace(self, values=ones, slack=0.0).p_value(mean, error) <= error

        return 1 + bisect_left(range(1, inputs + 1), True, key=shows)


@dataclass(frozen=True)
class Sides:
    """What speaks for a large mean, and what for a large rest: one minus the mean."""

    up: Side
    down: Side

    @classmethod
    def of_counts(cls, once: Counts, rates: Floats, *, unequal: bool = False) -> Sides:
        """First trials, one of each input, and the rates of all of its trials."""
        up = Side(rates, unequal=unequal, first=once.kept)
        return cls(up, Side(1 - rates, unequal=unequal, first=once.failed))

    def interval(self, error: float) -> Interval:
        """For the mean; each end is wrong with probability at most half of `error`."""
        low, high = self.up.lower_end(error / 2), 1 - self.down.lower_end(error / 2)
        return Interval(low, max(low, high))


@dataclass(frozen=True)
class PValues:
    """Two p-values: small `above` shows that a requirement is met, small `below` that it is not."""

    above: float
    below: float


@dataclass(frozen=True)
class Tested:
    """A requirement as a test: one side shows a mean above `above`, or the other one below `below`.

    `least` is what is required, in whatever quantity the means stand for; bets are made for
    `error`.
    """

    sides: Sides
    least: float
    above: float
    below: float
    error: float

    @property
    def p_values(self) -> PValues:
        """How surely it is met, and how surely it is not; valid at every level."""
        above = self.sides.up.p_value(self.above, self.error) if self.least > 0 else 0.0
        return PValues(above, self.sides.down.p_value(1 - self.below, self.error))

    def chance(self, inputs: int, error: float) -> float:
        """That so many inputs in all decide at this error: a forecast, not a claim."""
        met = self.sides.up.chance(self.above, inputs, error)
        return min(1.0, met + self.sides.down.chance(1 - self.below, inputs, error))
