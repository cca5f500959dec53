"""The statement of an evidence file: record and journal as an in-toto statement, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from surefoot.errors import EvidenceFailed, InvalidArgument, StoreFailed
from surefoot.evidence_file.differences import first_difference
from surefoot.evidence_file.packed import load_json, pack, unpack
from surefoot.store.evidence_text import evidence_from_text, evidence_to_text
from surefoot.store.json_records import record_from_json, record_to_json
from surefoot.store.records import Curves, Radii, Record, Samples
from surefoot.store.spec import StudySpec
from surefoot.tasks import Entry

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:surefoot:evidence:v1"
FORMAT = 1
"""Number of the layout of the predicate."""
INPUT_COLUMNS = ("id", "label", "predicted", "digest", "group", "clean_kept")
JOURNAL_COLUMNS = ("subject", "level", "start", "stop", "evidence")
_TOP = ("digest", "spec", "claims", "details", "trials", "stopped_early", "extends")
_ORIGIN = ("environment", "findings", "started", "seconds")
_NAMES = {"digest": "run", "spec": "study"}
"""Fields of a record that have another name in a predicate."""


@dataclass(frozen=True)
class Evidence:
    """What an evidence file holds: the record without images, and the journal by subject.

    `model` and `data` are the names of what was studied, for people; `command` is the one that ran.
    """

    record: Record
    entries: Mapping[str, Sequence[Entry]]
    model: str = "model"
    data: str = "data"
    command: str = ""
    study: StudySpec = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.record.spec, StudySpec):
            raise InvalidArgument(
                f"run {self.record.digest[:12]} is no study of one model: write the evidence of "
                "each study by its own name (surefoot show --list)"
            )
        object.__setattr__(self, "study", self.record.spec)


def evidence_of(record: Record, entries: Mapping[str, Sequence[Entry]]) -> Evidence:
    """The evidence of a run; images, and the places of files, are left out."""
    source, details = record.source, record.details
    match details:
        case Samples():
            details = replace(details, examples=())
        case Radii():
            details = replace(details, examples=())
        case Curves():
            details = replace(details, strip=None)
        case _:
            pass
    words = record.study.words.source or "data"
    return Evidence(
        replace(record, source=None, details=details),
        entries,
        "model" if source is None else PurePath(source.model).name or "model",
        words if source is None else PurePath(source.data).name or words,
        "" if source is None else source.command,
    )


def statement_bytes(evidence: Evidence) -> bytes:
    """The statement as the payload of an envelope; long tables are packed."""
    statement = _statement(evidence)
    predicate = statement["predicate"]
    packed = {name: pack(predicate[name]) for name in ("inputs", "journal")}
    whole = statement | {"predicate": predicate | packed}
    return json.dumps(
        whole, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode("utf-8", "surrogatepass")  # fmt: skip


def read_statement(payload: bytes) -> Evidence:
    """The evidence in a payload; every field must be as we write it, and none may be more."""
    statement = load_json(payload)
    try:
        if statement["_type"] != STATEMENT_TYPE or statement["predicateType"] != PREDICATE_TYPE:
            raise EvidenceFailed(
                f"it is no statement of surefoot: its types are {str(statement['_type'])[:80]} and "
                f"{str(statement['predicateType'])[:80]}"
            )
        predicate = statement["predicate"]
        if predicate["format"] != FORMAT:
            raise EvidenceFailed(
                f"it has format {str(predicate['format'])[:20]}, and this surefoot reads {FORMAT}: "
                "use the version that wrote it"
            )
        tables = {name: unpack(predicate[name]) for name in ("inputs", "journal")}
        statement["predicate"] = predicate = predicate | tables
        model, data = (str(one["name"]) for one in statement["subject"])
        record = _record(predicate)
        command = str(predicate["origin"]["command"])
        evidence = Evidence(record, _entries(predicate["journal"]), model, data, command)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, StoreFailed) as error:
        problem = str(error) if isinstance(error, StoreFailed | InvalidArgument) else repr(error)
        raise EvidenceFailed(f"the statement is damaged: {problem[:200]}") from error
    different = first_difference(statement, _statement(evidence), exactly=True)
    if different is not None:
        raise EvidenceFailed(f"the statement is damaged: {different} is not as surefoot writes it")
    return evidence


def _statement(evidence: Evidence) -> dict[str, Any]:
    record, study = evidence.record, evidence.study
    plain: dict[str, Any] = json.loads(record_to_json(record))
    origin = {name: plain[name] for name in _ORIGIN} | {"command": evidence.command}
    predicate: dict[str, Any] = {"format": FORMAT}
    predicate |= {_NAMES.get(name, name): plain[name] for name in _TOP}
    predicate |= {"origin": origin, "inputs": _input_columns(plain["inputs"])}
    predicate |= {"journal": _journal_columns(evidence.entries)}
    covers = study.model.covers or "the model"
    return {
        "_type": STATEMENT_TYPE,
        "subject": [
            _subject(evidence.model, study.model.digest, covers),
            _subject(evidence.data, study.inputs.digest, "values, labels and ids of the inputs"),
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }


def _subject(name: str, digest: str, covers: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": digest}, "annotations": {"covers": covers}}


def _input_columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One list for each field; each different result once, and its place for each input."""
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in INPUT_COLUMNS}
    places: dict[str, int] = {}
    texts = [json.dumps(row["result"], sort_keys=True) for row in rows]
    columns["result"] = [places.setdefault(text, len(places)) for text in texts]
    columns["results"] = [json.loads(text) for text in places]
    return columns


def _record(predicate: dict[str, Any]) -> Record:
    columns, origin = predicate["inputs"], predicate["origin"]
    lists = [columns[name] for name in (*INPUT_COLUMNS, "result")]
    results = columns["results"]
    rows = [
        dict(zip(INPUT_COLUMNS, values, strict=True)) | {"result": results[place]}
        for *values, place in zip(*lists, strict=True)
    ]
    plain = {name: predicate[_NAMES.get(name, name)] for name in _TOP}
    plain |= {name: origin[name] for name in _ORIGIN}
    return record_from_json(json.dumps(plain | {"inputs": rows, "source": None}))


def _journal_columns(entries: Mapping[str, Sequence[Entry]]) -> dict[str, Any]:
    rows = [
        (place, e.level, e.start, e.stop, evidence_to_text(e.evidence, e.stop - e.start))
        for place, own in enumerate(entries.values())
        for e in own
    ]
    lists = zip(*rows, strict=True) if rows else ((),) * len(JOURNAL_COLUMNS)
    columns = {name: list(own) for name, own in zip(JOURNAL_COLUMNS, lists, strict=True)}
    return {"subjects": list(entries), **columns}


def _entries(journal: dict[str, Any]) -> dict[str, list[Entry]]:
    """The rows by subject, each of them possible."""
    names = journal["subjects"]
    entries: dict[str, list[Entry]] = {str(name): [] for name in names}
    lists = [journal[name] for name in JOURNAL_COLUMNS]
    for place, level, start, stop, text in zip(*lists, strict=True):
        whole = type(place) is type(start) is type(stop) is int and 0 <= start < stop
        finite = isinstance(level, int | float) and math.isfinite(level)
        if not (whole and finite and place >= 0 and isinstance(text, str)):
            raise ValueError(f"the journal has an impossible row: {place}, {level}, {start}")
        evidence = evidence_from_text(text, stop - start)
        entries[names[place]].append(Entry(float(level), start, stop, evidence))
    return entries
