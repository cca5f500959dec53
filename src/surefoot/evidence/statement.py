"""The statement of an evidence file: record and journal as an in-toto statement, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from surefoot.core.tasks import Entry
from surefoot.errors import EvidenceFailed, InvalidArgument, StoreFailed
from surefoot.evidence import packed
from surefoot.evidence.packed import NEW_COPY, Table, Unpacking, damaged, json_text
from surefoot.records.json_records import problem_of, record_from_json, record_to_json
from surefoot.records.record import Curves, Radii, RareFailures, Record, Samples
from surefoot.records.spec import ComparisonSpec, StudySpec
from surefoot.system.text import Json

_ROUNDING = 1e-6
"""Relative: another processor or version of a library may differ by 1e-12, and by 1e-7 where two
numbers near 1 are subtracted. What is printed has four digits."""
_SMALLEST = 1e-15
"""Absolute: the rounding of numbers near 1. Numbers up to it, such as 1 - kept, are the same."""
_GRID = 2.0**-53
"""What a difference of numbers near 1 is a multiple of. A probability that is tiny by nature, as of
a tail or by splitting, is none: it is compared relatively, however small."""


def first_difference(
    one: Json, other: Json, *, exactly: bool = False, tiny: bool = False, path: str = ""
) -> str | None:
    """The name of the first part that differs; None where nothing does.

    `tiny`: probabilities are among the numbers that may be smaller than the rounding of 1.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return _joined(path, str(min(one.keys() ^ other.keys()))[:80])
        pairs = ((str(name), one[name], other[name]) for name in one)
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return path or "the length"
        if exactly and one == other and _same_types(one, other):
            return None
        pairs = ((str(i), a, b) for i, (a, b) in enumerate(zip(one, other, strict=True)))
    else:
        return None if _same(one, other, exactly, tiny) else path or "the value"
    for name, a, b in pairs:
        below = _joined(path, name)
        different = first_difference(a, b, exactly=exactly, tiny=tiny, path=below)
        if different is not None:
            return different
    return None


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _same_types(one: list[Json], other: list[Json]) -> bool:
    """Whether two equal lists hold no value that counts as another: 1 is no true."""
    scalars = (str, int, float, bool, type(None))
    return all(type(a) in scalars for a in one) and list(map(type, one)) == list(map(type, other))


def _same(one: Json, other: Json, exactly: bool, tiny: bool) -> bool:
    if _is_number(one) and _is_number(other):
        if exactly or (isinstance(one, int) and isinstance(other, int)):
            return bool(one == other)
        if math.isclose(one, other, rel_tol=_ROUNDING):
            return True
        if max(abs(one), abs(other)) > _SMALLEST:
            return False
        return not tiny or all((number / _GRID).is_integer() for number in (one, other))
    return type(one) is type(other) and bool(one == other)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:surefoot:evidence:v1"
_ANY_VERSION = PREDICATE_TYPE.removesuffix("1")
FORMAT = 6
"""Number of the layout of the predicate."""
_TABLES = ("inputs", "journal")
_TOP = (
    "digest", "spec", "claims", "required", "verdicts", "details", "trials", "stopped_early",
    "extends", "rung",
)  # fmt: skip
_ORIGIN = ("environment", "findings", "started", "seconds")
_NAMES = {"digest": "run", "spec": "study"}
"""Fields of a record that have another name in a predicate."""
_MOST_PARTS = 100
"""Of a comparison; so many models, or levels, are not compared."""


@dataclass(frozen=True)
class Evidence:
    """What an evidence file holds: the record without images, and the journal by subject.

    `model` and `data` are the names of what was studied, for people; `command` is the one that ran.
    `attack` is the run of an attack beside this one. `earlier` is that of an earlier model, where
    not to be worse than it was required. A comparison has `parts` and no journal of its own; its
    `study` is the first of them.
    """

    record: Record
    entries: Mapping[str, Sequence[Entry]]
    model: str = "model"
    data: str = "data"
    command: str = ""
    attack: Evidence | None = None
    parts: Mapping[str, Evidence] = field(default_factory=dict)
    earlier: Evidence | None = None
    study: StudySpec = field(init=False)

    def __post_init__(self) -> None:
        spec = self.record.spec
        compared = isinstance(spec, ComparisonSpec) and bool(self.parts)
        studied = isinstance(spec, StudySpec) and not self.parts
        if not (compared or studied):
            raise InvalidArgument(
                f"run {self.record.digest[:12]} was read from a file and has no journal: only "
                "studies that surefoot ran have evidence; name a run of a study"
            )
        if isinstance(spec, StudySpec) and spec.promises_nothing:
            raise InvalidArgument(
                f"{spec.method.kind} promises nothing, so that there is no evidence of what it "
                "declares: use kappa-test (--method kappa-test)"
            )
        if self.earlier is not None:
            required = self.record.required
            of = None if required is None else required.earlier
            known = of is not None and of.run == self.earlier.record.digest
            if not known or self.parts or self.earlier.parts:
                raise InvalidArgument(
                    f"run {self.record.digest[:12]} is not compared with the earlier run beside "
                    "it: leave that out"
                )
        object.__setattr__(self, "study", self.record.study)

    @property
    def members(self) -> dict[str, Evidence]:
        """The runs in this file by name: itself, or the parts; that of an earlier model.

        The name is empty where there is only one.
        """
        required = self.record.required
        if self.earlier is None or required is None or required.earlier is None:
            return dict(self.parts) or {"": self}
        return dict(zip(required.earlier.names, (self, self.earlier), strict=True))

    @property
    def members_here(self) -> dict[str, Evidence]:
        """The members of which trials can be run again with one set of data.

        An earlier model may have been run on other inputs.
        """
        members = self.members
        if self.earlier is None or self.earlier.study.inputs.digest == self.study.inputs.digest:
            return members
        return {name: one for name, one in members.items() if one is self}

    @property
    def runs(self) -> Iterator[Evidence]:
        """Every study of one model in this file: the members, and the attack beside each."""
        for one in self.members.values():
            yield one
            if one.attack is not None:
                yield one.attack


def evidence_of(
    record: Record,
    entries: Mapping[str, Sequence[Entry]],
    attack: Evidence | None = None,
    parts: Mapping[str, Evidence] | None = None,
    earlier: Evidence | None = None,
) -> Evidence:
    """The evidence of a run; images, and the places of files, are left out."""
    source, details = record.source, record.details
    left_out: dict[str, Any] = {"strip": None} if isinstance(details, Curves) else {}
    if isinstance(details, Samples | Radii | RareFailures):
        left_out = {"examples": ()}
    compared = isinstance(record.spec, ComparisonSpec)
    words = "data" if compared else record.study.words.source or "data"
    return Evidence(
        replace(record, source=None, details=replace(details, **left_out)),
        entries,
        "model" if source is None else PurePath(source.model).name or "model",
        words if source is None else PurePath(source.data).name or words,
        "" if source is None else source.command,
        attack,
        parts or {},
        earlier,
    )


def statement_bytes(evidence: Evidence) -> bytes:
    """The statement as the payload of an envelope; long tables are packed."""
    statement = _statement(evidence)
    statement["predicate"] = _each_run(statement["predicate"], packed.pack)
    return json_text(statement).encode("utf-8", "surrogatepass")


def read_statement(payload: bytes) -> Evidence:
    """The evidence in a payload; every field must be as we write it, and none may be more."""
    unpacking = Unpacking()
    statement = unpacking.json(payload)
    try:
        _check_version(statement)
        predicate = _each_run(statement["predicate"], unpacking.table)
        statement["predicate"] = predicate
        evidence = _evidence(predicate, unpacking)
    except (
        KeyError, TypeError, AttributeError, IndexError, ValueError, ArithmeticError, StoreFailed,
    ) as error:  # fmt: skip
        problem = str(error) if isinstance(error, InvalidArgument) else repr(error)
        problem = problem_of(error) if isinstance(error, StoreFailed) else problem
        problem = f"{problem[:200]}…" if len(problem) > 200 else problem
        raise EvidenceFailed(f"the statement is damaged: {problem}; {NEW_COPY}") from error
    # Written again it must be the same, so that nothing stands in a file which nobody reads.
    different = first_difference(statement, _statement(evidence), exactly=True)
    if different is not None:
        raise EvidenceFailed(
            f"the statement is damaged: {different} is not as surefoot writes it; {NEW_COPY}"
        )
    return evidence


def _check_version(statement: Json) -> None:
    types = str(statement["_type"])[:80], str(statement["predicateType"])[:80]
    newer = "use the version of surefoot that wrote it, or a newer one (pip install -U surefoot)"
    if types[0] != STATEMENT_TYPE or not types[1].startswith(_ANY_VERSION):
        raise EvidenceFailed(
            f"it is no statement of surefoot: its types are {types[0]} and {types[1]}; pass a file "
            "of surefoot evidence"
        )
    if types[1] != PREDICATE_TYPE:
        raise EvidenceFailed(f"it is {types[1]}, and this surefoot reads v1: {newer}")
    if (number := statement["predicate"]["format"]) != FORMAT:
        raise EvidenceFailed(
            f"it has format {str(number)[:20]}, and this surefoot reads {FORMAT}: {newer}"
        )


def _each_run(predicate: Table, change: Callable[[Table], Table]) -> Table:
    """The predicate with the tables of every run packed or unpacked."""
    whole = predicate | {name: change(predicate[name]) for name in _TABLES}
    parts = predicate["parts"]
    single = {n: predicate[n] for n in ("attack", "earlier") if predicate[n] is not None}
    beside = (*parts.values(), *single.values())
    compared = any(one["parts"] or one["earlier"] is not None for one in beside)
    if len(beside) > _MOST_PARTS or compared:
        raise damaged(f"it has more than {_MOST_PARTS} runs, or a comparison of comparisons")
    for name, one in single.items():
        if name == "attack" and one["attack"] is not None:
            raise damaged("it has an attack beside an attack, which no run has")
        whole[name] = _each_run(one, change)
    whole["parts"] = {name: _each_run(one, change) for name, one in parts.items()}
    return whole


def _statement(evidence: Evidence) -> Table:
    values, subjects = "values, labels, ids and groups of the inputs", dict[str, Table]()
    named = [(one, one.study.model, one.study.inputs) for one in evidence.members.values()]
    for name, digest, covers in (
        *((one.model, model.digest, model.covers or "the model") for one, model, _ in named),
        *((one.data, inputs.digest, values) for one, _, inputs in named),
    ):
        annotated = {"digest": {"sha256": digest}, "annotations": {"covers": covers}}
        subject = {"name": name, **annotated}
        subjects.setdefault(json_text(subject), subject)
    return {
        "_type": STATEMENT_TYPE,
        "subject": list(subjects.values()),
        "predicateType": PREDICATE_TYPE,
        "predicate": {"format": FORMAT} | _predicate(evidence),
    }


def _predicate(evidence: Evidence) -> Table:
    """One run, with the attack beside it; or a comparison with its parts."""
    record = evidence.record
    plain: Table = json.loads(record_to_json(replace(record, inputs=())))
    inputs, journal, arrays = packed.without_arrays(
        packed.input_columns(record.inputs), packed.journal_columns(evidence.entries)
    )
    origin = {name: plain[name] for name in _ORIGIN} | {"command": evidence.command}
    return {
        "model": evidence.model,
        "data": evidence.data,
        **{_NAMES.get(name, name): plain[name] for name in _TOP},
        "origin": origin,
        "inputs": inputs,
        "journal": journal,
        "counterexamples": arrays,
        "attack": None if evidence.attack is None else _predicate(evidence.attack),
        "earlier": None if evidence.earlier is None else _predicate(evidence.earlier),
        "parts": {name: _predicate(one) for name, one in evidence.parts.items()},
    }


def _evidence(predicate: Table, unpacking: Unpacking) -> Evidence:
    inputs, journal = packed.with_arrays(
        predicate["inputs"], predicate["journal"], predicate["counterexamples"], unpacking
    )
    origin = predicate["origin"]
    plain = {name: predicate[_NAMES.get(name, name)] for name in _TOP}
    plain |= {name: origin[name] for name in _ORIGIN}
    record = record_from_json(json.dumps(plain | {"inputs": (), "source": None}))
    attack, earlier = predicate["attack"], predicate["earlier"]
    return Evidence(
        replace(record, inputs=packed.input_rows(inputs)),
        packed.journal_entries(journal),
        str(predicate["model"]),
        str(predicate["data"]),
        str(origin["command"]),
        None if attack is None else _evidence(attack, unpacking),
        {name: _evidence(one, unpacking) for name, one in predicate["parts"].items()},
        None if earlier is None else _evidence(earlier, unpacking),
    )
