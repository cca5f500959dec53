"""From local results to a statement about the population the inputs come from."""

from surefoot.population.comparison import Difference, Rank, differences, not_worse, ranks
from surefoot.population.lognormal import LogNormalPosterior
from surefoot.population.mean import Mean
from surefoot.population.quantile import (
    LevelQuantile,
    LowerBound,
    OrderStatistics,
    ShortestRanks,
    SpreadRanks,
    of_each,
)
from surefoot.population.quantile_comparison import (
    ApartRanks,
    PairedBootstrap,
    QuantileContrast,
    quantile_differences,
)
from surefoot.population.quantile_search import CriticalQuantile, Settled
from surefoot.population.quantile_within import QuantileWithin
from surefoot.population.requirement import (
    Each,
    Population,
    requirement,
    requirement_of_each,
    sound,
)
from surefoot.population.share import (
    FragileCount,
    RobustShare,
    all_robust,
    fragile_at_least,
    fragile_count,
    robust_at_least,
)
from surefoot.population.tails import TailMean

__all__ = [
    "ApartRanks",
    "CriticalQuantile",
    "Difference",
    "Each",
    "FragileCount",
    "LevelQuantile",
    "LogNormalPosterior",
    "LowerBound",
    "Mean",
    "OrderStatistics",
    "PairedBootstrap",
    "Population",
    "QuantileContrast",
    "QuantileWithin",
    "Rank",
    "RobustShare",
    "Settled",
    "ShortestRanks",
    "SpreadRanks",
    "TailMean",
    "all_robust",
    "differences",
    "fragile_at_least",
    "fragile_count",
    "not_worse",
    "of_each",
    "quantile_differences",
    "ranks",
    "requirement",
    "requirement_of_each",
    "robust_at_least",
    "sound",
]
