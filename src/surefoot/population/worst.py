"""The input that failed most often, with an interval that allows for the search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.core.counts import Counts
from surefoot.core.results import Decision, Estimate, Interval, Result
from surefoot.population.mean import counted
from surefoot.statistics.bounds import clopper_pearson
from surefoot.statistics.intervals import betting_trials
from surefoot.statistics.multiplicity import shares


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
    if estimate.unbiased is not None and estimate.unbiased_from:
        size = estimate.unbiased_from
        return clopper_pearson(Counts(size, round(estimate.unbiased * size)), error)
    if isinstance(result, Estimate):
        return None
    kept = round(estimate.value * estimate.trials)
    return betting_trials(np.array([kept]), np.array([estimate.trials]), error)
