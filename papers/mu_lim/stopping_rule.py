"""The stopping rule as published, computed exactly: how often it declares robust at p = kappa.

"We increase the sample size until it rejects either side of the tail" (section 2): an exact
binomial test at full level, made again and again. A baseline, never used for a result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrik

from papers.exhibit import Column, Sheet
from surefoot.report.formatting import percent

_RULE_KAPPA, _RULE_TRIALS = 0.1, 1000
"""Where the published stopping rule is computed: 100/kappa trials, in less than a second."""


def falsely_robust(kappa: float, error: float, looks: Sequence[int]) -> float:
    """P(declared robust) of an input with failure probability exactly kappa.

    `looks` are the numbers of trials after which both tails are tested, each at `error`. A forward
    recursion over the number of failures; what is decided at a look leaves it.
    """
    sizes = np.asarray(looks)
    few, many = (_quantiles(share, sizes, kappa) for share in (error, 1 - error))
    undecided, before, robust = np.ones(1), 0, 0.0
    # fewer failures than `low` reject that p is at least kappa, more than `high` that it is at most
    for n, low, high in zip(sizes.tolist(), few.tolist(), many.tolist(), strict=True):
        more = np.diff(bdtr(np.arange(n - before + 1), n - before, kappa), prepend=0.0)
        undecided, before = np.convolve(undecided, more)[: high + 1], n
        robust += float(undecided[:low].sum())
        undecided[:low] = 0.0
    return robust


def _quantiles(share: float, sizes: NDArray[np.int64], kappa: float) -> NDArray[np.int64]:
    """The least k with P(at most k failures of n) ≥ share, for each n."""
    near = np.ceil(np.maximum(bdtrik(share, sizes, kappa), 0)).astype(np.int64)
    lower = np.maximum(near - 1, 0)
    return np.asarray(np.where(bdtr(lower, sizes, kappa) >= share, lower, near))


def each_trial(most: int) -> range:
    """A look after every trial."""
    return range(1, most + 1)


def doubling(first: int, most: int) -> list[int]:
    """Looks at twice as many trials each time."""
    looks = [first]
    while 2 * looks[-1] <= most:
        looks.append(2 * looks[-1])
    return looks


def rule_sheet(error: float) -> Sheet:
    """How often the published stopping rule declares an input robust that is just not."""
    looks = {
        "after every trial": each_trial(_RULE_TRIALS),
        "at twice as many trials each time": doubling(round(1 / _RULE_KAPPA), _RULE_TRIALS),
        "once, at the end": [_RULE_TRIALS],
    }
    rows = tuple(
        {"looks": name, "robust": falsely_robust(_RULE_KAPPA, error, at)}
        for name, at in looks.items()
    )
    columns = (
        Column("looks", "looks", is_name=True),
        Column("declared robust", "robust", percent),
    )
    note = (
        f"Computed exactly at a failure probability of exactly kappa = {_RULE_KAPPA:g}, at most "
        f"{_RULE_TRIALS:,} trials; {percent(error)} is promised. The longer the rule may go on, "
        "the more often it errs."
    )
    return Sheet("The published stopping rule, where it must not declare robust", columns, rows,
                 note)  # fmt: skip
