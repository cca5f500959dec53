"""The estimators of a quantile of the critical level, by the names a person gives them."""

from __future__ import annotations

from dataclasses import replace

from surefoot.core.results import Quantile, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population.algorithm_one import AlgorithmOne
from surefoot.population.lognormal import NOT_TESTED, REJECTED, LogNormalPosterior
from surefoot.population.quantile import OrderStatistics, ShortestRanks

QuantileEstimator = ShortestRanks | OrderStatistics | LogNormalPosterior | AlgorithmOne
ESTIMATORS: dict[str, type[QuantileEstimator]] = {
    one.kind: one for one in (ShortestRanks, OrderStatistics, LogNormalPosterior, AlgorithmOne)
}
"""The first is that of every headline, unless another is chosen."""
DEFAULT_ESTIMATOR = ShortestRanks.kind
_SPELLINGS = {"lognormal": LogNormalPosterior.kind}


def estimator_named(
    name: str, share: float, error: float, gamma: float | None = None
) -> QuantileEstimator:
    """The estimator of this name; `gamma` is for algorithm-1 alone."""
    kind = _SPELLINGS.get(name, name)
    if kind not in ESTIMATORS:
        raise InvalidArgument(
            f"there is no estimator {name!r} (--estimator): choose one of {', '.join(ESTIMATORS)}"
        )
    chosen = ESTIMATORS[kind](share, error)
    if gamma is None:
        return chosen
    if not isinstance(chosen, AlgorithmOne):
        raise InvalidArgument(
            f"gamma (--gamma) {gamma:g} says when algorithm-1 stops, and {kind} takes all inputs: "
            "leave it out, or choose the estimator algorithm-1"
        )
    return replace(chosen, gamma=gamma)


def refuse_contradicted(quantile: Quantile | Undecided) -> Quantile | Undecided:
    """Undecided where the data reject the distribution of the interval, or cannot test it."""
    if isinstance(quantile, Undecided):
        return quantile
    way_out = f"use the estimator {DEFAULT_ESTIMATOR}, which needs no distribution"
    if quantile.fit.startswith(REJECTED):
        return Undecided(f"the data contradict the assumption ({quantile.fit}): {way_out}")
    if quantile.fit.startswith(NOT_TESTED):
        why = quantile.fit.removeprefix(NOT_TESTED)
        return Undecided(
            f"whether critical radii are log-normal, as the interval assumes, could not be tested "
            f"({why}): {way_out}"
        )
    return quantile
