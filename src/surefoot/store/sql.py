"""A store in an SQL database: an SQLite file, or PostgreSQL for several machines at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from surefoot.errors import StoreFailed
from surefoot.records.json_records import (
    decisive_json,
    record_to_json,
    source_to_json,
    spec_from_json,
    spec_to_json,
)
from surefoot.records.record import Record, Source
from surefoot.records.spec import StudySpec
from surefoot.store.chains import seal_of
from surefoot.store.database import Database
from surefoot.store.locations import POSTGRES, path_of, scheme_of
from surefoot.store.postgres import lock_creation, open_postgres
from surefoot.store.runs import RunCheck, RunSummary, choose_name, choose_run
from surefoot.store.schema import META, RUNS, SCHEMA, TABLES
from surefoot.store.sql_check import check_file, check_runs, cut_run
from surefoot.store.sql_journal import SqlJournal, now
from surefoot.store.sql_listing import Listing
from surefoot.store.sql_runs import sealed_record, summary_of
from surefoot.store.sqlite_file import create_when_unlocked, open_file

_INSERT: dict[str, Callable[..., Any]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
_CHECKED_ROWS = 10_000
"""Journals up to this long are read and checked whenever their record is: a tenth of a second."""


class SqlStore:
    """Runs by digest, each with its journal and, once finished, its record."""

    def __init__(self, url: str, *, create: bool = True, read_only: bool = False) -> None:
        self._database = _database(url, create, read_only)
        self.where = self._database.where
        self._insert = _INSERT[self._database.engine.dialect.name]
        self._journals: dict[str, SqlJournal] = {}
        self._has_tables = True
        try:
            self._database.once(lambda db: self._refuse_others(db, create))
            if create:
                self._create_tables()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def exists(url: str) -> bool:
        """Whether the file exists, or the database holds a store."""
        if scheme_of(url) not in POSTGRES:
            return path_of(url).exists()
        database = open_postgres(url)
        try:
            return database.once(lambda db: META.name in sa.inspect(db).get_table_names())
        finally:
            database.engine.dispose()

    def close(self) -> None:
        """Close the file or the connections."""
        self._database.engine.dispose()

    def begin(
        self, digest: str, spec: StudySpec, source: Source | None, environment: dict[str, str]
    ) -> None:
        """Store the run's specification; an existing run is continued."""
        time = now()
        row = {
            "digest": digest,
            "spec": spec_to_json(spec),
            "source": source_to_json(source),
            "environment": json.dumps(environment),
            "started": time,
            "written": time,
            "seconds": 0.0,
            "stopped": False,
            "heads": "",
            "seal": "",
        } | dict.fromkeys(("rows", "trials", "sealed_rows"), 0)

        def write(db: sa.Connection) -> str:
            db.execute(self._insert(RUNS).values(row).on_conflict_do_nothing())
            query = sa.select(RUNS.c.spec).where(RUNS.c.digest == digest)
            return str(db.execute(query).scalar_one())

        there = self._database.write(write)
        same = there == row["spec"]
        if not same and decisive_json(spec_from_json(there)) != decisive_json(spec):
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
            rows, heads = journal.heads(db)
            row = db.execute(sa.select(RUNS.c.started, RUNS.c.seconds).where(this_run)).one()
            complete = replace(record, started=row.started, seconds=row.seconds)
            text, finished = record_to_json(complete), datetime.now(UTC).isoformat()
            values = {
                "record": text,
                "source": source_to_json(record.source),
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
        if not self._has_tables:
            return []
        columns = [c for c in RUNS.c if c.name not in ("record", "environment")]
        has_record = RUNS.c.record.is_not(None).label("has_record")
        query = sa.select(*columns, has_record).order_by(RUNS.c.started, RUNS.c.id)
        rows: list[Any] = self._database.read(lambda db: list(db.execute(query)))
        return [summary_of(row, self.where) for row in rows]

    def listing(self) -> Listing:
        """What a list of runs shows, without reading journals and whole records."""
        return Listing(self._database, self._has_tables)

    def record(self, prefix: str = "") -> Record:
        """The finished run whose digest begins with `prefix`; the last to finish if it is empty."""
        run = choose_run(self.runs(), prefix, self.where)
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
        """Read and check every run: what is sound, and what is wrong."""
        check_file(self._database)
        return list(check_runs(self._database)) if self._has_tables else []

    def repair(self, prefix: str) -> RunCheck:
        """Keep of a damaged run the rows before the first damaged one, and no record."""
        names = sa.select(RUNS.c.digest)
        digests: list[str] = []
        if self._has_tables:
            digests = self._database.read(lambda db: [str(n) for n in db.execute(names).scalars()])
        digest = choose_name(digests, prefix, self.where)
        self._journals.pop(digest, None)
        return cut_run(self._database, digest)

    def _create_tables(self) -> None:
        """Create the tables that are missing, in an empty database or in a store of surefoot."""
        engine = self._database.engine

        def is_whole(db: sa.Connection) -> bool:
            names = set(sa.inspect(db).get_table_names())
            return names >= set(TABLES.tables) and self._schema(db) is not None

        def create(db: sa.Connection) -> None:
            if engine.dialect.name == "postgresql":
                lock_creation(db)
            for table in TABLES.sorted_tables:
                db.execute(sa.schema.CreateTable(table, if_not_exists=True))
            version = {"name": "schema", "value": str(SCHEMA)}
            db.execute(self._insert(META).values(version).on_conflict_do_nothing())

        if self._database.once(is_whole):
            return
        if engine.dialect.name == "sqlite":
            with self._database.sentences():
                create_when_unlocked(engine, create)
        else:
            self._database.once(create)

    def _refuse_others(self, db: sa.Connection, create: bool) -> None:
        """Refuse a database of another program, and a store of another schema.

        An empty PostgreSQL database was created for a store, which has no runs yet; an empty file
        is more likely another one than the user meant.
        """
        names = sa.inspect(db).get_table_names()
        if not names and not create and db.dialect.name == "postgresql":
            self._has_tables = False
            return
        if names and META.name not in names:
            raise StoreFailed(
                f"{self.where} is a database of another program (it holds {names[0]}): "
                "use another store (store=, --store)"
            )
        schema = self._schema(db) if names else None
        if schema is None and not create:
            raise StoreFailed(f"{self.where} is an empty database, not a store: check the path")
        if schema is not None and schema != str(SCHEMA):
            raise StoreFailed(
                f"{self.where} was written by another version of surefoot (schema {schema:.20}, "
                f"this one reads {SCHEMA}): use another store (store=, --store), or that version"
            )

    @staticmethod
    def _schema(db: sa.Connection) -> str | None:
        query = sa.select(META.c.value).where(META.c.name == "schema")
        schema = db.execute(query).scalar()
        return None if schema is None else str(schema)


def _database(url: str, create: bool, read_only: bool) -> Database:
    if scheme_of(url) in POSTGRES:
        return open_postgres(url, () if read_only else None, read_only)
    return open_file(url, create, read_only)
