"""Statistics of yes/no trials, usable alone: no model, no disk, no device."""

from surefoot.statistics.bounds import (
    chernoff,
    clopper_pearson,
    fixed_size,
    okamoto,
    worst_miss,
)
from surefoot.statistics.fixed_width import BuSun, FixedSize, Okamoto
from surefoot.statistics.intervals import betting
from surefoot.statistics.multiplicity import shares

__all__ = [
    "BuSun",
    "FixedSize",
    "Okamoto",
    "betting",
    "chernoff",
    "clopper_pearson",
    "fixed_size",
    "okamoto",
    "shares",
    "worst_miss",
]
