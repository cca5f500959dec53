"""From local results to a statement about the population the inputs come from."""

from surefoot.population.mean import Mean, requirement
from surefoot.population.share import RobustShare, all_robust

__all__ = ["Mean", "RobustShare", "all_robust", "requirement"]
