"""A store in an SQL database: an SQLite file, or PostgreSQL for several machines at once."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from surefoot.errors import StoreDamaged, StoreFailed
from surefoot.records import json_records
from surefoot.records.record import Record, Source
from surefoot.records.spec import StudySpec
from surefoot.store import database as databases
from surefoot.store.chains import Chains, seal_of
from surefoot.store.database import JOURNAL, RUNS, Database, TableRow, readable_text
from surefoot.store.runs import RunCheck, RunEnding, RunSummary, choose_name, choose_run
from surefoot.store.sql_journal import SqlJournal, now
from surefoot.store.sql_listing import Listing


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
    try:
        spec = json_records.spec_from_json(row.spec)
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
        summary_of(row, database.where)
    except StoreFailed as error:
        return RunCheck(digest, 0, 0, getattr(error, "problem", str(error)), readable=False)
    try:
        SqlJournal(database, digest).replay()
        if row.record is not None:
            sealed_record(row, database.where)
    except StoreFailed as error:
        # the way out, which an error says as well, is said once for all runs
        problem: str = getattr(error, "problem", str(error))
        return RunCheck(digest, int(row.rows), _sound(database, digest).rows, problem)
    return RunCheck(digest, int(row.rows), int(row.rows))


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
            db.execute(self._database.insert(RUNS).values(row).on_conflict_do_nothing())
            query = sa.select(RUNS.c.spec).where(RUNS.c.digest == digest)
            return str(db.execute(query).scalar_one())

        there = self._database.write(write)
        decisive = json_records.decisive_json
        if there != row["spec"] and decisive(json_records.spec_from_json(there)) != decisive(spec):
            raise StoreFailed(
                f"{self.where} holds another study under the name {digest[:12]}: "
                "use another store (store=, --store)"
            )

    def journal(self, digest: str) -> SqlJournal:
        """The journal of one run."""
        return self._journals.setdefault(digest, SqlJournal(self._database, digest))

    def finished(self) -> list[Record]:
        """The records of all finished runs."""
        query = sa.select(RUNS).where(RUNS.c.record.is_not(None)).order_by(RUNS.c.id)
        rows = self._database.read(lambda db: db.execute(query).all())
        return [sealed_record(row, self.where) for row in rows]

    def adopt(self, earlier: str, digest: str) -> None:
        """Take over the evidence of an earlier run, unless this one has evidence of its own."""
        self.journal(digest).adopt(self.journal(earlier))

    def finish(self, record: Record) -> Record:
        """Store the record; return it with the start and the seconds that the store measured."""
        journal, this_run = self.journal(record.digest), RUNS.c.digest == record.digest

        def write(db: sa.Connection) -> Record:
            # The heads first: they lock the run, so that nobody appends before its record is there.
            rows, heads = journal.heads(db)
            row = db.execute(sa.select(RUNS.c.started, RUNS.c.seconds).where(this_run)).one()
            complete = replace(record, started=row.started, seconds=row.seconds)
            text, finished = json_records.record_to_json(complete), datetime.now(UTC).isoformat()
            values = {
                "record": text,
                "source": json_records.source_to_json(record.source),
                "finished": finished,
                "stopped": record.stopped_early,
                "sealed_rows": rows,
                "heads": heads,
                "seal": seal_of(text, finished, rows, heads),
            }
            db.execute(sa.update(RUNS).where(this_run).values(values))
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
        query = sa.select(RUNS).where(RUNS.c.digest == digest)
        row = self._database.read(lambda db: db.execute(query).one_or_none())
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
        if database.engine.dialect.name == "sqlite":  # PostgreSQL checks its own pages
            pragma = "PRAGMA integrity_check(1)"
            found = database.read(lambda db: str(db.exec_driver_sql(pragma).scalar()))
            answer = " ".join(found.split())
            if answer != "ok":
                raise StoreFailed(
                    f"{self.where}: the file is damaged ({answer}): restore it from a copy, or use "
                    "another store (store=, --store)"
                )
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
        if not check.problem:
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
