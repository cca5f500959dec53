"""The mean of local robustness over the population of inputs (Bu & Sun 2024, algorithm 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.evidence import Counts
from surefoot.population.requirement import SAMPLED, Evidence, at_least
from surefoot.results import (
    Decision,
    Estimate,
    Extrapolation,
    Footing,
    Guarantee,
    Interval,
    Result,
    Undecided,
    Whole,
)
from surefoot.statistics.bounds import clopper_pearson
from surefoot.statistics.intervals import betting, p_value_above


@dataclass(frozen=True)
class Mean:
    """Mean robustness of the population, with an interval that is wrong with at most `error`."""

    error: float
    kind: ClassVar[str] = "mean"
    quantity: ClassVar[str] = "the mean robustness"

    def __post_init__(self) -> None:
        if not 0 < self.error < 1:
            raise InvalidArgument(f"error must lie between 0 and 1, got {self.error}")

    def conclude(self, local: Sequence[Result], error: float) -> Estimate | Undecided:
        """The mean, spending `error`. The order of `local` must not depend on the values.

        Unbiased local estimates are bounded variables whose mean is the population's, so an
        interval for the mean of such variables holds it. An input without one enters the lower
        end with the lower end of its interval, less the probability that this is wrong, and the
        upper end likewise; an undecided input with 0 and 1.
        """
        told = [counted(r) for r in local]
        known = [r for r in told if isinstance(r, Estimate)]
        trials = sum(r.trials for r in local)
        if not known:
            return Undecided("no input gave an estimate", trials)
        ends = _Ends.of(told)
        value = float(np.mean([r.value for r in known]))
        low = max(0.0, betting(ends.lows, error).low - ends.slack)
        high = min(1.0, betting(ends.highs, error).high + ends.slack)
        missing = len(local) - len(known)
        note = SAMPLED + (f"; {missing} of {len(local)} inputs were undecided" if missing else "")
        around = Interval(min(low, value), max(high, value))
        return Estimate(value, around, Guarantee(Footing.CONDITIONAL, error, (note,)), trials)

    def studied(self, local: Sequence[Result]) -> Estimate | None:
        """The mean of these inputs themselves, whatever they were drawn from.

        Where the same number of trials of every input was settled beforehand, all of them are
        independent, each with its input's probability. Such a sum strays no further than a
        binomial of the same mean (Hoeffding 1956, theorem 4), so Clopper-Pearson holds; the error
        is lowered a little for the one case the theorem leaves out, a single failure or success,
        where their probabilities add up.
        """
        told = [counted(r) for r in local]
        known = [(r.unbiased, r.unbiased_from) for r in told if isinstance(r, Estimate)]
        sizes = {size for _, size in known}
        size = sizes.pop() if len(sizes) == 1 else None
        if size is None or len(known) < len(local):
            return None
        held = sum(round(rate * size) for rate, _ in known if rate is not None)
        pooled = Counts(size * len(local), held)
        spent = -2 * math.expm1(-self.error / 2)
        promise = Guarantee(Footing.SOUND, self.error)
        return Estimate(pooled.rate, clopper_pearson(pooled, spent), promise, pooled.trials)

    def difference(
        self, first: Sequence[Result], second: Sequence[Result], error: float
    ) -> Interval:
        """How much larger the first mean is: an interval from the same inputs seen twice."""
        a, b = (_Ends.of([counted(r) for r in local]) for local in (first, second))
        slack = a.slack + b.slack
        low = 2 * betting((1 + a.lows - b.highs) / 2, error).low - 1 - slack
        high = 2 * betting((1 + a.highs - b.lows) / 2, error).high - 1 + slack
        return Interval(max(-1.0, low), min(1.0, high))

    def evidence(self, local: Sequence[Result], least: float) -> Evidence:
        """How surely the mean is at least `least`, and how surely it is less."""
        ends = _Ends.of([counted(r) for r in local])
        return Evidence(
            p_value_above(ends.lows, least + ends.slack, self.error) if least > 0 else 0.0,
            p_value_above(1 - ends.highs, 1 - least + ends.slack, self.error),
        )

    def strongest(self, local: Sequence[Result], whole: Whole) -> tuple[Decision, ...]:
        """The largest requirement the evidence meets: of the population, and of every input.

        Of every input: the least of the lower ends. Were it above the probability of the weakest
        input, that one's own interval would be wrong.
        """
        told = [counted(r) for r in local]
        found = at_least(whole, self.quantity)
        if all(isinstance(r, Estimate) for r in told):
            known = [r for r in told if isinstance(r, Estimate)]
            least = math.floor(1e4 * min(r.interval.low for r in known)) / 1e4
            promise = Guarantee(Footing.SOUND, max(r.guarantee.error for r in known))
            claim = f"every input studied holds with probability at least {least:g}"
            found += (Decision(claim, True, promise, sum(r.trials for r in local)),) * (least > 0)
        return found


@dataclass(frozen=True)
class _Ends:
    """What inputs contribute to a lower and to an upper end, and how wrong that may be."""

    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    slack: float

    @classmethod
    def of(cls, local: Sequence[Result]) -> _Ends:
        lows, highs = (np.array(ends) for ends in zip(*map(_ends, local), strict=True))
        rough = (r for r in local if isinstance(r, Estimate) and r.unbiased is None)
        return cls(lows, highs, max((r.guarantee.error for r in rough), default=0.0))


def counted(result: Result) -> Result:
    """What the trials themselves say, where the result goes beyond them."""
    match result:
        case Extrapolation(counted=plain) | Undecided(counted=Estimate() as plain):
            return plain
        case _:
            return result


def _ends(result: Result) -> tuple[float, float]:
    match result:
        case Estimate(unbiased=float(exact)):
            return exact, exact
        case Estimate(interval=interval):
            return interval.low, interval.high
        case _:
            return 0.0, 1.0
