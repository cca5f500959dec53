"""A list of runs from an SQL store: columns beside the record, and the beginning of the record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from surefoot.core.claims import Claim
from surefoot.core.counts import Counts, Outcomes, Severities
from surefoot.errors import StoreFailed
from surefoot.records.json_records import claim_from_plain
from surefoot.store.chains import evidence_from_text
from surefoot.store.database import JOURNAL, RUNS, Database, readable_text
from surefoot.store.runs import FirstFailure, RunLine, RunPosition

_BEGINNING = 65_536
"""Characters of a record that hold its spec and its first claims, unless it has many classes."""
_CLAIMS = 24
"""Claims of a record that are read: the headline is among the first, also of six models."""
_END = 4_096
"""Characters of a record that hold its verdicts, its last field, unless it has many."""
_VERDICTS = '"verdicts": '
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
        beginning = sa.func.substr(RUNS.c.record, 1, _BEGINNING)
        own = RUNS.c.id.in_(keys), RUNS.c.record.is_not(None)
        claims = self._claims(_select(beginning).where(*own))
        long = [key for key, known in claims.items() if not known]
        if long:
            claims |= self._claims(_select(RUNS.c.record).where(RUNS.c.id.in_(long)))
        return claims

    def verdicts(self, keys: Sequence[int]) -> dict[int, tuple[Claim, ...]]:
        """The verdicts of finished runs with their claims; none where they are damaged."""
        size = sa.func.length(RUNS.c.record)
        end = sa.func.substr(RUNS.c.record, sa.case((size > _END, size - _END), else_=1))
        own = RUNS.c.id.in_(keys), RUNS.c.record.is_not(None)
        verdicts = self._verdicts(_select(end).where(*own))
        long = [key for key, known in verdicts.items() if known is None]
        if long:
            verdicts |= self._verdicts(_select(RUNS.c.record).where(RUNS.c.id.in_(long)))
        return {key: known for key, known in verdicts.items() if known}

    def positions(self, since: str, most: int) -> list[RunPosition]:
        """Runs without a record, and those written to after `since`; the last `most` of them."""
        names = ("id", "digest", "trials", "rows", "written", "finished", "stopped")
        columns = (RUNS.c[name] for name in names)
        going_on = sa.or_(RUNS.c.record.is_(None), RUNS.c.written > since)
        query = sa.select(*columns).where(going_on)
        rows = self._all(query.order_by(RUNS.c.id.desc()).limit(most))
        return [
            RunPosition(
                int(row.id), str(row.digest), _whole(row.trials), _whole(row.rows),
                str(row.written), str(row.finished or ""), bool(row.stopped),
            )
            for row in rows
        ]  # fmt: skip

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

    def _claims(self, query: sa.Select[Any]) -> dict[int, tuple[Claim, ...]]:
        return {int(row.id): _claims(row.text) for row in self._all(query)}

    def _verdicts(self, query: sa.Select[Any]) -> dict[int, tuple[Claim, ...] | None]:
        return {int(row.id): _verdicts(row.text) for row in self._all(query)}

    def _all(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        if not self._has_tables:
            return []
        return self._database.read(lambda db: _rows(db, query))


def _rows(db: sa.Connection, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
    """All rows; a damaged text in one of them does not hide the others."""
    with readable_text(db):
        return db.execute(query).all()


def _select(value: sa.ColumnElement[Any]) -> sa.Select[Any]:
    return sa.select(RUNS.c.id, value.label("text"))


def _line(row: sa.Row[Any]) -> RunLine:
    """The run in a row; what a damaged one does not say is empty."""
    problem = ""
    try:
        spec, source = json.loads(row.spec), json.loads(row.source or "{}")
        words, method, inputs = spec["words"], spec["method"], spec["inputs"]
        perturbation = str(source.get("perturb") or words["perturbation"])
        named = str(words["source"]), str(method["kind"]), _whole(inputs["number"])
        model, command, study = (str(source.get(n, "")) for n in ("model", "command", "study"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        problem, perturbation, named = _UNREADABLE, "", ("", "", 0)
        model = command = study = ""
    data, kind, number = named
    seconds = row.seconds if isinstance(row.seconds, float | int) else 0.0
    return RunLine(
        int(row.id), str(row.digest), str(row.started or ""), str(row.written or ""),
        str(row.finished or ""), bool(row.stopped), _whole(row.trials), _whole(row.rows),
        float(seconds), kind, number, perturbation, data, model, command, study, problem,
    )  # fmt: skip


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _claims(text: object) -> tuple[Claim, ...]:
    """The first claims in the beginning of a record; none where they are cut off or damaged."""
    decoder = json.JSONDecoder()
    claims: list[Claim] = []
    try:
        record = str(text)
        _, end = decoder.raw_decode(record, record.index(_SPEC) + len(_SPEC))
        at = record.index(_LIST, end) + len(_LIST)
        while len(claims) < _CLAIMS and record[at] == "{":
            value, at = decoder.raw_decode(record, at)
            claims.append(claim_from_plain(value))
            at += len(", ") if record[at] == "," else 0
    except (ValueError, IndexError, RecursionError, StoreFailed):
        return tuple(claims)
    return tuple(claims)


def _verdicts(text: object) -> tuple[Claim, ...] | None:
    """The verdicts at the end of a record; None where they do not begin in this text."""
    # As a key it stands nowhere else: within a string of JSON its quotes have a backslash.
    _, key, claims = str(text).rpartition(_VERDICTS)
    if not key:
        return None
    try:
        values, _ = json.JSONDecoder().raw_decode(claims)
        return tuple(map(claim_from_plain, values))
    except (ValueError, TypeError, RecursionError, StoreFailed):
        return ()


def _first_failure(row: sa.Row[Any]) -> FirstFailure | None:
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
