"""The mean failure probability: of these inputs, of the population, of the weakest input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from surefoot.core.assumptions import Assumed
from surefoot.core.claims import Continues, Sampling
from surefoot.core.counts import Counts
from surefoot.core.limits import between, check_fields
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
from surefoot.population import groups
from surefoot.population.groups import Group, Sampled, averages, distinct, members_of
from surefoot.statistics.bounds import clopper_pearson, shares
from surefoot.statistics.counted import Side, Sides, Tested, unequal_error
from surefoot.statistics.intervals import betting_trials
from surefoot.statistics.paired import Pairing, lower_difference


@dataclass(frozen=True)
class _CountedMean:
    """The mean that the trials themselves show; everything that carries a guarantee is about it."""

    error: float = field(metadata=between(0, 1, "try 0.05"))
    sampling: Sampling = Sampling.INDEPENDENT
    anytime: bool | int = False
    """Whether inputs may be added at any time; a number: that of inputs that was planned before."""
    classes: tuple[int, ...] = ()
    """The class of each input, in order; of a stratified sample, for differences."""
    inputs: str | None = ""
    """Names the inputs, for the draw of one trial of each; None: nothing does, so bets alone."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.anytime < 0:
            raise InvalidArgument(
                f"a planned number of inputs is an integer ≥ 2, got {self.anytime}: try 300"
            )

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
        around = self.sides(local).interval(error)
        assumed = groups.assumptions_of_sample(self.sampling, local)
        promise = Guarantee.given(error, assumed)
        within = Interval(min(around.low, value), max(around.high, value))
        return Estimate(value, within, promise, trials)

    @property
    def continues(self) -> Continues:
        """Whether inputs may be added, and at what price."""
        return Continues.ANYTIME if self.anytime else Continues.LADDER

    def sides(self, local: Sequence[Sampled]) -> Sides:
        """What each input or group says for a large mean, and for a small one."""
        lows = averages(local, lambda r: _input_bounds(counted(r))[0])
        highs = averages(local, lambda r: _input_bounds(counted(r))[1])
        once = distinct(local)
        inputs = [counted(r) for r in members_of(once)]
        rough = (r for r in inputs if isinstance(r, Estimate) and r.unbiased is None)
        # of a group the averages add up: what holds of each input in expectation holds of them
        slack = max((r.guarantee.error for r in rough), default=0.0)
        single = len(lows) > 0 and all(
            not isinstance(r, Group)
            and isinstance(one := counted(r), Estimate)
            and one.unbiased_from == 1
            for r in once
        )
        unequal = self.sampling is Sampling.STRATIFIED
        staked = bool(self.anytime) or (self.inputs is None and not single)
        planned = 0 if self.anytime is True else int(self.anytime)
        up, down = (
            Side(v, slack, single, unequal, staked, inputs=self.inputs or "", planned=planned)
            for v in (lows, 1 - highs)
        )
        return Sides(up, down)

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
        a, b = (self.sides(local) for local in (first, second))
        slack = a.up.slack + b.up.slack
        pairing = (
            Pairing(0.0)
            if a.up.anytime or b.up.anytime
            else Pairing.of(
                len(first),
                self.inputs or "",
                single=a.up.single and b.up.single,
                stratified=self.sampling is Sampling.STRATIFIED,
                classes=self.classes,
            )
        )
        low = lower_difference(a.up.values, 1 - b.down.values, error / 2, pairing) - slack
        high = slack - lower_difference(b.up.values, 1 - a.down.values, error / 2, pairing)
        low, high = max(-1.0, low), min(1.0, high)
        return Interval(low, max(low, high))

    def tested(self, local: Sequence[Sampled], least: float) -> Tested:
        """The requirement that the mean is at least `least`, as a test of both answers."""
        return Tested(self.sides(local), least, least, least, self.error)


@dataclass(frozen=True)
class Mean(_CountedMean):
    """Mean robustness of the population, with an interval that is wrong with at most `error`."""

    kind: ClassVar[str] = "mean"
    quantity: ClassVar[str] = "the mean robustness"

    def conclude(self, local: Sequence[Sampled], error: float) -> Estimate | Undecided:
        """The mean, spending `error`; the order of `local` does not matter."""
        return self.counted_mean(local, error)


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
