"""Records, specs and evidence as JSON text, and back with every field checked."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from surefoot.errors import StoreFailed
from surefoot.evidence import Counts, Outcomes, Proof, Severities
from surefoot.store.records import Record
from surefoot.store.spec import StudySpec

_EVIDENCE: dict[str, type[Any]] = {
    "counts": Counts,
    "outcomes": Outcomes,
    "proof": Proof,
    "severities": Severities,
}
_KINDS = {kind: name for name, kind in _EVIDENCE.items()}


@lru_cache(maxsize=1)
def _adapters() -> dict[type[Any], Any]:
    from pydantic import TypeAdapter

    return {kind: TypeAdapter(kind) for kind in (Record, StudySpec)}


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
    record: Record = _checked(Record, text, "a stored record")
    return record


def spec_to_json(spec: StudySpec) -> str:
    """The spec as JSON text."""
    return json.dumps(asdict(spec), sort_keys=True)


def spec_from_json(text: str) -> StudySpec:
    """The spec in JSON text, every field checked."""
    spec: StudySpec = _checked(StudySpec, text, "a stored spec")
    return spec


def decisive_json(spec: StudySpec) -> str:
    """What decides the result, as JSON text: all of the spec but its words."""
    decisive = {name: value for name, value in asdict(spec).items() if name != "words"}
    return json.dumps(decisive, sort_keys=True)


def _checked(kind: type[Any], text: str, name: str) -> Any:  # noqa: ANN401
    from pydantic import ValidationError

    try:
        value = json.loads(text, object_hook=_with_open_ends)
        return _adapters()[kind].validate_python(value, strict=False)
    except ValueError as error:
        if not isinstance(error, ValidationError):
            raise StoreFailed(f"{name} is damaged: {error}") from error
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise StoreFailed(f"{name} is damaged: {where}: {first['msg']}") from error


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
