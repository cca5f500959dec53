"""Quantiles of critical radii, and the claims made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from surefoot.conclude.class_groups import by_class, groups_in, sampled_of, trials_of
from surefoot.core.claims import About, Claim, Continues, Randomness, Sampling, Scope
from surefoot.core.results import Footing, Guarantee, Quantile, Undecided
from surefoot.population import (
    CriticalQuantile,
    GroupQuantile,
    LogNormalPosterior,
    OrderStatistics,
    ShortestRanks,
    of_each,
)
from surefoot.records.record import InputRow, QuantileRow, Radii, Record

ALL = "all inputs"
_SAMPLE_ALONE = (ShortestRanks.kind, GroupQuantile.kind)
"""Estimators that assume no distribution; one of them is in every record."""


def quantiles_of(
    method: Any,  # noqa: ANN401  any method that brackets radii
    rows: Sequence[InputRow],
    searched_quantile: Quantile | Undecided | None,
    classes: Mapping[str, Sequence[InputRow]],
) -> tuple[tuple[QuantileRow, ...], tuple[QuantileRow, ...]]:
    """Of all inputs by each estimator, the headline first; and of each class.

    Where the method chose how many inputs to look at, its own estimate stands alone: the others
    are right for a number fixed beforehand. Where groups were sampled, the one for groups does:
    the others take the inputs for independent.
    """
    share, error = method.quantile, method.error
    local = sampled_of(rows)
    groups = groups_in(local)
    ours: Any = GroupQuantile(share, error) if groups else ShortestRanks(share, error)
    first = ours.conclude(local, error) if searched_quantile is None else searched_quantile
    quantiles = [QuantileRow(ALL, len(rows), ours.kind, first, groups)]
    searched = isinstance(method, CriticalQuantile)
    if not groups and not (searched and method.within is not None):
        others: list[Any] = [OrderStatistics(share, error)]
        if share < 0.5 and not searched:  # its prior puts the quantile below the median
            others.append(LogNormalPosterior(share, error))
        quantiles += [
            QuantileRow(ALL, len(rows), over.kind, over.conclude(local, error)) for over in others
        ]
    sampled = {name: sampled_of(members) for name, members in classes.items()}
    each = of_each(ours, sampled, error) if classes else {}
    return tuple(quantiles), tuple(
        QuantileRow(name, len(classes[name]), ours.kind, one, groups_in(sampled[name]))
        for name, one in each.items()
    )


def claims_of(radii: Radii, rows: Sequence[InputRow]) -> tuple[Claim, ...]:
    """The quantile of the population; then of each class, all classes together."""
    together = f"the {len(radii.classes):,} classes"
    claims = [_claim(radii.quantiles[0], About.POPULATION, trials_of(rows), "")]
    members = by_class(rows).values() if radii.classes else ()
    claims += [
        _claim(row, About.CLASS, trials_of(own), together)
        for row, own in zip(radii.classes, members, strict=True)
    ]
    return tuple(claims)


def claim_of_ranks(record: Record) -> Claim:
    """The quantile by the estimator that rests on the sample alone, whichever makes the headline.

    What else is said of the population has its scope, error and assumptions.
    """
    radii = record.details
    if not isinstance(radii, Radii) or radii.quantiles[0].estimator in _SAMPLE_ALONE:
        return record.claims[0]
    ranks = next(row for row in radii.quantiles if row.estimator in _SAMPLE_ALONE)
    headline = record.claims[0]
    claim = _claim(ranks, About.POPULATION, headline.trials, "")
    scope = headline.about
    return replace(claim, about=replace(claim.about, predicted=scope.predicted, only=scope.only))


def _claim(row: QuantileRow, of: About, trials: int, together: str) -> Claim:
    name = "" if of is About.POPULATION else row.name
    sampling = Sampling.GROUPED if row.groups else Sampling.INDEPENDENT
    blank = Claim(
        "radius_quantile",
        Scope(of, row.inputs, name, sampling, row.groups),
        Randomness.NOTHING,
        "quantile of the critical radius",
        Guarantee(Footing.NONE, 1.0),
        Continues.ONCE,
        trials=trials,
    )
    result = row.result
    if isinstance(result, Undecided):
        return replace(blank, reason=result.reason)
    promise = result.guarantee
    return replace(
        blank,
        guarantee=Guarantee(promise.footing, promise.error, promise.assumptions, together),
        value=result.value,
        interval=result.interval,
        limit=result.share,
        reason=result.note,
    )
