"""The mean of local robustness over the population of inputs (Bu & Sun 2024, algorithm 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.results import Decision, Estimate, Footing, Guarantee, Interval, Result, Undecided
from surefoot.statistics.intervals import betting

SAMPLED = "the inputs are an independent random sample of the population they stand for"


@dataclass(frozen=True)
class Mean:
    """Mean robustness of the population, with an interval that is wrong with at most `error`."""

    error: float
    kind: ClassVar[str] = "mean"

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
        known = [r for r in local if isinstance(r, Estimate)]
        trials = sum(r.trials for r in local)
        if not known:
            return Undecided("no input gave an estimate", trials)
        lows, highs = (np.array(ends) for ends in zip(*map(_ends, local), strict=True))
        value = float(np.mean([r.value for r in known]))
        slack = max((r.guarantee.error for r in known if r.unbiased is None), default=0.0)
        low = max(0.0, betting(lows, error).low - slack)
        high = min(1.0, betting(highs, error).high + slack)
        missing = len(local) - len(known)
        note = SAMPLED + (f"; {missing} of {len(local)} inputs were undecided" if missing else "")
        around = Interval(min(low, value), max(high, value))
        return Estimate(value, around, Guarantee(Footing.CONDITIONAL, error, note), trials)


def _ends(result: Result) -> tuple[float, float]:
    """What an input contributes to the lower and to the upper end."""
    match result:
        case Estimate(unbiased=float(exact)):
            return exact, exact
        case Estimate(interval=interval):
            return interval.low, interval.high
        case _:
            return 0.0, 1.0


def requirement(whole: Estimate | Undecided, least: float, what: str) -> Decision | Undecided:
    """Whether `what` of the population is at least `least`, as far as its interval tells."""
    if not 0 <= least <= 1:
        raise InvalidArgument(f"a required robustness lies between 0 and 1, got {least}")
    claim = f"{what} is at least {least!r}"
    if isinstance(whole, Undecided):
        return whole
    if whole.interval.low >= least:
        return Decision(claim, True, whole.guarantee, whole.trials)
    if whole.interval.high < least:
        return Decision(claim, False, whole.guarantee, whole.trials)
    return Undecided(
        f"{least!r} lies within the interval from {whole.interval.low:.4f} to "
        f"{whole.interval.high:.4f}: more inputs would narrow it",
        whole.trials,
    )
