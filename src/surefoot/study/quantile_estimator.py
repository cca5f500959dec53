"""The headline of critical radii by another estimator of the quantile."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from surefoot.conclude.radii import ALL, claims_of
from surefoot.core.claims import About, Claim
from surefoot.core.results import Bracket, Quantile
from surefoot.errors import InvalidArgument
from surefoot.population.algorithm_one import AlgorithmOne
from surefoot.population.quantile_estimators import (
    DEFAULT_ESTIMATOR,
    QuantileEstimator,
    estimator_named,
    refuse_contradicted,
)
from surefoot.records.record import InputRow, QuantileRow, Radii, Record
from surefoot.study.result import Result

_SEARCHED = (
    "estimator (--estimator) {name} needs the bracket of every input as the search left it; "
    "quantile_only (--quantile-only) and within (--within) narrow only some: leave them out"
)


def check_estimator(method: Any, name: str, gamma: float | None) -> None:  # noqa: ANN401  any method
    """Refuse before hours of work what cannot be estimated from the method's brackets."""
    chosen = estimator_named(name, method.quantile, method.error, gamma)
    if chosen.kind != DEFAULT_ESTIMATOR and hasattr(method, "within"):
        raise InvalidArgument(_SEARCHED.format(name=name))


def with_estimator(result: Result, name: str, gamma: float | None = None) -> Result:
    """The same result with the quantile of each network by this estimator in the headline.

    What the other estimators say stays beside it. Classes, requirements and pairs of networks keep
    the ranks. An estimator whose distribution the data contradict, or cannot test, is refused:
    undecided.
    """
    if name == DEFAULT_ESTIMATOR and gamma is None:
        return result
    if not result.parts:
        return replace(result, record=_with_headline(result.record, name, gamma))
    parts = {part: with_estimator(one, name, gamma) for part, one in result.parts.items()}
    headlines = {part: _headline(one.record) for part, one in parts.items()}
    claims = tuple(
        replace(headlines[claim.names[0]], names=claim.names) if _is_headline(claim) else claim
        for claim in result.claims
    )
    return replace(result, record=replace(result.record, claims=claims), parts=parts)


def _with_headline(record: Record, name: str, gamma: float | None) -> Record:
    radii, before = record.details, _headline(record)
    if not isinstance(radii, Radii):
        raise InvalidArgument(
            f"estimator (--estimator) {name} is for critical radii"
            ": leave it out, or use surefoot critical"
        )
    if before.about.groups:
        raise InvalidArgument(
            f"estimator (--estimator) {name} takes inputs for independent, and these are in "
            f"groups: leave it out for the mean over groups"
        )
    share = next(q.result.share for q in radii.quantiles if isinstance(q.result, Quantile))
    chosen = estimator_named(name, share, before.guarantee.error, gamma)
    row = _row(chosen, record.inputs)
    others = tuple(q for q in radii.quantiles if q.estimator != row.estimator)
    radii = replace(radii, quantiles=(row, *others))
    headline = replace(claims_of(replace(radii, classes=()), record.inputs)[0], limit=share)
    claims = tuple(headline if _is_headline(claim) else claim for claim in record.claims)
    return replace(record, details=radii, claims=claims)


def _row(chosen: QuantileEstimator, rows: Sequence[InputRow]) -> QuantileRow:
    """In an order that is random and depends on nothing but the ids: algorithm-1 stops early."""
    ordered = sorted(rows, key=lambda row: hashlib.sha256(row.id.encode()).digest())
    local = [row.result for row in ordered if isinstance(row.result, Bracket)]
    quantile = refuse_contradicted(chosen.conclude(local, chosen.error))
    if isinstance(quantile, Quantile) and chosen.kind == AlgorithmOne.kind:
        quantile = replace(quantile, note=f"{quantile.note}; the order is random")
    used = quantile.inputs if isinstance(quantile, Quantile) else len(rows)
    return QuantileRow(ALL, used, chosen.kind, quantile)


def _is_headline(claim: Claim) -> bool:
    return claim.kind == "radius_quantile" and claim.about.of is About.POPULATION


def _headline(record: Record) -> Claim:
    return next(claim for claim in record.claims if _is_headline(claim))
