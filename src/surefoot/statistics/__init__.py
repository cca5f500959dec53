"""Statistics of yes/no trials, usable alone: no model, no disk, no device."""

from surefoot.statistics.agreement import Agreement, agreement
from surefoot.statistics.bounds import (
    chernoff,
    clopper_pearson,
    fixed_size,
    holm,
    okamoto,
    shares,
    worst_miss,
)
from surefoot.statistics.contrasts import Contrast, contrasts, differing, permutation, welch
from surefoot.statistics.designs import expected_trials
from surefoot.statistics.fixed_width import BuSun, ExactSequential, FixedSize, Okamoto, design_for
from surefoot.statistics.intervals import betting, betting_trials
from surefoot.statistics.kappa import (
    ExactBinomial,
    KappaTest,
    PublishedDoubling,
    doubling,
    falsely_robust,
)
from surefoot.statistics.smoothing import Norm, SmoothedRadius, Smoothing
from surefoot.statistics.splitting import Splitting
from surefoot.statistics.tail import NormalTail, anderson_darling

__all__ = [
    "Agreement",
    "BuSun",
    "Contrast",
    "ExactBinomial",
    "ExactSequential",
    "FixedSize",
    "KappaTest",
    "Norm",
    "NormalTail",
    "Okamoto",
    "PublishedDoubling",
    "SmoothedRadius",
    "Smoothing",
    "Splitting",
    "agreement",
    "anderson_darling",
    "betting",
    "betting_trials",
    "chernoff",
    "clopper_pearson",
    "contrasts",
    "design_for",
    "differing",
    "doubling",
    "expected_trials",
    "falsely_robust",
    "fixed_size",
    "holm",
    "okamoto",
    "permutation",
    "shares",
    "welch",
    "worst_miss",
]
