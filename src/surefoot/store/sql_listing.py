"""A list of runs from an SQL store: columns beside the record, and the beginning of the record."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import TypeVar

import sqlalchemy as sa

from surefoot.core.claims import Claim
from surefoot.core.counts import Counts, Outcomes, Severities
from surefoot.errors import StoreFailed
from surefoot.records.json_records import claim_from_plain
from surefoot.records.record import MARGINS
from surefoot.store.chains import evidence_from_text
from surefoot.store.database import JOURNAL, RUNS, Database, Query, TableRow, readable_text
from surefoot.store.runs import FirstFailure, RunEnding, RunLine, RunPosition

V = TypeVar("V")

_BEGINNING = 65_536
"""Characters of a record that hold its spec and its first claims, unless it has many classes."""
_CLAIMS = 24
"""Claims of a record that are read: the headline is among the first, also of six models."""
_END = 8_192
"""Characters of a record that hold what comes after its details, unless it has many verdicts."""
_FINDINGS, _MEMBERS = '"findings": ', '"details": {"along": '
"""Where the end of a record begins; of a comparison it has the members too. As keys they stand
nowhere else: within a string of JSON quotes have a backslash."""
_SPEC, _LIST = '"spec": ', '"claims": ['
_UNREADABLE = "this run is damaged: surefoot show --check says more"


class Listing:
    """The queries of a list of runs; `has_tables` is False for a database without a store yet."""

    def __init__(self, database: Database, has_tables: bool) -> None:
        self._database, self._has_tables = database, has_tables

    def lines(self) -> list[RunLine]:
        """All runs, in the order in which they were begun."""
        names = (
            "id", "digest", "spec", "source", "started", "written", "seconds", "rows", "trials",
            "finished", "stopped",
        )  # fmt: skip
        query = sa.select(*(RUNS.c[name] for name in names)).order_by(RUNS.c.id)
        return [_line(row) for row in self._all(query)]

    def headlines(self, keys: Sequence[int]) -> dict[int, tuple[Claim, ...]]:
        """The first claims of finished runs, as they are stored; none where they are damaged."""
        found = self._in_records(keys, sa.func.substr(RUNS.c.record, 1, _BEGINNING), _claims)
        return {key: claims or () for key, claims in found.items()}

    def endings(self, keys: Sequence[int]) -> dict[int, RunEnding]:
        """What the ends of records say; of a damaged one nothing."""
        size = sa.func.length(RUNS.c.record)
        end = sa.func.substr(RUNS.c.record, sa.case((size > _END, size - _END), else_=1))
        found = self._in_records(keys, end, _ending)
        known = {key: ending or RunEnding() for key, ending in found.items()}
        first_cells = {k: next(iter(one.cells.values())) for k, one in known.items() if one.cells}
        if first_cells:  # a suite has one model and one set of inputs: those of each cell
            is_cell = RUNS.c.digest.in_(first_cells.values())
            rows = self._all(sa.select(RUNS.c.id, RUNS.c.digest).where(is_cell))
            cells = self.endings([row.id for row in rows])
            clean = {row.digest: cells[row.id].clean for row in rows if row.id in cells}
            for key, digest in first_cells.items():
                known[key] = replace(known[key], clean=clean.get(digest, {}))
        return known

    def _in_records(
        self,
        keys: Sequence[int],
        part: sa.ColumnElement[str],
        read: Callable[[str], V | None],
    ) -> dict[int, V | None]:
        """What is read in a part of each record; in the whole of those where the part has none."""

        def texts(keys: Sequence[int], value: sa.ColumnElement[str]) -> Sequence[TableRow]:
            own = RUNS.c.id.in_(keys), RUNS.c.record.is_not(None)
            return self._all(sa.select(RUNS.c.id, value.label("text")).where(*own))

        found = {int(row.id): read(str(row.text)) for row in texts(keys, part)}
        long = [key for key, known in found.items() if known is None]
        if long:
            found |= {int(row.id): read(str(row.text)) for row in texts(long, RUNS.c.record)}
        return found

    def positions(self, since: str, most: int) -> list[RunPosition]:
        """Runs without a record, and those written to after `since`; the last `most` of them."""
        names = ("id", "digest", "trials", "rows", "written", "finished", "stopped")
        columns = (RUNS.c[name] for name in names)
        going_on = sa.or_(RUNS.c.record.is_(None), RUNS.c.written > since)
        query = sa.select(*columns).where(going_on)
        rows = self._all(query.order_by(RUNS.c.id.desc()).limit(most))
        return [RunPosition(*_position(row)) for row in rows]

    def subjects(self, key: int, first: int, most: int) -> list[str]:
        """The inputs of at most so many rows of a journal, from row number `first`."""
        own = JOURNAL.c.run == key, JOURNAL.c.number >= first, JOURNAL.c.number < first + most
        return [str(row.subject) for row in self._all(sa.select(JOURNAL.c.subject).where(*own))]

    def first_failures(self, key: int, subjects: Sequence[str]) -> dict[str, FirstFailure]:
        """Where each of these inputs first failed, as far as its journal says."""
        columns = (JOURNAL.c[n] for n in ("subject", "start", "stop", "evidence"))
        own = JOURNAL.c.run == key, JOURNAL.c.subject.in_(subjects)
        rows = self._all(sa.select(*columns).where(*own).order_by(JOURNAL.c.number))
        failures: dict[str, FirstFailure] = {}
        for row in rows:
            name = str(row.subject)
            if name not in failures and (failed := _first_failure(row)) is not None:
                failures[name] = failed
        return failures

    def _all(self, query: Query) -> Sequence[TableRow]:
        """All rows; a damaged text in one of them does not hide the others."""

        def rows(db: sa.Connection) -> Sequence[TableRow]:
            with readable_text(db):
                return db.execute(query).all()

        return self._database.read(rows) if self._has_tables else []


def _line(row: TableRow) -> RunLine:
    """The run in a row; what a damaged one does not say is empty."""
    problem = ""
    try:
        spec, source = json.loads(row.spec), json.loads(row.source or "{}")
        words, method, inputs = spec["words"], spec["method"], spec["inputs"]
        perturbation = str(source.get("perturb") or words["perturbation"])
        named = str(words["source"]), str(method["kind"]), _whole(inputs["number"])
        model, command, study = (str(source.get(n, "")) for n in ("model", "command", "study"))
        prepared = inputs["reading"], spec["model"]["preparation"]
        question = inputs["digest"], *(spec[n] for n in ("perturbation", "property", "bounds"))
        more = "; ".join(filter(None, prepared)), _digest(question), _digest(spec["model"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        problem, perturbation, named = _UNREADABLE, "", ("", "", 0)
        model = command = study = ""
        more = "", "", ""
    data, kind, number = named
    seconds = row.seconds if isinstance(row.seconds, float | int) else 0.0
    return RunLine(
        *_position(row), str(row.started or ""), float(seconds), kind, number, perturbation, data,
        model, command, study, problem, *more,
    )  # fmt: skip


def _position(row: TableRow) -> tuple[int, str, int, int, str, str, bool]:
    """The fields of `RunPosition`."""
    written, finished = str(row.written or ""), str(row.finished or "")
    number, trials, rows = int(row.id), _whole(row.trials), _whole(row.rows)
    return number, str(row.digest), trials, rows, written, finished, bool(row.stopped)


def _digest(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _claims(record: str) -> tuple[Claim, ...] | None:
    """The first claims in the beginning of a record; None where they are cut off or damaged."""
    decoder = json.JSONDecoder()
    claims: list[Claim] = []
    with suppress(ValueError, IndexError, RecursionError, StoreFailed):
        _, end = decoder.raw_decode(record, record.index(_SPEC) + len(_SPEC))
        at = record.index(_LIST, end) + len(_LIST)
        while len(claims) < _CLAIMS and record[at] == "{":
            value, at = decoder.raw_decode(record, at)
            claims.append(claim_from_plain(value))
            at += len(", ") if record[at] == "," else 0
    return tuple(claims) or None


def _ending(record: str) -> RunEnding | None:
    """What the end of a record says; None where that does not begin in this text."""
    own = record.rfind(_MEMBERS)
    at = own if own >= 0 else record.rfind(_FINDINGS)
    try:
        fields = json.loads("{" + record[at:]) if at >= 0 else {}
        own_checks = [one for one in fields.get("findings", ()) if one["name"] != MARGINS]
        if not own_checks and "details" not in fields and record[:1] != "{":
            return None  # a comparison has no checks, and its members are before this text
        details = fields.get("details", {"along": "", "members": ()})
        members, of_cells = details["members"], details["along"] == "cell"
        shares = {str(one["name"]): one["accuracy"] for one in members}
        for one in fields["findings"]:
            if one["clean"] is not None:
                shares[""] = one["clean"]["right"] / one["clean"]["inputs"]
        return RunEnding(
            tuple(map(claim_from_plain, fields["verdicts"])),
            {name: float(share) for name, share in shares.items() if share is not None},
            {str(one["name"]): str(one["digest"]) for one in members if of_cells},
            _whole(fields["trials"]),
        )
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, StoreFailed):
        return RunEnding()


def _first_failure(row: TableRow) -> FirstFailure | None:
    """The failure in one row of a journal; none where all was kept, or where it is damaged."""
    start, stop = row.start, row.stop
    if not (isinstance(start, int) and isinstance(stop, int) and 0 <= start < stop):
        return None
    try:
        evidence = evidence_from_text(str(row.evidence), stop - start)
    except ValueError:
        return None
    match evidence:
        case Counts(trials=trials, kept=kept) if kept < trials:
            return FirstFailure(start, stop)
        case Outcomes(marks=marks) if "0" in marks:
            at = start + marks.index("0")
            return FirstFailure(at, at + 1)
        case Severities(values=values, limit=limit) if any(v >= limit for v in values):
            at = start + next(i for i, v in enumerate(values) if v >= limit)
            return FirstFailure(at, at + 1)
        case _:
            return None
