"""The share of the population of which something is true that each input is or is not."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.core.claims import Sampling
from surefoot.core.results import UNIT, Estimate, Footing, Guarantee, Result, Undecided
from surefoot.population.groups import by_group
from surefoot.population.mean import Mean


def share_of_inputs(
    true: Sequence[bool], groups: Sequence[str], sampling: Sampling, error: float
) -> Estimate | Undecided:
    """The share, with an interval for that of the population: each input is one trial.

    `groups` names the group of each input, where groups were sampled, else empty names. The
    interval is Clopper-Pearson's, or a bet on the averages of groups; see `Mean`.
    """
    certain = Guarantee(Footing.SOUND, 0.0)
    local: list[Result] = [Estimate(float(one), UNIT, certain, 1, float(one), 1) for one in true]
    mean = Mean(error, sampling)
    if any(groups):
        return mean.conclude(by_group(local, groups), error)
    return mean.conclude(local, error)
