"""The rows of a result for a table of pandas: one an input, or one a level of a curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from surefoot.claims import Claim
from surefoot.results import Bracket, Curve, Interval
from surefoot.store.records import Comparison, Curves, InputRow, Record

_ALL_INPUTS = "all inputs"


def rows_of(record: Record, claim_about: Callable[[str], Claim]) -> list[dict[str, Any]]:
    """One row a level of each curve, or one row an input with what is claimed about it."""
    details = record.details
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
    }


def _ends(interval: Interval | None) -> dict[str, float]:
    if interval is None:
        return {"low": math.nan, "high": math.nan}
    return {"low": interval.low, "high": interval.high}
