"""Is a store sound? Every run of it is read and checked; a damaged one keeps its sound rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from surefoot.errors import StoreDamaged, StoreFailed
from surefoot.store.chains import Chains
from surefoot.store.database import Database
from surefoot.store.runs import RunCheck
from surefoot.store.schema import JOURNAL, RUNS
from surefoot.store.sql_journal import SqlJournal, now
from surefoot.store.sql_runs import sealed_record, summary_of
from surefoot.store.sqlite_file import readable_text

_NO_RECORD: dict[str, Any] = {
    "record": None,
    "finished": None,
    "stopped": False,
    "sealed_rows": 0,
    "heads": "",
    "seal": "",
}
"""The columns of a run that is not finished."""


def check_file(database: Database) -> None:
    """Refuse an SQLite file whose pages do not fit together; PostgreSQL checks its own."""
    if database.engine.dialect.name != "sqlite":
        return

    def integrity(db: sa.Connection) -> str:
        return str(db.exec_driver_sql("PRAGMA integrity_check(1)").scalar())

    answer = " ".join(database.read(integrity).split())
    if answer != "ok":
        raise StoreFailed(
            f"{database.where}: the file is damaged ({answer}): restore it from a copy, or use "
            "another store (store=, --store)"
        )


def check_runs(database: Database) -> Iterator[RunCheck]:
    """Every run, the oldest first; then rows that belong to none."""
    query = sa.select(RUNS.c.id, RUNS.c.digest).order_by(RUNS.c.id)
    for number, digest in database.read(lambda db: list(db.execute(query))):
        yield _check_run(database, number, str(digest))
    lost = (
        sa.select(sa.func.count())
        .select_from(JOURNAL)
        .where(JOURNAL.c.run.not_in(sa.select(RUNS.c.id)))
    )
    rows = int(database.read(lambda db: db.execute(lost).scalar_one()))
    if rows:
        yield RunCheck("", rows, 0, f"{rows} rows of the journal belong to no run", readable=False)


def cut_run(database: Database, digest: str) -> RunCheck:
    """Keep the rows before the first damaged one, and no record: the same study goes on from them.

    A run whose own row cannot be read is removed with all of its rows. A sound run stays as it is.
    """
    query = sa.select(RUNS.c.id).where(RUNS.c.digest == digest)
    number = int(database.read(lambda db: db.execute(query).scalar_one()))
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
        db.execute(sa.update(RUNS).where(this_run).values(_NO_RECORD | counted))

    database.write(write)
    return check


def _check_run(database: Database, number: int, digest: str) -> RunCheck:
    """One run: its own row, every row of its journal, and its record."""
    query = sa.select(RUNS, RUNS.c.record.is_not(None).label("has_record"))
    row = database.read(lambda db: db.execute(query.where(RUNS.c.id == number)).one())
    try:
        summary_of(row, database.where)
    except StoreFailed as error:
        return RunCheck(digest, 0, 0, _problem(error), readable=False)
    try:
        SqlJournal(database, digest).replay()
        if row.record is not None:
            sealed_record(row, database.where)
    except StoreFailed as error:
        return RunCheck(digest, int(row.rows), _sound(database, digest).rows, _problem(error))
    return RunCheck(digest, int(row.rows), int(row.rows))


def _sound(database: Database, digest: str) -> Chains:
    """The chains of the rows before the first damaged one."""
    journal = SqlJournal(database, digest)

    def read(db: sa.Connection) -> Chains:
        with readable_text(db):
            return journal.sound_rows(db)

    return database.read(read)


def _problem(error: StoreFailed) -> str:
    """What is wrong; the way out is said once for all runs."""
    return error.problem if isinstance(error, StoreDamaged) else str(error)
