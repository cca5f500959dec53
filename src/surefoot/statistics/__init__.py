"""Statistics of yes/no trials, usable alone: no model, no disk, no device."""

from surefoot.statistics.binomial_test import ExactBinomial
from surefoot.statistics.bounds import (
    chernoff,
    clopper_pearson,
    fixed_size,
    okamoto,
    worst_miss,
)
from surefoot.statistics.fixed_width import BuSun, FixedSize, Okamoto
from surefoot.statistics.intervals import betting
from surefoot.statistics.kappa import KappaTest
from surefoot.statistics.library import design_for
from surefoot.statistics.multiplicity import shares
from surefoot.statistics.sequential import ExactSequential
from surefoot.statistics.tail import NormalTail, anderson_darling

__all__ = [
    "BuSun",
    "ExactBinomial",
    "ExactSequential",
    "FixedSize",
    "KappaTest",
    "NormalTail",
    "Okamoto",
    "anderson_darling",
    "betting",
    "chernoff",
    "clopper_pearson",
    "design_for",
    "fixed_size",
    "okamoto",
    "shares",
    "worst_miss",
]
