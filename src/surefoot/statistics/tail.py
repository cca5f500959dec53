"""RoMA: extrapolate a rare violation from the distribution of severities (Levy & Katz 2021).

It extrapolates: a model fitted to the bulk is read far out in the tail. So the result carries
footing NONE, brings the plain count with its exact interval along, and says when the two
contradict.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts, Severities
from surefoot.core.procedure import Needs
from surefoot.core.results import (
    LEAST_PROBABILITY,
    Estimate,
    Extrapolation,
    Footing,
    Guarantee,
    Histogram,
    NormalFit,
    Undecided,
)
from surefoot.errors import InvalidArgument
from surefoot.statistics.bounds import clopper_pearson
from surefoot.statistics.limits import check_error
from surefoot.statistics.normality import normality_test
from surefoot.statistics.transforms import TRANSFORMS, Transformed

Floats = NDArray[np.float64]

BINS = 40
"""Bars of a histogram of scores: the shape shows, and a record stays small."""


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
        fits: list[NormalFit] = []
        undefined = []
        for name in self.transforms:
            transform = TRANSFORMS[name]
            with np.errstate(all="ignore"):
                moved = transform.apply(values, severities.limit)
                fit = None if moved is None else self._fit(name, moved)
            if moved is None or fit is None:
                needs = transform.needs or "severities that stay finite and vary after it"
                undefined.append(f"; {name} needs {needs}")
                continue
            fits.append(fit)
            if fit.accepted:
                return self._extrapolate(moved.words, tuple(fits), counted)
        tried = ", ".join(fit.transform for fit in fits) or "none could be"
        return Undecided(
            f"the severities are not normal at the {100 * self.normality:g} % level "
            f"(tried: {tried}{''.join(undefined)})",
            self.draws,
            counted,
            tuple(fits),
        )

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
            test.passes(self.normality),
            scores=_histogram(moved.values),
        )

    def _counted(self, severities: Severities) -> Estimate:
        kept = int(sum(value < severities.limit for value in severities.values))
        counts = Counts(self.draws, kept)
        exact = clopper_pearson(counts, self.error)
        promise = Guarantee(Footing.SOUND, self.error)
        return Estimate(counts.rate, exact, promise, self.draws, counts.rate, self.draws)

    def _extrapolate(
        self, words: str, fits: tuple[NormalFit, ...], counted: Estimate
    ) -> Extrapolation:
        from scipy.special import ndtr

        fit = fits[-1]
        value = max(float(ndtr(fit.z)), LEAST_PROBABILITY)
        assumption = f"model-based extrapolation: {words} are normal far beyond what was seen"
        return Extrapolation(
            value=value,
            failure=max(float(ndtr(-fit.z)), LEAST_PROBABILITY),
            z=fit.z,
            fit=words,
            normality=fit.p_value,
            counted=counted,
            contradicted=value not in counted.interval,
            guarantee=Guarantee(Footing.NONE, 1.0, (assumption,)),
            trials=self.draws,
            fits=fits,
        )


def _histogram(values: Floats) -> Histogram:
    counts, edges = np.histogram(values, BINS)
    return Histogram(float(edges[0]), float(edges[-1]), tuple(counts.tolist()))
