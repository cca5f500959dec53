"""The mean failure probability: of these inputs, of the population, of the weakest input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import Assumed
from surefoot.core.claims import Continues, Sampling
from surefoot.core.counts import Counts
from surefoot.core.reasons import Why
from surefoot.core.results import (
    LEAST_PROBABILITY,
    Decision,
    Estimate,
    ExtrapolatedMean,
    Extrapolation,
    Footing,
    Guarantee,
    Interval,
    Result,
    Undecided,
)
from surefoot.errors import InvalidArgument
from surefoot.population.groups import Group, Sampled, averages, distinct, members_of
from surefoot.population.requirement import PValues, assumptions_of_sample
from surefoot.statistics.bounds import clopper_pearson, shares
from surefoot.statistics.intervals import betting_trials, lower_end, p_value_above
from surefoot.statistics.kappa import tail_above
from surefoot.statistics.paired import ONE_TRIAL, lower_difference

_HOEFFDING = 0.25
"""Hoeffding's theorem compares tails of at most this probability: P(at least 2 of 2) at p = 1/2."""


@dataclass(frozen=True)
class _CountedMean:
    """The mean that the trials themselves show; everything that carries a guarantee is about it."""

    error: float
    sampling: Sampling = Sampling.INDEPENDENT

    def __post_init__(self) -> None:
        if not 0 < self.error < 1:
            raise InvalidArgument(f"error must lie between 0 and 1, got {self.error}: try 0.05")

    def counted_mean(self, local: Sequence[Sampled], error: float) -> Estimate | Undecided:
        """The mean, spending `error`; the order of `local` does not matter.

        Of groups: each is one value, the average over its inputs, and all of this holds of it.

        Unbiased local estimates are bounded variables whose mean is the population's, so an
        interval for the mean of such variables holds it. An input without one enters the lower
        end with the lower end of its interval, less the probability that this is wrong, and the
        upper end likewise; an undecided input with 0 and 1.
        """
        known = [one for r in local if (one := _with_estimate(r)) is not None]
        trials = sum(r.trials for r in local)
        if not known:
            return Undecided(Why.NO_ESTIMATE.of(), trials)
        value = float(averages(known, _value).mean())
        around = self._interval(_Bounds.of(local), error)
        assumed = assumptions_of_sample(self.sampling, local)
        promise = Guarantee.given(error, assumed)
        within = Interval(min(around.low, value), max(around.high, value))
        return Estimate(value, within, promise, trials)

    def continues(self, local: Sequence[Sampled]) -> Continues:
        """Whether inputs may be added: always, but where each had one trial and all are counted."""
        single = _Bounds.of(local).single
        return Continues.ONCE if single else Continues.ANYTIME

    def _interval(self, bounds: _Bounds, error: float) -> Interval:
        if bounds.single:
            spent = error if self.sampling is Sampling.INDEPENDENT else unequal_error(error)
            return clopper_pearson(Counts(len(bounds.lows), round(bounds.lows.sum())), spent)
        low = max(0.0, lower_end(bounds.lows, error / 2) - bounds.slack)
        high = min(1.0, 1 - lower_end(1 - bounds.highs, error / 2) + bounds.slack)
        return Interval(low, max(low, high))

    def studied(self, local: Sequence[Result]) -> Estimate | None:
        """The mean of these inputs themselves, whatever they were drawn from.

        Where the same number of trials of every input was settled beforehand, all of them are
        independent, each with its input's probability. Such a sum strays no further than a
        binomial of the same mean (Hoeffding 1956, theorem 4), so Clopper-Pearson holds, at a
        slightly lower error. Where the numbers differ, a bet on each trial takes its place.
        """
        estimates = [counted(r) for r in local]
        known = [
            (r.unbiased, r.unbiased_from)
            for r in estimates
            if isinstance(r, Estimate) and r.unbiased is not None and r.unbiased_from
        ]
        if not known or len(known) < len(local):
            return None
        rates, sizes = (np.array(column) for column in zip(*known, strict=True))
        kept, total = np.rint(rates * sizes).astype(np.int64), int(sizes.sum())
        if not any(r.guarantee.error for r in estimates if isinstance(r, Estimate)):
            mean = int(kept.sum()) / total  # nothing is random: one trial of each is all there is
            return Estimate(mean, Interval(mean, mean), Guarantee.sound(), total)
        if len(set(sizes.tolist())) == 1:
            around = clopper_pearson(Counts(total, int(kept.sum())), unequal_error(self.error))
        else:
            around = betting_trials(kept, sizes, self.error)
        value = min(max(float(rates.mean()), around.low), around.high)
        return Estimate(value, around, Guarantee.sound(self.error), total)

    def difference(
        self, first: Sequence[Sampled], second: Sequence[Sampled], error: float
    ) -> Interval:
        """How much larger the first mean is: an interval from the same inputs seen twice."""
        a, b = (_Bounds.of(local) for local in (first, second))
        slack = a.slack + b.slack
        exact = 1.0 if a.single and b.single else ONE_TRIAL
        if self.sampling is Sampling.STRATIFIED:  # pairs of several distributions
            exact = 0.0
        low = lower_difference(a.lows, b.highs, error / 2, exact) - slack
        high = slack - lower_difference(b.lows, a.highs, error / 2, exact)
        low, high = max(-1.0, low), min(1.0, high)
        return Interval(low, max(low, high))

    def evidence(self, local: Sequence[Sampled], least: float) -> PValues:
        """How surely the mean is at least `least`, and how surely it is less."""
        bounds = _Bounds.of(local)
        if bounds.single:
            n, kept = len(bounds.lows), round(bounds.lows.sum())
            above, below = tail_above(kept, n, least), tail_above(n - kept, n, 1 - least)
            if self.sampling is not Sampling.INDEPENDENT:
                above, below = unequal_p_value(above), unequal_p_value(below)
        else:
            above = p_value_above(bounds.lows, least + bounds.slack, self.error)
            below = p_value_above(1 - bounds.highs, 1 - least + bounds.slack, self.error)
        return PValues(above if least > 0 else 0.0, below)


@dataclass(frozen=True)
class Mean(_CountedMean):
    """Mean robustness of the population, with an interval that is wrong with at most `error`."""

    kind: ClassVar[str] = "mean"
    quantity: ClassVar[str] = "the mean robustness"

    def conclude(self, local: Sequence[Sampled], error: float) -> Estimate | Undecided:
        """The mean, spending `error`; the order of `local` does not matter."""
        return self.counted_mean(local, error)


@dataclass(frozen=True)
class _Bounds:
    """The bounds that inputs, or groups, contribute to both ends, and how often they are wrong.

    Those of a group are the averages of its inputs' bounds: expectations add up, so what holds of
    each input's bound in expectation holds of the average, with the largest `slack`.
    """

    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    slack: float
    single: bool
    """Whether every input had one trial: then all of them are one sample of yes and no."""

    @classmethod
    def of(cls, local: Sequence[Sampled]) -> _Bounds:
        lows = averages(local, lambda r: _input_bounds(counted(r))[0])
        highs = averages(local, lambda r: _input_bounds(counted(r))[1])
        once = distinct(local)
        inputs = [counted(r) for r in members_of(once)]
        rough = (r for r in inputs if isinstance(r, Estimate) and r.unbiased is None)
        single = all(
            not isinstance(r, Group)
            and isinstance(one := counted(r), Estimate)
            and one.unbiased_from == 1
            for r in once
        )
        slack = max((r.guarantee.error for r in rough), default=0.0)
        return cls(lows, highs, slack, single and len(lows) > 0)


def _with_estimate(one: Sampled) -> Sampled | None:
    """What the trials say of it; of a group, its inputs with an estimate. None if there is none."""
    if isinstance(one, Group):
        known = tuple(r for m in one.members if isinstance(r := counted(m), Estimate))
        return Group[Result](known) if known else None
    plain = counted(one)
    return plain if isinstance(plain, Estimate) else None


def _value(result: Result) -> float:
    match result:
        case Estimate(unbiased=float(exact)):
            return exact
        case Estimate(value=value):
            return value
        case _:
            return math.nan


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


def counted(result: Result) -> Result:
    """What the trials themselves say, where the result goes beyond them."""
    if type(result) is Estimate:  # most of them, and each is asked several times
        return result
    match result:
        case Extrapolation(counted=plain) | Undecided(counted=Estimate() as plain):
            return plain
        case _:
            return result


def _input_bounds(result: Result) -> tuple[float, float]:
    match result:
        case Estimate(unbiased=float(exact)):
            return exact, exact
        case Estimate(interval=interval):
            return interval.low, interval.high
        case _:
            return 0.0, 1.0


def weakest(local: Sequence[Result], error: float) -> tuple[int, Interval] | None:
    """The index of the input with the lowest value, and an interval for its robustness.

    The intervals of all inputs hold together within `error` (Bonferroni), so that of the one that
    was picked does. Trials whose number was settled beforehand are counted exactly; trials that
    stopped when a decision was reached by bets, which no stopping can spoil. None where the one
    picked has neither, or where an input without any count might be the weakest.
    """
    estimates = [r.counted if isinstance(r, Decision) else counted(r) for r in local]
    known = [r for r in estimates if isinstance(r, Estimate)]
    if not local or len(known) < len(local):
        return None
    place = min(range(len(known)), key=lambda i: known[i].value)
    around = _interval(local[place], known[place], shares(error, len(local)))
    return None if around is None else (place, around)


def _interval(result: Result, estimate: Estimate, error: float) -> Interval | None:
    if estimate.guarantee.error == 0:
        return estimate.interval
    if estimate.unbiased is not None and estimate.unbiased_from:
        size = estimate.unbiased_from
        return clopper_pearson(Counts(size, round(estimate.unbiased * size)), error)
    if isinstance(result, Estimate):
        return None
    kept = round(estimate.value * estimate.trials)
    return betting_trials(np.array([kept]), np.array([estimate.trials]), error)


@dataclass(frozen=True)
class TailMean(_CountedMean):
    """The average of extrapolated robustness, beside the mean that the trials themselves show.

    Everything that carries a guarantee (interval, difference, requirement) is about the latter.
    """

    kind: ClassVar[str] = "tail-mean"
    quantity: ClassVar[str] = "the counted mean robustness"

    def conclude(self, local: Sequence[Sampled], error: float) -> ExtrapolatedMean | Undecided:
        """Average, variance, number and completeness; the counted mean spends `error`."""
        inputs = members_of(local)
        fitted = [r for r in inputs if isinstance(r, Extrapolation)]
        counted = self.counted_mean(local, error)
        trials = sum(r.trials for r in local)
        if not fitted:
            estimate = counted if isinstance(counted, Estimate) else None
            return Undecided(Why.NO_TAIL_FITTED.of(), trials, estimate)
        values = np.array([r.value for r in fitted])
        return ExtrapolatedMean(
            value=float(values.mean()),
            failure=float(np.mean([r.failure for r in fitted])),
            variance=_variance(fitted) if len(values) > 1 else None,
            fitted=len(fitted),
            inputs=len(inputs),
            contradicted=sum(r.contradicted for r in fitted),
            counted=counted,
            guarantee=Guarantee(Footing.NONE, 1.0, (Assumed.FITTED_ONLY,)),
            trials=trials,
        )


def _variance(fitted: Sequence[Extrapolation]) -> float:
    """From the failure probabilities, which are not rounded to 1; 1e-300 where it is below that."""
    failures = np.array([r.failure for r in fitted])
    equal = bool(np.ptp(failures) == 0 and failures[0] > LEAST_PROBABILITY)
    return 0.0 if equal else max(float(failures.var(ddof=1)), LEAST_PROBABILITY)
