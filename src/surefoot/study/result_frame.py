"""The rows of a result for a table of pandas: one an input, or one a level of a curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from surefoot.core.claims import Claim
from surefoot.core.results import (
    Bracket,
    Curve,
    Estimate,
    Extrapolation,
    InputResult,
    Interval,
    Undecided,
)
from surefoot.records.record import Comparison, Curves, InputRow, Record, Tally

_ALL_INPUTS = "all inputs"
_NO_DATA = ("scores",)
_FIT_COLUMNS = {
    "limit": "limit_after",
    "level": "normality_level",
    "accepted": "fitted",
    "p_value": "normality_p",
    "p_is_bound": "normality_p_is_bound",
    "statistic": "anderson_darling",
}
"""Names of the values of a fit beside those of an input, where a level is that of a perturbation
and a value that of the claim."""


def rows_of(record: Record, claim_about: Callable[[str], Claim]) -> list[dict[str, Any]]:
    """One row a level of each curve, or one row an input with what is claimed about it."""
    details = record.details
    if isinstance(details, Tally):
        return [_row_of_case(row, details.names) for row in record.inputs]
    if not isinstance(details, Curves):
        return [_row_of_input(row, claim_about(row.id)) for row in record.inputs]
    measure = record.study.method.text("measure") or "accuracy"
    curves = {_ALL_INPUTS: details.curve, **{row.name: row.curve for row in details.classes}}
    return _rows_of_curves(curves, measure)


def levels_of_parts(record: Record) -> dict[str, float | None]:
    """The level of each part, of a result at several levels."""
    details = record.details
    if not isinstance(details, Comparison) or details.along != "level":
        return {}
    return {member.name: member.level for member in details.members}


def _rows_of_curves(curves: Mapping[str, Curve], measure: str) -> list[dict[str, Any]]:
    return [
        {
            "curve": name,
            "level": point.level,
            "quantity": measure,
            "value": point.value,
            **_ends(point.interval),
            "trials": point.trials,
        }
        for name, curve in curves.items()
        for point in sorted(curve.points, key=lambda point: point.level)
    ]


def _row_of_case(row: InputRow, names: tuple[str, ...]) -> dict[str, Any]:
    """A case of a test that was run elsewhere: what was counted, and no claim."""
    kept = row.result.value if isinstance(row.result, Estimate) else math.nan
    return {
        "id": row.id,
        **({"group": row.group} if row.group else {}),
        **({"class": names[row.label]} if row.label is not None else {}),
        "trials": row.result.trials,
        "failed": round((1 - kept) * row.result.trials),
    }


def _row_of_input(row: InputRow, claim: Claim) -> dict[str, Any]:
    ended = {"reason": row.result.reason} if isinstance(row.result, Bracket) else {}
    return {
        "id": row.id,
        **({"group": row.group} if row.group else {}),
        "label": row.label,
        "predicted": row.predicted,
        "quantity": claim.quantity,
        "value": math.nan if claim.value is None else claim.value,
        **_ends(claim.interval),
        "verdict": None if claim.verdict is None else str(claim.verdict),
        "trials": claim.trials,
        **ended,
        **_fit(row.result),
    }


def _fit(result: InputResult) -> dict[str, Any]:
    """The normal distribution of a tail: the one used, or the last of those that did not fit."""
    if not isinstance(result, Extrapolation | Undecided) or not result.fits:
        return {}
    values = {name: value for name, value in vars(result.fits[-1]).items() if name not in _NO_DATA}
    contradicted = isinstance(result, Extrapolation) and result.contradicted
    return {**{_FIT_COLUMNS.get(k, k): v for k, v in values.items()}, "contradicted": contradicted}


def _ends(interval: Interval | None) -> dict[str, float]:
    if interval is None:
        return {"low": math.nan, "high": math.nan}
    return {"low": interval.low, "high": interval.high}
