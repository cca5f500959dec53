"""From local results to a statement about the population the inputs come from."""

from surefoot.population.algorithm_one import AlgorithmOne
from surefoot.population.comparison import (
    Difference,
    Rank,
    candidates,
    differences,
    not_worse,
    ranks,
)
from surefoot.population.group_quantile import GroupQuantile, requires_of_groups
from surefoot.population.groups import Group, Sampled, by_group, is_grouped, members_of
from surefoot.population.lognormal import LogNormalPosterior
from surefoot.population.mean import Mean
from surefoot.population.population_mean import PopulationMean, inputs_needed
from surefoot.population.quantile import (
    LevelQuantile,
    LowerBound,
    OrderStatistics,
    ShortestRanks,
    of_each,
)
from surefoot.population.quantile_comparison import (
    quantile_difference,
    quantile_differences,
    unpaired_quantile_difference,
)
from surefoot.population.quantile_estimators import ESTIMATORS, estimator_named
from surefoot.population.quantile_requirement import evidence_at, requires, requires_of_interval
from surefoot.population.quantile_search import CriticalQuantile, CriticalQuantileResult
from surefoot.population.quantile_within import QuantileWithin
from surefoot.population.radii import (
    MeanRadii,
    RobustAccuracy,
    Runtimes,
    mean_radii,
    mean_radius,
    robust_accuracy,
    robust_share,
    runtimes,
)
from surefoot.population.requirement import (
    Each,
    Population,
    requirement,
    requirement_of_each,
    sound,
)
from surefoot.population.set_mean import SetMean
from surefoot.population.share import (
    RobustShare,
    all_robust,
    every_input_at_most,
    fragile_at_least,
    robust_at_least,
    robust_of_these,
)
from surefoot.population.tail_mean import TailMean
from surefoot.population.two_samples import SAME_POPULATION, not_worse_of_samples
from surefoot.population.worst import weakest

__all__ = [
    "ESTIMATORS",
    "SAME_POPULATION",
    "AlgorithmOne",
    "CriticalQuantile",
    "CriticalQuantileResult",
    "Difference",
    "Each",
    "Group",
    "GroupQuantile",
    "LevelQuantile",
    "LogNormalPosterior",
    "LowerBound",
    "Mean",
    "MeanRadii",
    "OrderStatistics",
    "Population",
    "PopulationMean",
    "QuantileWithin",
    "Rank",
    "RobustAccuracy",
    "RobustShare",
    "Runtimes",
    "Sampled",
    "SetMean",
    "ShortestRanks",
    "TailMean",
    "all_robust",
    "by_group",
    "candidates",
    "differences",
    "estimator_named",
    "every_input_at_most",
    "evidence_at",
    "fragile_at_least",
    "inputs_needed",
    "is_grouped",
    "mean_radii",
    "mean_radius",
    "members_of",
    "not_worse",
    "not_worse_of_samples",
    "of_each",
    "quantile_difference",
    "quantile_differences",
    "ranks",
    "requirement",
    "requirement_of_each",
    "requires",
    "requires_of_groups",
    "requires_of_interval",
    "robust_accuracy",
    "robust_at_least",
    "robust_of_these",
    "robust_share",
    "runtimes",
    "sound",
    "unpaired_quantile_difference",
    "weakest",
]
