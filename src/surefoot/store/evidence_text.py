"""Evidence as the short text of a journal's row, and back with every value checked."""

from __future__ import annotations

import json
from typing import Any

from surefoot.core.counts import Counts, Outcomes, Proof, Severities

_EVIDENCE: dict[str, type[Any]] = {
    "counts": Counts,
    "outcomes": Outcomes,
    "proof": Proof,
    "severities": Severities,
}
_KINDS = {kind: name for name, kind in _EVIDENCE.items()}


def evidence_to_text(evidence: object, units: int) -> str:
    """Counts of all trials of the row: how many were kept. Anything else: its kind and fields."""
    if isinstance(evidence, Counts) and evidence.trials == units:
        return str(evidence.kept)
    values = {name: getattr(evidence, name) for name in type(evidence).__slots__}  # type: ignore[attr-defined]
    return json.dumps([_KINDS[type(evidence)], values], separators=(",", ":"))


def evidence_from_text(text: str, units: int) -> Any:  # noqa: ANN401  any evidence
    """The evidence of a row with this many trials; ValueError for what cannot be one."""
    if text.isdecimal():
        evidence: Any = Counts(units, int(text))
    else:
        try:
            kind, values = json.loads(text)
            fields = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
            evidence = _EVIDENCE[kind](**fields)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("its evidence cannot be read") from error
    if not _is_possible(evidence, units):
        raise ValueError("its evidence is impossible")
    return evidence


def _is_possible(evidence: Any, units: int) -> bool:  # noqa: ANN401  any evidence
    match evidence:
        case Counts(trials=int(trials), kept=int(kept)):
            return 0 <= kept <= trials
        case Outcomes(marks=str(marks)):
            return len(marks) == units and set(marks) <= {"0", "1"}
        case Severities(values=tuple(values), limit=float() | int()):
            return len(values) == units and all(isinstance(v, float | int) for v in values)
        case Proof(low=float() | int(), nodes=int(nodes), discarded=int(discarded)):
            ends = evidence.high is None or evidence.high >= 0
            return ends and evidence.low >= 0 and nodes >= 0 and discarded >= 0
        case _:
            return False
