"""Two models on other inputs each: only what is said of the population can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from surefoot.core.results import Decision, Estimate, Footing, Guarantee, Interval, Undecided
from surefoot.population.requirement import Population, sound

if TYPE_CHECKING:
    from surefoot.population.groups import Sampled

SAME_POPULATION = "the inputs of both runs stand for the same population"
"""The assumption of a comparison on other inputs."""
OTHER_INPUTS = (
    "on other inputs nothing cancels that the two have in common: measure the earlier model on "
    "these inputs (previous-model), where that is possible"
)


def not_worse_of_samples(
    population: Population,
    mine: Sequence[Sampled],
    other: Sequence[Sampled],
    margin: float,
) -> Decision | Undecided:
    """Whether the quantity is at most `margin` smaller than that of the other sample.

    One-sided, spending `population.error`: each end of an interval spends half of the error that
    this is made with, so the two ends that decide spend all of it together, however the samples
    depend on each other (a union bound), inputs that they share included.
    """
    error = population.error
    known = [sound(population.conclude(local, error)) for local in (mine, other)]
    trials = sum(r.trials for local in (mine, other) for r in local)
    a, b = known
    if not (isinstance(a, Estimate) and isinstance(b, Estimate)):
        reason = next(one.reason for one in known if isinstance(one, Undecided))
        return Undecided(reason, trials)
    gap = Interval(a.interval.low - b.interval.high, a.interval.high - b.interval.low)
    assumptions = dict.fromkeys((*a.guarantee.assumptions, *b.guarantee.assumptions))
    promise = Guarantee(Footing.CONDITIONAL, error, (*assumptions, SAME_POPULATION))
    claim = f"{population.quantity} is at most {margin!r} smaller than that of the other sample"
    if gap.low >= -margin:
        return Decision(claim, True, promise, trials)
    if gap.high < -margin:
        return Decision(claim, False, promise, trials)
    return Undecided(
        f"the difference is {100 * gap.low:+.3g} to {100 * gap.high:+.3g} points; {OTHER_INPUTS}",
        trials,
    )
