"""Records, specs and sources as JSON text, and back with every field checked."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from types import GenericAlias
from typing import Any, get_type_hints

from surefoot.core.claims import Claim
from surefoot.core.results import InputResult
from surefoot.errors import StoreFailed
from surefoot.records.input_table import InputTable, table_from_plain, table_to_plain
from surefoot.records.record import InputRow, Record, Source
from surefoot.records.spec import StudySpec

_AS_THEY_ARE = (str, int, bool, type(None))
"""Types of most fields, whose values JSON takes as they are."""

_MOST_SHARED = 4096
"""Parts of a record that are kept while it is written, as many inputs may share them."""
_HALVES = re.compile("[\ud800-\udfff]")
"""Half a character, as in the name of a file that is not UTF-8: no text column takes it raw."""


@cache
def _adapter(kind: Any) -> Any:  # noqa: ANN401  a type, and what pydantic makes of it
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def record_to_json(record: Record) -> str:
    """The record as JSON text."""
    shared: dict[int, dict[str, Any]] = {}

    def plain(value: Any) -> dict[str, Any]:  # noqa: ANN401  a dataclass within a record
        found = shared.get(id(value)) or _fields(value)
        if len(shared) < _MOST_SHARED and not isinstance(value, InputRow):  # each of its own
            shared[id(value)] = found
            for name, part in found.items():  # all of it: the encoder does not ask for it again
                if is_dataclass(part):
                    found[name] = plain(part)
        return found

    text = json.dumps(record, default=plain, ensure_ascii=False, allow_nan=False)
    return _HALVES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def result_to_json(result: InputResult) -> str:
    """The result of one input as JSON text: the same for equal ones."""
    return json.dumps(result, default=_fields, allow_nan=False, sort_keys=True)


def result_from_plain(value: Any) -> InputResult:  # noqa: ANN401  what JSON holds
    """The result of one input that JSON says, every field checked."""
    result: InputResult = _checked(InputResult, json.dumps(value), "a result")
    return result


def column_from_plain(name: str, values: Any) -> tuple[Any, ...]:  # noqa: ANN401  what JSON holds
    """A field of all rows of inputs, every value checked."""
    kind = GenericAlias(tuple, (_hints()[name], ...))
    column: tuple[Any, ...] = _validated(kind, values, f"the column {name}")
    return column


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(InputRow)


def _fields(value: Any) -> dict[str, Any]:  # noqa: ANN401  a dataclass within a record
    """Its fields: of 100,000 inputs, one after the other, and no copy of all of them."""
    if isinstance(value, InputTable):
        return table_to_plain(value)
    return {
        name: part if type(part := getattr(value, name)) in _AS_THEY_ARE else plain_numbers(part)
        for name in _field_names(value.__class__)
    }


@cache
def _field_names(kind: Any) -> tuple[str, ...]:  # noqa: ANN401  a dataclass
    return tuple(field.name for field in fields(kind))


def plain_numbers(value: Any) -> Any:  # noqa: ANN401  what JSON can hold: an open end is null
    """The same with null for an infinite number, which JSON does not know."""
    if type(value) is float:  # most by far
        return None if math.isinf(value) else value
    if isinstance(value, dict):
        return {name: plain_numbers(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_numbers(part) for part in value]
    return None if isinstance(value, float) and math.isinf(value) else value


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
    plain = _parsed(text, "a stored record")
    columns = plain.get("inputs") if isinstance(plain, dict) else None
    if not isinstance(columns, dict):
        record: Record = _validated(Record, plain, "a stored record")
        return replace(record, inputs=tuple(record.inputs))
    record = _validated(Record, plain | {"inputs": ()}, "a stored record")
    try:
        kind = GenericAlias(tuple, (InputResult, ...))
        results = _validated(kind, columns["results"], "a stored record")
        return replace(record, inputs=table_from_plain(columns, results))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged("a stored record", str(error)) from error


def claim_from_plain(value: Any) -> Claim:  # noqa: ANN401  what JSON holds
    """The claim that JSON says, every field checked."""
    claim: Claim = _checked(Claim, json.dumps(value), "a stored claim")
    return claim


def spec_to_json(spec: StudySpec) -> str:
    """The spec as JSON text."""
    return json.dumps(asdict(spec), sort_keys=True)


def spec_from_json(text: str) -> StudySpec:
    """The spec in JSON text, every field checked."""
    spec: StudySpec = _checked(StudySpec, text, "a stored spec")
    return spec


def source_to_json(source: Source | None) -> str | None:
    """The source as JSON text."""
    return None if source is None else json.dumps(asdict(source))


def source_from_json(text: str | None) -> Source | None:
    """The source in JSON text, every field checked."""
    source: Source | None = None if text is None else _checked(Source, text, "a stored source")
    return source


def decisive_json(spec: StudySpec) -> str:
    """What decides the result, as JSON text: all of the spec but its words."""
    decisive = {name: value for name, value in asdict(spec).items() if name != "words"}
    return json.dumps(decisive, sort_keys=True)


def _checked(kind: Any, text: str, name: str) -> Any:  # noqa: ANN401  what a store holds
    return _validated(kind, _parsed(text, name), name)


def _parsed(text: str, name: str) -> Any:  # noqa: ANN401  what JSON holds
    try:
        return json.loads(text, object_hook=_with_open_ends)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(name, str(error)) from error


def _validated(kind: Any, value: Any, name: str) -> Any:  # noqa: ANN401  any object
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_python(value, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        problem = first["msg"].removeprefix("Value error, ")  # of a class of ours
        raise _damaged(name, f"{where}: {problem}") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(name, str(error)) from error


_WAY_OUT = ": restore the store from a copy, or use another (store=, --store)"


def _damaged(name: str, problem: str) -> StoreFailed:
    return StoreFailed(f"{name} is damaged: {problem}{_WAY_OUT}")


def problem_of(damage: StoreFailed) -> str:
    """What is wrong with a record, for who read it from another place than a store."""
    return str(damage).removesuffix(_WAY_OUT).removeprefix("a stored record is damaged: ")
