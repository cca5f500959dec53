"""A store in an SQLite file, in WAL mode: one transaction for each batch."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from surefoot.errors import StoreFailed
from surefoot.store.json_records import (
    decisive_json,
    evidence_from_json,
    evidence_to_json,
    record_from_json,
    record_to_json,
    spec_from_json,
    spec_to_json,
)
from surefoot.store.locations import error_message, path_of
from surefoot.store.records import Record, Source
from surefoot.store.runs import RunSummary, choose_run
from surefoot.store.schema import JOURNAL, META, RUNS, SCHEMA, TABLES
from surefoot.store.spec import StudySpec
from surefoot.tasks import Entry, Task

_INSERT_ENTRIES = sa.insert(JOURNAL)
_LOCK_TIMEOUT_SECONDS = 30
"""How long to wait for another process that writes to the file."""
_LOCK_RETRY_SECONDS = 0.02
"""Between two attempts to create the tables."""

_STOPPED = '"stopped_early": true'
"""Field of a record as text. Inside a string the quotes would be escaped."""


class SqlStore:
    """Runs by digest, each with its journal and, once finished, its record."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        self.where = path_of(url)
        if not create and not self.where.is_file():
            raise StoreFailed(f"there is no store at {self.where}: check the path")
        if not self.where.parent.is_dir():
            raise StoreFailed(
                f"there is no folder {self.where.parent} for the store: create it first"
            )
        sealed = not create and not os.access(self.where.parent, os.W_OK)
        name = f"file:{quote(str(self.where))}?immutable=1" if sealed else str(self.where)
        self._engine = sa.create_engine(
            sa.URL.create("sqlite", database=name, query={"uri": "true"} if sealed else {}),
            connect_args={"timeout": _LOCK_TIMEOUT_SECONDS},
        )
        sa.event.listen(self._engine, "connect", _set_pragmas)
        with self._translated_errors():
            if create:
                self._create_when_unlocked()
            self._refuse_other_schemas()

    @staticmethod
    def exists(url: str) -> bool:
        """Whether the file exists."""
        return path_of(url).exists()

    def close(self) -> None:
        """Close the file."""
        self._engine.dispose()

    def begin(
        self, digest: str, spec: StudySpec, source: Source | None, environment: dict[str, str]
    ) -> None:
        """Store the run's specification; an existing run is continued."""
        row = {
            "digest": digest,
            "spec": spec_to_json(spec),
            "source": None if source is None else json.dumps(asdict(source)),
            "environment": json.dumps(environment),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": 0.0,
            "record": None,
            "finished": None,
        }
        with self._translated_errors(), self._engine.begin() as db:
            db.execute(insert(RUNS).values(row).on_conflict_do_nothing())
            there = db.execute(sa.select(RUNS.c.spec).where(RUNS.c.digest == digest)).one()
            same = there.spec == row["spec"]
            if not same and decisive_json(spec_from_json(there.spec)) != decisive_json(spec):
                raise StoreFailed(
                    f"{self.where} holds another study under the name {digest[:12]}: "
                    "use another store (store=, --store)"
                )

    def journal(self, digest: str) -> SqlJournal:
        """The journal of one run."""
        return SqlJournal(self, digest)

    def finished(self) -> list[Record]:
        """The records of all finished runs."""
        query = sa.select(RUNS.c.record).where(RUNS.c.record.is_not(None))
        with self._translated_errors(), self._engine.connect() as db:
            return [record_from_json(text) for text in db.execute(query).scalars()]

    def adopt(self, earlier: str, digest: str) -> None:
        """Take over the evidence of an earlier run, unless this one has evidence of its own."""
        columns = [column for column in JOURNAL.c if column.name not in ("id", "run")]
        copied = sa.select(sa.literal(digest), *columns).where(JOURNAL.c.run == earlier)
        with self._translated_errors(), self._engine.begin() as db:
            own = sa.select(JOURNAL.c.id).where(JOURNAL.c.run == digest).limit(1)
            if db.execute(own).first() is None:
                names = ["run", *(column.name for column in columns)]
                db.execute(sa.insert(JOURNAL).from_select(names, copied.order_by(JOURNAL.c.id)))

    def finish(self, record: Record) -> Record:
        """Store the record; return it with the start and the seconds that the store measured."""
        this_run = RUNS.c.digest == record.digest
        with self._translated_errors(), self._engine.connect() as db:
            row = db.execute(sa.select(RUNS.c.started, RUNS.c.seconds).where(this_run)).one()
        complete = replace(record, started=row.started, seconds=row.seconds)
        values = {"record": record_to_json(complete), "finished": datetime.now(UTC).isoformat()}
        with self._translated_errors(), self._engine.begin() as db:
            db.execute(sa.update(RUNS).where(this_run).values(values))
        return complete

    def runs(self) -> list[RunSummary]:
        """All runs, the oldest first."""
        trials = sa.func.coalesce(sa.func.sum(JOURNAL.c.stop - JOURNAL.c.start), 0)
        query = (
            sa.select(RUNS, trials.label("trials"))
            .outerjoin(JOURNAL, JOURNAL.c.run == RUNS.c.digest)
            .group_by(RUNS.c.digest)
            .order_by(RUNS.c.started)
        )
        with self._translated_errors(), self._engine.connect() as db:
            return [
                RunSummary(
                    r.digest,
                    spec_from_json(r.spec),
                    r.started,
                    r.record is not None,
                    int(r.trials),
                    r.finished or "",
                    None if r.source is None else Source(**json.loads(r.source)),
                    _STOPPED in (r.record or ""),
                )
                for r in db.execute(query)
            ]

    def record(self, prefix: str = "") -> Record:
        """The finished run whose digest begins with `prefix`; the last to finish if it is empty."""
        run = choose_run(self.runs(), prefix, str(self.where))
        record = self.stored(run.digest)
        if record is None:
            raise StoreFailed(f"{self.where}: run {run.digest[:12]} has no record")
        return record

    def stored(self, digest: str) -> Record | None:
        """The record of exactly this run, if it has finished."""
        query = sa.select(RUNS.c.record).where(RUNS.c.digest == digest)
        with self._translated_errors(), self._engine.connect() as db:
            text = db.execute(query).scalar()
        return None if text is None else record_from_json(text)

    def _create_when_unlocked(self) -> None:
        """Create the tables, waiting while another process changes the file to WAL mode.

        SQLite itself does not wait for that.
        """
        deadline = time.monotonic() + _LOCK_TIMEOUT_SECONDS
        while True:
            try:
                return self._create_tables()
            except DBAPIError as error:
                if "locked" not in str(error.orig) or time.monotonic() > deadline:
                    raise
                time.sleep(_LOCK_RETRY_SECONDS)

    def _create_tables(self) -> None:
        """Create the tables that are missing, in an empty file or in a store of surefoot."""
        self._refuse_other_databases()
        with self._engine.connect() as db:
            db.exec_driver_sql("PRAGMA journal_mode=WAL")
        with self._engine.begin() as db:
            for table in TABLES.sorted_tables:
                db.execute(sa.schema.CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    db.execute(sa.schema.CreateIndex(index, if_not_exists=True))
            version = {"name": "schema", "value": str(SCHEMA)}
            db.execute(insert(META).values(version).on_conflict_do_nothing())

    def _refuse_other_databases(self) -> list[str]:
        names = sa.inspect(self._engine).get_table_names()
        if names and META.name not in names:
            raise StoreFailed(
                f"{self.where} is a database of another program (it holds {names[0]}): "
                "use another store (store=, --store)"
            )
        return names

    def _refuse_other_schemas(self) -> None:
        """Refuse a store of another schema."""
        if not self._refuse_other_databases():
            raise StoreFailed(f"{self.where} is an empty database, not a store: check the path")
        with self._engine.connect() as db:
            schema = db.execute(sa.select(META.c.value).where(META.c.name == "schema")).scalar()
            if schema != str(SCHEMA):
                raise StoreFailed(
                    f"{self.where} was written by another version of surefoot (schema {schema}, "
                    f"this one reads {SCHEMA}): use another store (store=, --store), or that "
                    "version"
                )

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Turn database errors into one sentence with the way out."""
        try:
            yield
        except DBAPIError as error:
            raise StoreFailed(error_message(self.where, str(error.orig))) from error
        except SQLAlchemyError as error:
            raise StoreFailed(f"{self.where}: {error}") from error


class SqlJournal:
    """The journal of one run."""

    def __init__(self, store: SqlStore, digest: str) -> None:
        self._store, self._digest = store, digest
        self._since = time.monotonic()
        self._spend = (
            sa.update(RUNS)
            .where(RUNS.c.digest == digest)
            .values(seconds=RUNS.c.seconds + sa.bindparam("spent"))
        )

    def append(self, answers: Sequence[tuple[Task, Any]]) -> None:
        """Record one batch and the time it took, in one transaction."""
        rows = [
            {
                "run": self._digest,
                "subject": task.subject.name,
                "level": task.level,
                "start": task.start,
                "stop": task.stop,
                "evidence": evidence_to_json(evidence),
            }
            for task, evidence in answers
        ]
        now = time.monotonic()
        spent, self._since = now - self._since, now
        with self._store._translated_errors(), self._store._engine.begin() as db:
            db.execute(_INSERT_ENTRIES, rows)
            db.execute(self._spend, {"spent": spent})

    def replay(self) -> dict[str, list[Entry]]:
        """Everything recorded for this run, by subject."""
        entries: dict[str, list[Entry]] = defaultdict(list)
        query = sa.select(JOURNAL).where(JOURNAL.c.run == self._digest).order_by(JOURNAL.c.id)
        with self._store._translated_errors(), self._store._engine.connect() as db:
            for row in db.execute(query):
                evidence = evidence_from_json(row.evidence)
                entries[row.subject].append(Entry(row.level, row.start, row.stop, evidence))
        return dict(entries)


def _set_pragmas(connection: Any, _: object) -> None:  # noqa: ANN401
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
