"""RoMA's categorical robustness: extrapolated tails, averaged (Levy & Katz 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.core.claims import Continues, Sampling
from surefoot.core.results import (
    LEAST_PROBABILITY,
    Estimate,
    ExtrapolatedMean,
    Extrapolation,
    Footing,
    Guarantee,
    Interval,
    Result,
    Undecided,
)
from surefoot.population.groups import Sampled, members_of
from surefoot.population.mean import Mean
from surefoot.population.requirement import Evidence

FITTED_ONLY = (
    "model-based extrapolation, averaged over the inputs whose tail could be fitted, which are "
    "not a random choice"
)


@dataclass(frozen=True)
class TailMean:
    """The average of extrapolated robustness, beside the mean that the trials themselves show.

    Everything that carries a guarantee (interval, difference, requirement) is about the latter.
    """

    error: float
    sampling: Sampling = Sampling.INDEPENDENT
    kind: ClassVar[str] = "tail-mean"
    quantity: ClassVar[str] = "the counted mean robustness"

    def __post_init__(self) -> None:
        Mean(self.error)

    @property
    def _mean(self) -> Mean:
        return Mean(self.error, self.sampling)

    def conclude(self, local: Sequence[Sampled], error: float) -> ExtrapolatedMean | Undecided:
        """Average, variance, number and completeness; the counted mean spends `error`."""
        inputs = members_of(local)
        fitted = [r for r in inputs if isinstance(r, Extrapolation)]
        counted = self._mean.conclude(local, error)
        trials = sum(r.trials for r in local)
        if not fitted:
            estimate = counted if isinstance(counted, Estimate) else None
            return Undecided("no input had severities that a normal fits", trials, estimate)
        values = np.array([r.value for r in fitted])
        return ExtrapolatedMean(
            value=float(values.mean()),
            failure=float(np.mean([r.failure for r in fitted])),
            variance=_variance(fitted) if len(values) > 1 else None,
            fitted=len(fitted),
            inputs=len(inputs),
            contradicted=sum(r.contradicted for r in fitted),
            counted=counted,
            guarantee=Guarantee(Footing.NONE, 1.0, (FITTED_ONLY,)),
            trials=trials,
        )

    def continues(self, local: Sequence[Sampled]) -> Continues:
        """Whether inputs may be added and the counted mean be read again."""
        return self._mean.continues(local)

    def studied(self, local: Sequence[Result]) -> Estimate | None:
        """The counted mean of these inputs themselves."""
        return self._mean.studied(local)

    def difference(
        self, first: Sequence[Sampled], second: Sequence[Sampled], error: float
    ) -> Interval:
        """How much larger the first counted mean is."""
        return self._mean.difference(first, second, error)

    def evidence(self, local: Sequence[Sampled], least: float) -> Evidence:
        """How surely the counted mean is at least `least`, and how surely it is less."""
        return self._mean.evidence(local, least)


def _variance(fitted: Sequence[Extrapolation]) -> float:
    """From the failure probabilities, which are not rounded to 1; 1e-300 where it is below that."""
    failures = np.array([r.failure for r in fitted])
    equal = bool(np.ptp(failures) == 0 and failures[0] > LEAST_PROBABILITY)
    return 0.0 if equal else max(float(failures.var(ddof=1)), LEAST_PROBABILITY)
