"""Records and evidence as JSON text, and back with every field checked."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from surefoot.errors import StoreFailed
from surefoot.evidence import Counts, Outcomes, Proof, Severities
from surefoot.store.records import Record

_EVIDENCE: dict[str, type[Any]] = {
    "counts": Counts,
    "outcomes": Outcomes,
    "proof": Proof,
    "severities": Severities,
}
_KINDS = {kind: name for name, kind in _EVIDENCE.items()}


@lru_cache(maxsize=1)
def _adapter() -> Any:  # noqa: ANN401
    from pydantic import TypeAdapter

    return TypeAdapter(Record)


def record_to_json(record: Record) -> str:
    """The record as JSON text."""
    return json.dumps(plain_numbers(asdict(record)), ensure_ascii=False, allow_nan=False)


def plain_numbers(value: Any) -> Any:  # noqa: ANN401  what JSON can hold: an open end is null
    """The same with null for an infinite number, which JSON does not know."""
    match value:
        case dict():
            return {name: plain_numbers(part) for name, part in value.items()}
        case list() | tuple():
            return [plain_numbers(part) for part in value]
        case float() if math.isinf(value):
            return None
        case _:
            return value


def _with_open_ends(value: dict[str, Any]) -> dict[str, Any]:
    """An interval whose end is null has no end."""
    if value.keys() == {"low", "high"}:
        low, high = value["low"], value["high"]
        return {
            "low": -math.inf if low is None else low,
            "high": math.inf if high is None else high,
        }
    return value


def record_from_json(text: str) -> Record:
    """The record in JSON text, every field checked."""
    from pydantic import ValidationError

    try:
        read = json.loads(text, object_hook=_with_open_ends)
        record: Record = _adapter().validate_python(read, strict=False)
    except ValueError as error:
        if not isinstance(error, ValidationError):
            raise StoreFailed(f"a stored record is damaged: {error}") from error
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise StoreFailed(f"a stored record is damaged: {where}: {first['msg']}") from error
    return record


def evidence_to_json(evidence: object) -> str:
    """One line a batch can hold many of."""
    values = {name: getattr(evidence, name) for name in type(evidence).__slots__}  # type: ignore[attr-defined]
    return json.dumps([_KINDS[type(evidence)], values])


def evidence_from_json(text: str) -> Any:  # noqa: ANN401
    """The evidence in such a line."""
    try:
        kind, values = json.loads(text)
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return _EVIDENCE[kind](**fields)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreFailed(f"a line of the journal is damaged: {text[:80]!r}") from error
