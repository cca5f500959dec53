"""From local results to a statement about the population the inputs come from."""

from surefoot.population.comparison import Difference, Rank, differences, not_worse, ranks
from surefoot.population.mean import Mean
from surefoot.population.requirement import (
    Each,
    Population,
    requirement,
    requirement_of_each,
    sound,
)
from surefoot.population.share import RobustShare, all_robust
from surefoot.population.tails import TailMean

__all__ = [
    "Difference",
    "Each",
    "Mean",
    "Population",
    "Rank",
    "RobustShare",
    "TailMean",
    "all_robust",
    "differences",
    "not_worse",
    "ranks",
    "requirement",
    "requirement_of_each",
    "sound",
]
