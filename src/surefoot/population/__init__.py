"""From local results to a statement about the population the inputs come from."""

from surefoot.population.mean import Mean, requirement

__all__ = ["Mean", "requirement"]
