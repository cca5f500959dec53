"""RoMA: extrapolate a rare violation from the distribution of severities (Levy & Katz 2021).

It extrapolates: a model fitted to the bulk is read far out in the tail. So the result carries
footing NONE, brings the plain count with its exact interval along, and says when the two
contradict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.evidence import Counts, Severities
from surefoot.procedure import Needs
from surefoot.results import Estimate, Extrapolation, Footing, Guarantee, Undecided
from surefoot.statistics.bounds import clopper_pearson
from surefoot.statistics.limits import check_error

Floats = NDArray[np.float64]
Fitted = tuple[Floats, float, str]
"""Transformed severities, the limit transformed the same way, and what was done, in words."""


def anderson_darling(values: Floats) -> float:
    """p-value of normality with mean and deviation estimated (D'Agostino & Stephens 1986).

    0 for constant values.
    """
    from scipy.special import log_ndtr

    n = len(values)
    spread = float(values.std(ddof=1)) if n > 1 else 0.0
    if spread == 0 or not math.isfinite(spread):
        return 0.0
    z = np.sort((values - values.mean()) / spread)
    i = np.arange(1, n + 1)
    statistic = float(-n - np.mean((2 * i - 1) * (log_ndtr(z) + log_ndtr(-z[::-1]))))
    return _normality_p_value(statistic * (1 + 0.75 / n + 2.25 / n**2))


def _normality_p_value(a: float) -> float:
    if a < 0.2:
        return 1 - math.exp(-13.436 + 101.14 * a - 223.73 * a * a)
    if a < 0.34:
        return 1 - math.exp(-8.318 + 42.796 * a - 59.938 * a * a)
    if a < 0.6:
        return math.exp(0.9177 - 4.279 * a - 1.38 * a * a)
    if a < 10:
        return math.exp(1.2937 - 5.709 * a + 0.0186 * a * a)
    return 0.0


def _plain(values: Floats, limit: float) -> Fitted | None:
    return values, limit, "severities as they are"


def _box_cox(values: Floats, limit: float) -> Fitted | None:
    """Powers by maximum likelihood; defined for positive severities only."""
    if values.min() <= 0 or limit <= 0:
        return None
    from scipy.stats import boxcox

    moved, power = boxcox(values)
    end = math.log(limit) if power == 0 else (limit**power - 1) / power
    return moved, end, f"severities after Box-Cox with power {power:.3g}"


def _logit(values: Floats, limit: float) -> Fitted | None:
    """The natural one for softmax scores; defined strictly between 0 and 1."""
    if values.min() <= 0 or values.max() >= 1 or not 0 < limit < 1:
        return None
    return np.log(values) - np.log1p(-values), math.log(limit / (1 - limit)), "logits of severities"


def _yeo_johnson(values: Floats, limit: float) -> Fitted | None:
    from scipy.stats import yeojohnson

    moved, power = yeojohnson(values)
    end = float(yeojohnson(np.array([limit]), lmbda=power)[0])
    return moved, end, f"severities after Yeo-Johnson with power {power:.3g}"


TRANSFORMS: dict[str, Callable[[Floats, float], Fitted | None]] = {
    "none": _plain,
    "box-cox": _box_cox,
    "logit": _logit,
    "yeo-johnson": _yeo_johnson,
}


@dataclass(frozen=True)
class NormalTail:
    """Fit a normal to the severities, transformed if need be, and read off the tail at the limit.

    The transforms are tried in the stated order; the first after which Anderson-Darling does not
    reject normality at the level `normality` is used. None passing is RoMA's FAIL: undecided.
    """

    draws: int = 1000
    normality: float = 0.05
    transforms: tuple[str, ...] = ("none", "box-cox")
    error: float = 0.05
    evidence: ClassVar[type[Severities]] = Severities
    needs: ClassVar[Needs] = Needs.SAMPLES

    def __post_init__(self) -> None:
        if self.draws < 20:
            raise InvalidArgument(
                f"draws must be an integer ≥ 20, got {self.draws}: fewer do not fit a tail"
            )
        if not 0 < self.normality < 1:
            raise InvalidArgument(
                f"normality must lie between 0 and 1, got {self.normality}: try 0.05"
            )
        check_error(self.error)
        unknown = [name for name in self.transforms if name not in TRANSFORMS]
        if unknown or not self.transforms:
            raise InvalidArgument(
                f"there is no transform {unknown[0] if unknown else 'given'!r}: choose among "
                + ", ".join(TRANSFORMS)
            )

    def steps(self) -> Generator[int, Severities, Extrapolation | Undecided]:
        """One question, one fit."""
        severities = yield self.draws
        values = np.asarray(severities.values, dtype=np.float64)
        counted = self._counted(severities)
        if float(values.min()) == float(values.max()):
            return Undecided(
                f"all {self.draws} severities are {values[0]:g}: there is no distribution to fit",
                self.draws,
                counted,
            )
        for name in self.transforms:
            fitted = TRANSFORMS[name](values, severities.limit)
            if fitted is None:
                continue
            moved, limit, words = fitted
            p_value = anderson_darling(moved)
            if p_value >= self.normality:
                return self._extrapolate(moved, limit, words, p_value, counted)
        return Undecided(
            f"the severities are not normal at the {100 * self.normality:g} % level "
            f"(tried: {', '.join(self.transforms)})",
            self.draws,
            counted,
        )

    def _counted(self, severities: Severities) -> Estimate:
        kept = int(sum(value < severities.limit for value in severities.values))
        counts = Counts(self.draws, kept)
        exact = clopper_pearson(counts, self.error)
        promise = Guarantee(Footing.SOUND, self.error)
        return Estimate(counts.rate, exact, promise, self.draws, counts.rate, self.draws)

    def _extrapolate(
        self, moved: Floats, limit: float, words: str, p_value: float, counted: Estimate
    ) -> Extrapolation:
        from scipy.special import ndtr

        z = (limit - float(moved.mean())) / float(moved.std(ddof=1))
        value = float(ndtr(z))
        assumption = f"model-based extrapolation: {words} are normal far beyond what was seen"
        return Extrapolation(
            value=value,
            failure=float(ndtr(-z)),
            z=z,
            fit=words,
            normality=p_value,
            counted=counted,
            contradicted=value not in counted.interval,
            guarantee=Guarantee(Footing.NONE, 1.0, (assumption,)),
            trials=self.draws,
        )
