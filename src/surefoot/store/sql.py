"""The journal of one run in an SQL store: one transaction for each batch, every row checked."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeVar

import sqlalchemy as sa

from surefoot.core.claims import Claim
from surefoot.core.counts import Answer, Counts, Outcomes, Proof, Severities
from surefoot.core.tasks import Entry, Task
from surefoot.errors import AnswersDiffer, StoreDamaged, StoreFailed
from surefoot.records import json_records
from surefoot.records.json_records import claim_from_plain
from surefoot.records.record import MARGINS, Record, Source
from surefoot.records.spec import StudySpec
from surefoot.store import database as databases
from surefoot.store.chains import (
    COLUMNS,
    BadRow,
    Chains,
    NewRow,
    Row,
    evidence_from_text,
    evidence_to_text,
    seal_of,
)
from surefoot.store.database import JOURNAL, RUNS, Database, Query, TableRow, readable_text
from surefoot.store.runs import (
    FirstFailure,
    RunCheck,
    RunEnding,
    RunLine,
    RunPosition,
    RunSummary,
    choose_name,
    choose_run,
)
from surefoot.system.memory_limits import no_garbage_collection

_ROWS_AT_ONCE = 10_000
"""Rows that are read together: few calls, little memory."""
_MARKS = {"sqlite": "?", "postgresql": "%s"}
"""How a driver marks a parameter: rows go to it as they are, without a name for each value."""
_COUNT = (
    sa.update(RUNS)
    .where(
        RUNS.c.digest == sa.bindparam("run"),
        RUNS.c.rows == sa.bindparam("known"),
        RUNS.c.record.is_(None) | RUNS.c.stopped,
    )
    .values(
        rows=RUNS.c.rows + sa.bindparam("new"),
        trials=RUNS.c.trials + sa.bindparam("new_trials"),
        seconds=RUNS.c.seconds + sa.bindparam("spent"),
        written=sa.bindparam("now"),
    )
)
"""Locks the run, and matches only if nobody else has appended or finished it."""
_OF_RUN = RUNS.c.digest == sa.bindparam("run")
_RUN, _SPEC_OF_RUN = sa.select(RUNS).where(_OF_RUN), sa.select(RUNS.c.spec).where(_OF_RUN)
_CHANGE_RUN = sa.update(RUNS).where(_OF_RUN)
_LAST_ROW = sa.select(sa.func.max(JOURNAL.c.number)).where(JOURNAL.c.run == sa.bindparam("id"))
"""Statements of every run, made once: making one takes three times as long as running it."""


def now() -> str:
    """The time of a write."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class SqlJournal:
    """The journal of one run.

    Several processes may write to it. A run's row is locked while one appends; what others have
    appended is read first, and the first answer to a trial counts.
    """

    def __init__(self, database: Database, digest: str) -> None:
        self._database, self._digest = database, digest
        self._since = time.monotonic()
        self._chains = Chains(digest)
        self._known_rows = 0  # written or read: a database must not lose them
        self._run_id: int | None = None

    def append(self, answers: Sequence[tuple[Task, Answer]]) -> None:
        """Record one batch and the time it took, in one transaction."""
        rows = [
            (
                task.subject.name,
                float(task.level) + 0.0,  # no negative zero, which SQLite does not store
                int(task.start),
                int(task.stop),
                evidence_to_text(evidence, task.units),
            )
            for task, evidence in answers
        ]
        moment = time.monotonic()
        spent, self._since = moment - self._since, moment
        self._chains = self._database.write(lambda db: self._append(db, rows, spent))
        self._known_rows = max(self._known_rows, self._chains.rows)

    def replay(self) -> dict[str, list[Entry]]:
        """Everything recorded for this run, by subject."""
        with no_garbage_collection():
            return self._database.read(self._replay)

    def adopt(self, earlier: SqlJournal) -> None:
        """Begin with the rows of another run, unless this one has rows of its own."""
        entries = earlier.replay()
        rows = [
            (subject, e.level, e.start, e.stop, evidence_to_text(e.evidence, e.stop - e.start))
            for subject, own in entries.items()
            for e in own
        ]

        def copy(db: sa.Connection) -> Chains:
            return self._chains if self._lock(db).rows else self._append(db, rows, 0.0)

        self._chains = self._database.write(copy)

    def heads(self, db: sa.Connection) -> tuple[TableRow, int, str]:
        """The run, which is locked; the number of its rows, and the digest of their chains."""
        run = self._lock(db)
        self._catch_up(db, self._chains, run)
        return run, self._chains.rows, self._chains.heads()

    def sound_rows(self, db: sa.Connection) -> Chains:
        """The rows before the first damaged one."""
        chains, run = Chains(self._digest), self._run(db)
        with suppress(StoreDamaged):
            self._read(db, chains, run, run.rows, defaultdict(list))
        return chains

    def check_number(self, db: sa.Connection) -> None:
        """Refuse a journal that lacks rows, without reading them."""
        run = self._run(db)
        own = JOURNAL.c.run == run.id, JOURNAL.c.number < run.rows
        rows = db.execute(sa.select(sa.func.count()).select_from(JOURNAL).where(*own)).scalar_one()
        if rows != run.rows:
            raise self._refusal(f"has {rows} rows, but {run.rows} were written")

    def _append(self, db: sa.Connection, answers: list[NewRow], spent: float) -> Chains:
        """Write those answers whose trials are not in the journal; what is known of it then.

        That is forgotten until the transaction has ended: an attempt after a lost connection reads
        what there is.
        """
        chains, self._chains = self._chains, Chains(self._digest)
        trials = sum(stop - start for _, _, start, stop, _ in answers)
        count = {"new": len(answers), "new_trials": trials, "spent": spent, "now": now()}
        known = {"run": self._digest, "known": chains.rows}
        whole = chains.rows >= self._known_rows  # not so where a connection was lost
        if whole and db.execute(_COUNT, count | known).rowcount == 1:
            rows = chains.add(answers)
            if len(rows) < len(answers):
                self._correct(db, chains)
        else:
            run = self._lock(db)
            if run.record is not None and not run.stopped:
                return chains  # another process has finished this run
            others = self._catch_up(db, chains, run)
            self._refuse_differing(answers, others)
            rows = chains.add(answers)
            if rows:
                self._correct(db, chains, spent)
        if rows:
            if self._run_id is None:
                self._run_id = int(self._run(db).id)
            mark = _MARKS[db.dialect.name]
            db.exec_driver_sql(
                f"INSERT INTO {JOURNAL.name} (run, {', '.join(COLUMNS)}) "  # noqa: S608  names of our own
                f"VALUES ({', '.join([mark] * (1 + len(COLUMNS)))})",
                [(self._run_id, *row) for row in rows],
            )
        return chains

    def _correct(self, db: sa.Connection, chains: Chains, spent: float = 0.0) -> None:
        """Count the rows of the run, which is locked, as they are now known."""
        seconds = RUNS.c.seconds + spent
        this_run = sa.update(RUNS).where(RUNS.c.digest == self._digest)
        db.execute(this_run.values(rows=chains.rows, trials=chains.trials, seconds=seconds))

    def _replay(self, db: sa.Connection) -> dict[str, list[Entry]]:
        chains = Chains(self._digest)
        entries: defaultdict[str, list[Entry]] = defaultdict(list)
        run = self._run(db)
        self._read(db, chains, run, run.sealed_rows, entries)
        if run.record is not None and chains.heads() != run.heads:
            raise self._refusal("is not the one that the record was made from")
        self._read(db, chains, run, run.rows, entries)
        if chains.trials != run.trials:
            raise self._refusal(f"has {chains.trials} trials, but {run.trials} were written")
        self._refuse_more(db, run)
        self._chains, self._known_rows = chains, chains.rows
        return dict(entries)

    def _catch_up(self, db: sa.Connection, chains: Chains, run: TableRow) -> dict[str, list[Entry]]:
        """What others have appended, checked."""
        known = max(chains.rows, self._known_rows)
        if run.rows < known:
            raise StoreFailed(
                f"{self._database.where}: run {self._digest[:12]} has lost rows of its journal, as "
                f"{known} were written and {run.rows} are left: run the same command again, which "
                "goes on from what is left"
            )
        others: defaultdict[str, list[Entry]] = defaultdict(list)
        self._read(db, chains, run, run.rows, others)
        return others

    @staticmethod
    def _refuse_differing(answers: list[NewRow], others: dict[str, list[Entry]]) -> None:
        """Refuse trials that another process answered otherwise; proofs may differ in seconds."""
        for subject, level, start, stop, text in answers:
            for entry in others.get(subject, ()):
                same = entry[:3] == (level, start, stop) and not isinstance(entry.evidence, Proof)
                if same and evidence_to_text(entry.evidence, stop - start) != text:
                    raise AnswersDiffer(
                        f"another process answered trials {start} to {stop - 1} of input {subject} "
                        "otherwise, so the model depends on more than its input: make it a "
                        "function of its input alone, and use another store (store=, --store)"
                    )

    def _read(
        self,
        db: sa.Connection,
        chains: Chains,
        run: TableRow,
        upto: int,
        entries: defaultdict[str, list[Entry]],
    ) -> None:
        """Check and add the rows that follow those in `chains`, up to a number."""
        if chains.rows >= upto:
            return
        own = JOURNAL.c.run == run.id, JOURNAL.c.number >= chains.rows, JOURNAL.c.number < upto
        query = (
            sa.select(*(JOURNAL.c[name] for name in COLUMNS)).where(*own).order_by(JOURNAL.c.number)
        )
        query = query.execution_options(yield_per=_ROWS_AT_ONCE)
        try:
            with db.execute(query) as result:
                for rows in result.partitions():
                    chains.read(rows, entries)
        except BadRow as error:
            raise self._refusal(f"is damaged: {error}") from error
        if chains.rows < upto:
            raise self._refusal(f"is damaged: row {chains.rows} is missing")

    def _refuse_more(self, db: sa.Connection, run: TableRow) -> None:
        """Refuse rows beyond those that were counted; another process may be appending."""
        number = db.execute(_LAST_ROW, {"id": run.id}).scalar()
        if number is not None and number >= run.rows and number >= self._run(db).rows:
            raise self._refusal(f"is damaged: row {number} was never written by surefoot")

    def _run(self, db: sa.Connection) -> TableRow:
        row = db.execute(_RUN, {"run": self._digest}).one_or_none()
        if row is None:
            raise StoreFailed(
                f"{self._database.where}: run {self._digest[:12]} is no longer in the store: run "
                "the same command again"
            )
        return row

    def _lock(self, db: sa.Connection) -> TableRow:
        """The run's row, which nobody else changes before this transaction ends.

        SQLite locks the file with the first write instead.
        """
        db.execute(_CHANGE_RUN, {"run": self._digest, "written": now()})
        return self._run(db)

    def _refusal(self, problem: str) -> StoreDamaged:
        where = self._database.where
        return StoreDamaged(where, f"the journal of run {self._digest[:12]} {problem}")


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


def _spec_of(row: TableRow, where: str) -> StudySpec:
    try:
        return _spec_from_json(row.spec)
    except StoreFailed as error:
        raise StoreDamaged(where, f"run {row.digest[:12]}: its study cannot be read") from error


@lru_cache(maxsize=8192)
def _spec_from_json(text: str) -> StudySpec:
    """Each text once: the studies of a file look at those of all runs before them."""
    return json_records.spec_from_json(text)


def summary_of(row: TableRow, where: str, ending: RunEnding | None = None) -> RunSummary:
    """The run in this row, which has all columns but the record."""
    if not (isinstance(row.digest, str) and row.digest):
        raise StoreDamaged(where, "a run has no name")
    texts = (row.started, row.written, row.finished or "")
    numbers = (row.rows, row.trials, row.sealed_rows, row.seconds)
    possible = all(isinstance(text, str) for text in texts) and all(
        isinstance(number, int | float) and number >= 0 for number in numbers
    )
    if not possible:
        raise StoreDamaged(
            where,
            f"run {row.digest[:12]} is damaged (it was begun {row.started}, last written "
            f"{row.written}, and has {row.rows} rows, {row.trials} trials, {row.seconds} seconds)",
        )
    spec = _spec_of(row, where)
    try:
        source = json_records.source_from_json(row.source)
    except StoreFailed as error:
        raise StoreDamaged(where, f"run {row.digest[:12]}: its study cannot be read") from error
    return RunSummary(
        row.digest,
        spec,
        row.started,
        bool(row.has_record),
        max(int(row.trials), ending.trials if ending else 0),
        row.finished or "",
        source,
        bool(row.stopped),
        row.written,
        ending.clean if ending else {},
        tuple(ending.cells.values()) if ending else (),
    )


def sealed_record(row: TableRow, where: str) -> Record:
    """The record in a run's row, as it was written."""
    seal = seal_of(row.record, row.finished, row.sealed_rows, row.heads)
    record = json_records.record_from_json(row.record) if seal == row.seal else None
    whole = record is not None and record.stopped_early == bool(row.stopped)
    if record is None or not whole or record.digest != row.digest:
        raise StoreDamaged(where, f"the record of run {row.digest[:12]} is not as it was written")
    return record


_NO_SEAL: dict[str, str | bool | int] = {
    "stopped": False,
    "sealed_rows": 0,
    "heads": "",
    "seal": "",
}
"""The columns of a run that is not finished."""


def _check_run(database: Database, number: int, digest: str) -> RunCheck:
    """One run: its own row, every row of its journal, and its record."""
    query = sa.select(RUNS, RUNS.c.record.is_not(None).label("has_record"))
    row = database.read(lambda db: db.execute(query.where(RUNS.c.id == number)).one())
    try:
        summary = summary_of(row, database.where)
    except StoreFailed as error:
        spec = _named_spec(row, database.where)
        kept = spec is not None and row.spec != json_records.spec_to_json(spec)
        rows = row.sealed_rows if kept else 0
        return RunCheck(digest, rows, rows, getattr(error, "problem", str(error)), readable=kept)
    rows = int(row.rows)
    if rows and not _is_named(summary.spec, digest):  # a comparison, named otherwise, has no rows
        problem = f"run {digest[:12]}: its study is another than its name stands for"
        return RunCheck(digest, rows, rows, problem, _named_spec(row, database.where) is not None)
    try:
        SqlJournal(database, digest).replay()
        if row.record is not None:
            sealed_record(row, database.where)
    except StoreFailed as error:
        # the way out, which an error says as well, is said once for all runs
        problem = getattr(error, "problem", str(error))
        return RunCheck(digest, rows, _sound(database, digest).rows, problem)
    return RunCheck(digest, rows, rows)


def _is_named(spec: StudySpec, digest: str) -> bool:
    """Whether the name of a run is the digest of this study."""
    return sha256(json_records.decisive_json(spec).encode()).hexdigest() == digest


def _named_spec(row: TableRow, where: str) -> StudySpec | None:
    """The study of a run as its record has it; None where that has none of this name."""
    with suppress(StoreFailed):
        spec = sealed_record(row, where).spec if row.record is not None else None
        if isinstance(spec, StudySpec) and _is_named(spec, row.digest):
            return spec
    return None


def _sound(database: Database, digest: str) -> Chains:
    """The chains of the rows before the first damaged one."""
    journal = SqlJournal(database, digest)

    def read(db: sa.Connection) -> Chains:
        with readable_text(db):
            return journal.sound_rows(db)

    return database.read(read)


_CHECKED_ROWS = 10_000
"""Journals up to this long are read and checked whenever their record is: a tenth of a second."""


class SqlStore:
    """Runs by digest, each with its journal and, once finished, its record."""

    def __init__(self, url: str, *, create: bool = True, read_only: bool = False) -> None:
        self._database = databases.open_database(url, create=create, read_only=read_only)
        self._read_only = read_only
        self.where = self._database.where
        self._journals: dict[str, SqlJournal] = {}
        self._insert = self._database.insert(RUNS).on_conflict_do_nothing()
        try:
            self._has_tables = self._database.has_store(create)
        except BaseException:
            self.close()
            raise

    exists = staticmethod(databases.store_exists)

    def close(self) -> None:
        """Close the file or the connections; reading leaves no files beside a store."""
        self._database.engine.dispose()
        if self._read_only and self._database.engine.dialect.name == "sqlite":
            databases.remove_empty_journal(self.where)

    def begin(
        self, digest: str, spec: StudySpec, source: Source | None, environment: dict[str, str]
    ) -> None:
        """Store the run's specification; an existing run is continued."""
        time = now()
        row = {
            "digest": digest,
            "spec": json_records.spec_to_json(spec),
            "source": json_records.source_to_json(source),
            "environment": json.dumps(environment),
            "started": time,
            "written": time,
            "seconds": 0.0,
            "rows": 0,
            "trials": 0,
        } | _NO_SEAL

        def write(db: sa.Connection) -> str:
            db.execute(self._insert, row)
            return str(db.execute(_SPEC_OF_RUN, {"run": digest}).scalar_one())

        there = self._database.write(write)
        if there == row["spec"]:
            return
        decisive, stored = json_records.decisive_json, None
        with suppress(StoreFailed):
            stored = decisive(json_records.spec_from_json(there))
        if stored == decisive(spec):
            return
        if not _is_named(spec, digest):
            raise StoreFailed(
                f"{self.where} holds another study under the name {digest[:12]}: "
                "use another store (store=, --store)"
            )
        # Damaged: the name is the digest of the study, and the chains of the journal begin with it.
        right = sa.update(RUNS).where(RUNS.c.digest == digest).values(spec=row["spec"])
        self._database.write(lambda db: db.execute(right))

    def journal(self, digest: str) -> SqlJournal:
        """The journal of one run."""
        return self._journals.setdefault(digest, SqlJournal(self._database, digest))

    def finished(self) -> list[Record]:
        """The records of all finished runs."""
        query = sa.select(RUNS).where(RUNS.c.record.is_not(None)).order_by(RUNS.c.id)
        rows = self._database.read(lambda db: db.execute(query).all())
        return [sealed_record(row, self.where) for row in rows]

    def specs(self, known: Mapping[str, StudySpec]) -> dict[str, StudySpec]:
        """What is studied by each run that has begun, by digest, the oldest first.

        What is `known` already is not read again.
        """
        query = sa.select(RUNS.c.digest, RUNS.c.spec).order_by(RUNS.c.started, RUNS.c.id)
        rows: list[Any] = self._database.read(lambda db: list(db.execute(query)))
        return {str(r.digest): known.get(r.digest) or _spec_of(r, self.where) for r in rows}

    def adopt(self, earlier: str, digest: str) -> None:
        """Take over the evidence of an earlier run, unless this one has evidence of its own."""
        self.journal(digest).adopt(self.journal(earlier))

    def finish(self, record: Record) -> Record:
        """Store the record; return it with the start and the seconds that the store measured."""
        journal = self.journal(record.digest)

        def write(db: sa.Connection) -> Record:
            # The heads first: they lock the run, so that nobody appends before its record is there.
            run, rows, heads = journal.heads(db)
            complete = replace(record, started=run.started, seconds=run.seconds)
            text, finished = json_records.record_to_json(complete), datetime.now(UTC).isoformat()
            values = {
                "run": record.digest,
                "record": text,
                "source": json_records.source_to_json(record.source),
                "finished": finished,
                "stopped": record.stopped_early,
                "sealed_rows": rows,
                "heads": heads,
                "seal": seal_of(text, finished, rows, heads),
            }
            db.execute(_CHANGE_RUN, values)
            return complete

        return self._database.write(write)

    def runs(self) -> list[RunSummary]:
        """All runs, the oldest first."""
        rows = self._run_rows()
        endings = self.listing().endings([row.id for row in rows if row.has_record])
        return [summary_of(row, self.where, endings.get(row.id)) for row in rows]

    def _run_rows(self) -> list[Any]:
        if not self._has_tables:
            return []
        columns = [c for c in RUNS.c if c.name not in ("record", "environment")]
        has_record = RUNS.c.record.is_not(None).label("has_record")
        query = sa.select(*columns, has_record).order_by(RUNS.c.started, RUNS.c.id)
        return self._database.read(lambda db: list(db.execute(query)))

    def listing(self) -> Listing:
        """What a list of runs shows, without reading journals and whole records."""
        return Listing(self._database, self._has_tables)

    def record(self, prefix: str = "") -> Record:
        """The finished run whose digest begins with `prefix`; the last to finish if it is empty."""
        if self._has_tables and (exact := self.stored(prefix)) is not None:
            return exact
        runs = [summary_of(row, self.where) for row in self._run_rows()]
        run = choose_run(runs, prefix, self.where)
        record = self.stored(run.digest)
        if record is None:
            raise StoreFailed(
                f"{self.where}: run {run.digest[:12]} has no record: run the same command again"
            )
        return record

    def stored(self, digest: str) -> Record | None:
        """The record of exactly this run, if it has finished; a short journal is checked too."""
        row = self._database.read(lambda db: db.execute(_RUN, {"run": digest}).one_or_none())
        if row is None or row.record is None:
            return None
        record = sealed_record(row, self.where)
        journal = SqlJournal(self._database, digest)
        self._database.read(journal.check_number)
        if row.sealed_rows <= _CHECKED_ROWS:
            journal.replay()
        return record

    def check(self) -> list[RunCheck]:
        """Read and check every run, the oldest first; then rows that belong to none."""
        database = self._database
        if not self._has_tables:
            return []
        runs = sa.select(RUNS.c.id, RUNS.c.digest).order_by(RUNS.c.id)
        ids = database.read(lambda db: list(db.execute(runs)))
        checks = [_check_run(database, number, str(digest)) for number, digest in ids]
        is_lost = JOURNAL.c.run.not_in(sa.select(RUNS.c.id))
        lost = sa.select(sa.func.count()).select_from(JOURNAL).where(is_lost)
        rows = int(database.read(lambda db: db.execute(lost).scalar_one()))
        if rows:
            problem = f"{rows} rows of the journal belong to no run"
            checks.append(RunCheck("", rows, 0, problem, readable=False))
        return checks

    def repair(self, prefix: str) -> RunCheck:
        """Keep of a damaged run the rows before the first damaged one, and no record.

        The same study goes on from them. A run whose own row cannot be read is removed with all of
        its rows. A sound run stays as it is.
        """
        database, query = self._database, sa.select(RUNS.c.digest, RUNS.c.id)
        numbers: dict[str, int] = {}
        if self._has_tables:
            rows = database.read(lambda db: db.execute(query).all())
            numbers = {str(row.digest): int(row.id) for row in rows}
        digest = choose_name(list(numbers), prefix, self.where)
        self._journals.pop(digest, None)
        number = numbers[digest]
        check = _check_run(database, number, digest)
        if not check.problem or self._restored_spec(number):
            return check
        sound = _sound(database, digest) if check.readable else Chains(digest)

        def write(db: sa.Connection) -> None:
            this_run = RUNS.c.id == number
            later = JOURNAL.c.run == number, JOURNAL.c.number >= sound.rows
            db.execute(sa.delete(JOURNAL).where(*later))
            if not check.readable:
                db.execute(sa.delete(RUNS).where(this_run))
                return
            counted = {"rows": sound.rows, "trials": sound.trials, "written": now()}
            values = _NO_SEAL | counted | {"record": None, "finished": None}
            db.execute(sa.update(RUNS).where(this_run).values(values))

        database.write(write)
        return check

    def _restored_spec(self, number: int) -> bool:
        """Whether the study of a run was put right from its record, and the run is sound then."""
        database, this_run = self._database, RUNS.c.id == number
        row = database.read(lambda db: db.execute(sa.select(RUNS).where(this_run)).one())
        spec = _named_spec(row, self.where)
        if spec is None:
            return False
        values = {"spec": json_records.spec_to_json(spec)}
        database.write(lambda db: db.execute(sa.update(RUNS).where(this_run).values(values)))
        return not _check_run(database, number, str(row.digest)).problem

    def take_over(self, values: dict[str, Any], rows: Sequence[Row]) -> RunCheck | None:
        """Keep a run of a damaged file, as far as it is sound; None where that is nothing.

        `values`: the columns of the run, perhaps without the record; `rows`: of its journal.
        """
        database, digest = self._database, str(values["digest"])
        if "record" not in values:
            values = values | _NO_SEAL | {"record": None, "finished": None}

        def write(db: sa.Connection) -> None:
            number = db.execute(sa.insert(RUNS).values(values).returning(RUNS.c.id)).scalar_one()
            if rows:
                new = [{"run": number, **dict(zip(COLUMNS, row, strict=True))} for row in rows]
                db.execute(sa.insert(JOURNAL), new)

        try:
            database.once(write)
            check = self.repair(digest)
        except StoreFailed:
            return None
        return check if check.readable or not check.problem else None
