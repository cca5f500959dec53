"""Anderson and Darling's test of normality."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_P = 1e-23
"""The formula for p ends at a statistic of 10, where p is 4e-24: what is smaller is below this."""
_LARGEST_STATISTIC = 10.0


@dataclass(frozen=True)
class NormalityTest:
    """The corrected statistic and its p-value; where `p_is_bound`, p is smaller than `p_value`."""

    statistic: float
    p_value: float
    p_is_bound: bool

    def passes(self, level: float) -> bool:
        """Whether normality is not rejected at this level."""
        return self.p_value >= level and not self.p_is_bound


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
