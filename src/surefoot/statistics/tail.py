"""RoMA: extrapolate a rare violation from the distribution of severities (Levy & Katz 2021).

It extrapolates: a model fitted to the bulk is read far out in the tail. So the result carries
footing NONE, brings the plain count with its exact interval along, and says when the two
contradict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core import results
from surefoot.core.assumptions import NormalBeyond
from surefoot.core.counts import Counts, Severities
from surefoot.core.limits import between, check_fields, whole
from surefoot.core.procedure import Needs
from surefoot.core.reasons import Why
from surefoot.core.results import Estimate, Extrapolation, NormalFit, Undecided
from surefoot.errors import InvalidArgument
from surefoot.statistics.bounds import ERROR, clopper_pearson

LEAST_P = 1e-23
"""The formula for p ends at a statistic of 10, where p is 4e-24: what is smaller is below this."""
_LARGEST_STATISTIC = 10.0


@dataclass(frozen=True)
class NormalityTest:
    """The corrected statistic and its p-value; where `p_is_bound`, p is smaller than `p_value`."""

    statistic: float
    p_value: float
    p_is_bound: bool


def normality_test(values: NDArray[np.float64]) -> NormalityTest | None:
    """The test with mean and deviation estimated (D'Agostino & Stephens 1986).

    None for values that do not vary, or by more than floating point holds.
    """
    from scipy.special import log_ndtr

    n = len(values)
    spread = float(values.std(ddof=1)) if n > 1 else 0.0
    if spread == 0 or not math.isfinite(spread):
        return None
    z = np.sort((values - values.mean()) / spread)
    i = np.arange(1, n + 1)
    plain = float(-n - np.mean((2 * i - 1) * (log_ndtr(z) + log_ndtr(-z[::-1]))))
    statistic = plain * (1 + 0.75 / n + 2.25 / n**2)
    if not statistic < _LARGEST_STATISTIC:
        return NormalityTest(statistic, LEAST_P, p_is_bound=True)
    return NormalityTest(statistic, normality_p_value(statistic), p_is_bound=False)


def anderson_darling(values: NDArray[np.float64]) -> float:
    """The p-value of normality; 1e-23, a bound, where it is smaller or the values do not vary."""
    test = normality_test(values)
    return LEAST_P if test is None else test.p_value


def normality_p_value(a: float) -> float:
    """The p-value of a corrected statistic below 10."""
    if a < 0.2:
        return 1 - math.exp(-13.436 + 101.14 * a - 223.73 * a * a)
    if a < 0.34:
        return 1 - math.exp(-8.318 + 42.796 * a - 59.938 * a * a)
    if a < 0.6:
        return math.exp(0.9177 - 4.279 * a - 1.38 * a * a)
    return math.exp(1.2937 - 5.709 * a + 0.0186 * a * a)


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Transformed:
    """Severities and the limit, transformed the same way; the words say how."""

    values: Floats
    limit: float
    words: str
    power: float | None = None


def _plain(values: Floats, limit: float) -> Transformed:
    return Transformed(values, limit, "severities as they are")


def _box_cox(values: Floats, limit: float) -> Transformed | None:
    """Powers by maximum likelihood; defined for positive severities only."""
    if values.min() <= 0 or limit <= 0:
        return None
    from scipy.stats import boxcox

    moved, power = boxcox(values)
    return _powered(moved, box_cox_of(limit, power), float(power), "Box-Cox")


def box_cox_of(value: float, power: float) -> float:
    """Box & Cox's transform of one value (RoMA, definition 4)."""
    try:
        return math.log(value) if power == 0 else (value**power - 1) / power
    except OverflowError:
        return math.inf if power > 0 else -math.inf


def _logit(values: Floats, limit: float) -> Transformed | None:
    """The natural one for softmax scores; defined strictly between 0 and 1."""
    if values.min() <= 0 or values.max() >= 1 or not 0 < limit < 1:
        return None
    logits = np.log(values) - np.log1p(-values)
    return Transformed(logits, math.log(limit / (1 - limit)), "logits of severities")


def _yeo_johnson(values: Floats, limit: float) -> Transformed:
    from scipy.stats import yeojohnson

    moved, power = yeojohnson(values)
    end = float(yeojohnson(np.array([limit]), lmbda=power)[0])
    return _powered(moved, end, float(power), "Yeo-Johnson")


def _powered(moved: Floats, limit: float, power: float, name: str) -> Transformed:
    return Transformed(moved, limit, f"severities after {name} with power {power:.3g}", power)


TRANSFORMS: dict[str, Callable[[Floats, float], Transformed | None]] = {
    "none": _plain,
    "box-cox": _box_cox,
    "logit": _logit,
    "yeo-johnson": _yeo_johnson,
}
"""None where one is not defined for these severities and this limit."""


BINS = 40
"""Bars of a histogram of scores: the shape shows, and a record stays small."""


@dataclass(frozen=True)
class NormalTail:
    """Fit a normal to the severities, transformed if need be, and read off the tail at the limit.

    The transforms are tried in the stated order; the first after which Anderson-Darling does not
    reject normality at the level `normality` is used. None passing is RoMA's FAIL: undecided.
    """

    draws: int = field(default=1000, metadata=whole(20, "fewer do not fit a tail"))
    normality: float = field(default=0.05, metadata=between(0, 1, "try 0.05"))
    transforms: tuple[str, ...] = ("none", "box-cox")
    error: float = field(default=0.05, metadata=ERROR)
    evidence: ClassVar[type[Severities]] = Severities
    needs: ClassVar[Needs] = Needs.SAMPLES

    def __post_init__(self) -> None:
        check_fields(self)
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
            reason = Why.EQUAL_SEVERITIES.of(self.draws, float(values[0]))
            return Undecided(reason, self.draws, counted)
        fits: list[NormalFit] = []
        undefined = []
        for name in self.transforms:
            with np.errstate(all="ignore"):
                moved = TRANSFORMS[name](values, severities.limit)
                fit = None if moved is None else self._fit(name, moved)
            if moved is None or fit is None:
                undefined.append(name)
                continue
            fits.append(fit)
            if fit.accepted:
                return self._extrapolate(moved.words, tuple(fits), counted)
        tried = " ".join(fit.transform for fit in fits)
        reason = Why.NOT_NORMAL.of(100 * self.normality, tried, " ".join(undefined))
        return Undecided(reason, self.draws, counted, tuple(fits))

    def _fit(self, name: str, moved: Transformed) -> NormalFit | None:
        """The normal with the mean and deviation of the scores; None where those are not finite."""
        from scipy.special import log_ndtr

        test = normality_test(moved.values)
        if test is None or not np.isfinite(moved.values).all() or not math.isfinite(moved.limit):
            return None
        mean, deviation = float(moved.values.mean()), float(moved.values.std(ddof=1))
        z = (moved.limit - mean) / deviation
        if not all(map(math.isfinite, (z, test.statistic))):
            return None
        return NormalFit(
            name,
            moved.power,
            mean,
            deviation,
            moved.limit,
            z,
            float(log_ndtr(-z)) / math.log(10),
            test.statistic,
            test.p_value,
            test.p_is_bound,
            self.normality,
            test.p_value >= self.normality and not test.p_is_bound,
            scores=_histogram(moved.values),
        )

    def _counted(self, severities: Severities) -> Estimate:
        kept = int(sum(value < severities.limit for value in severities.values))
        counts = Counts(self.draws, kept)
        exact = clopper_pearson(counts, self.error)
        promise = results.Guarantee(results.Footing.SOUND, self.error)
        return Estimate(counts.rate, exact, promise, self.draws, counts.rate, self.draws)

    def _extrapolate(
        self, words: str, fits: tuple[NormalFit, ...], counted: Estimate
    ) -> Extrapolation:
        from scipy.special import ndtr

        fit = fits[-1]
        value = max(float(ndtr(fit.z)), results.LEAST_PROBABILITY)
        return Extrapolation(
            value=value,
            failure=max(float(ndtr(-fit.z)), results.LEAST_PROBABILITY),
            z=fit.z,
            fit=words,
            normality=fit.p_value,
            counted=counted,
            contradicted=value not in counted.interval,
            guarantee=results.Guarantee(results.Footing.NONE, 1.0, (NormalBeyond(words),)),
            trials=self.draws,
            fits=fits,
        )


def _histogram(values: Floats) -> results.Histogram:
    counts, edges = np.histogram(values, BINS)
    return results.Histogram(float(edges[0]), float(edges[-1]), tuple(counts.tolist()))
