"""The weakest of the inputs studied, with an interval that pays for having looked for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.evidence import Counts
from surefoot.population.mean import counted
from surefoot.results import Decision, Estimate, Interval, Result
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
    told = [r.counted if isinstance(r, Decision) else counted(r) for r in local]
    known = [r for r in told if isinstance(r, Estimate)]
    if not local or len(known) < len(local):
        return None
    place = min(range(len(known)), key=lambda i: known[i].value)
    around = _interval(local[place], known[place], shares(error, len(local)))
    return None if around is None else (place, around)


def _interval(result: Result, shown: Estimate, error: float) -> Interval | None:
    if shown.unbiased is not None and shown.unbiased_from:
        size = shown.unbiased_from
        return clopper_pearson(Counts(size, round(shown.unbiased * size)), error)
    if isinstance(result, Estimate):
        return None
    held = round(shown.value * shown.trials)
    return betting_trials(np.array([held]), np.array([shown.trials]), error)
