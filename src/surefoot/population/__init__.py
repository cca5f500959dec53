"""From local results to a statement about the population the inputs come from."""

from surefoot.population.cells import CellMean, CellPasses
from surefoot.population.comparison import (
    Difference,
    Rank,
    candidates,
    differences,
    not_worse,
    not_worse_of_samples,
    quantile_difference,
    quantile_differences,
    ranks,
    unpaired_quantile_difference,
)
from surefoot.population.groups import Group, Sampled, by_group, is_grouped, members_of
from surefoot.population.lognormal import LogNormalPosterior
from surefoot.population.mean import Mean, TailMean, weakest
from surefoot.population.precision import PopulationMean, SetMean, inputs_needed
from surefoot.population.quantile import (
    GroupQuantile,
    LevelQuantile,
    LowerBound,
    OrderStatistics,
    QuantileWithin,
    ShortestRanks,
    of_each,
    requires,
    requires_of_interval,
)
from surefoot.population.quantile_estimators import ESTIMATORS, AlgorithmOne, estimator_named
from surefoot.population.quantile_search import CriticalQuantile, CriticalQuantileResult
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
from surefoot.population.share import (
    RobustShare,
    all_robust,
    every_input_at_most,
    fragile_at_least,
    robust_at_least,
    robust_of_these,
)

__all__ = [
    "ESTIMATORS", "AlgorithmOne", "CellMean", "CellPasses", "CriticalQuantile",
    "CriticalQuantileResult", "Difference", "Each", "Group", "GroupQuantile", "LevelQuantile",
    "LogNormalPosterior", "LowerBound", "Mean", "MeanRadii", "OrderStatistics", "Population",
    "PopulationMean", "QuantileWithin", "Rank",
    "RobustAccuracy", "RobustShare", "Runtimes", "Sampled", "SetMean", "ShortestRanks", "TailMean",
    "all_robust", "by_group", "candidates", "differences", "estimator_named", "every_input_at_most",
    "fragile_at_least", "inputs_needed", "is_grouped", "mean_radii", "mean_radius",
    "members_of", "not_worse", "not_worse_of_samples", "of_each", "quantile_difference",
    "quantile_differences", "ranks", "requirement", "requirement_of_each", "requires",
    "requires_of_interval", "robust_accuracy", "robust_at_least",
    "robust_of_these", "robust_share", "runtimes", "sound", "unpaired_quantile_difference",
    "weakest",
]  # fmt: skip
