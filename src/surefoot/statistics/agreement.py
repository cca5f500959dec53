"""Do our values of several models go along with a reference list, such as their accuracies?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.core.reasons import Why
from surefoot.core.results import Interval, Undecided
from surefoot.errors import InvalidArgument


@dataclass(frozen=True)
class Agreement:
    """Pearson's and Spearman's correlation over so many models.

    `pearson_interval` supposes both lists normal (Fisher). Each p-value is the share of all
    reorderings (at random, beyond 8 models) that correlate as much: it supposes nothing.
    """

    models: int
    pearson: float
    pearson_interval: Interval
    pearson_p: float
    spearman: float
    spearman_p: float


def agreement(
    ours: Sequence[float], reference: Sequence[float], error: float
) -> Agreement | Undecided:
    """The correlations; undecided for fewer than three models or values that do not vary."""
    if len(ours) != len(reference):
        raise InvalidArgument(
            f"{len(reference)} reference values for {len(ours)} models: give one for each"
        )
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if not np.isfinite(b).all():
        raise InvalidArgument("a reference value is no finite number: write one such as 0.91")
    if len(a) < 3:
        return Undecided(Why.FEW_MODELS.of(len(a)))
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return Undecided(Why.EQUAL_VALUES.of())
    from scipy.stats import pearsonr, rankdata

    pearson = pearsonr(a, b)
    within = pearson.confidence_interval(1 - error) if len(a) > 3 else None
    around = Interval(-1.0, 1.0) if within is None else Interval(*map(float, within))
    ranked = rankdata(a), rankdata(b)
    return Agreement(
        len(a),
        float(pearson.statistic),
        around,
        _reordered(a, b),
        float(pearsonr(*ranked).statistic),
        _reordered(*ranked),
    )


def _reordered(a: np.ndarray, b: np.ndarray) -> float:
    """The share of orders of b that correlate with a as much as the given one."""
    from scipy.stats import permutation_test

    first, second = ((x - x.mean()) / x.std() for x in (a, b))

    def correlation(x: np.ndarray, axis: int) -> np.ndarray:
        absolute: np.ndarray = np.abs((x * second).mean(axis))
        return np.round(absolute, 12)

    test = permutation_test(
        (first,),
        correlation,
        permutation_type="pairings",
        vectorized=True,
        n_resamples=50_000,
        alternative="greater",
        rng=np.random.default_rng(1),
    )
    return float(test.pvalue)
