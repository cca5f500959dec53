"""An open SQLite or PostgreSQL database: transactions, schema, errors in one sentence."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from surefoot.errors import InvalidArgument, StoreDamaged, StoreFailed, needing
from surefoot.store import locations

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

T = TypeVar("T")
TableRow = sa.Row[Any]
"""A row of a query; its columns are attributes."""
Query = sa.Select[Any]
_ERRORS = (SQLAlchemyError, UnicodeDecodeError)
"""The second comes from the driver of SQLite where a file is damaged."""
_Connect = Callable[[], AbstractContextManager[sa.Connection]]


class Database:
    """An engine, its place without a password, its tables, and what its errors mean.

    `describe` turns the database's own message, of one line or more, into a sentence. `delays`:
    seconds to wait before each new attempt after a lost connection; without them there is none.
    `check_place` raises where the database is no longer in its place, as a file that was removed.
    """

    def __init__(
        self,
        engine: sa.Engine,
        where: str,
        describe: Callable[[str], str],
        delays: tuple[float, ...] = (),
        check_place: Callable[[], None] = lambda: None,
    ) -> None:
        self.engine, self.where = engine, where
        self._describe, self._delays, self._check_place = describe, delays, check_place
        logger = engine.pool.logger
        if isinstance(logger, logging.Logger):
            logger.addFilter(_is_no_stop)

    def write(self, work: Callable[[sa.Connection], T]) -> T:
        """Do the work in one transaction; again from its start if the connection is lost.

        The work must notice what an earlier attempt has already written: its transaction may have
        been committed although no answer came.
        """
        result = self._repeat(work, self.engine.begin)
        self._check_place()
        return result

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Do the work, which changes nothing."""
        return self._repeat(work, self.engine.connect)

    def once(self, work: Callable[[sa.Connection], T]) -> T:
        """Do the work in one transaction; a lost connection is an error."""
        with self.sentences(), self.engine.begin() as db:
            return work(db)

    @contextmanager
    def sentences(self) -> Iterator[None]:
        """Turn errors of the database into one sentence with the way out."""
        try:
            yield
        except _ERRORS as error:
            raise StoreFailed(self._words(error)) from error

    def has_store(self, create: bool) -> bool:
        """Whether the tables of a store are there; with `create` they are made.

        Refused: a database of another program, and a store of another schema. An empty PostgreSQL
        database was created for a store, which has no runs yet; an empty file is more likely
        another one than the user meant.
        """
        names, schema, other = self.once(self._tables)
        if not names and not create and self.engine.dialect.name == "postgresql":
            return False
        if names and META.name not in names:
            raise StoreFailed(
                f"{self.where} is a database of another program (it holds {names[0]}): "
                "use another store (store=, --store)"
            )
        if other:
            raise StoreFailed(
                f"{self.where} holds {other}, and no store has one, as it may change what is read "
                "or written: save its runs into a new file (surefoot show --repair)"
            )
        if schema is None and not create:
            raise StoreFailed(f"{self.where} is an empty database, not a store: check the path")
        if schema is not None and schema != str(SCHEMA):
            raise StoreFailed(
                f"{self.where} was written by another version of surefoot (schema {schema:.20}, "
                f"this one reads {SCHEMA}): use another store (store=, --store), or that version"
            )
        if create and (schema is None or not set(names) >= set(TABLES.tables)):
            with self.sentences():
                self._create()
        return True

    @staticmethod
    def _tables(db: sa.Connection) -> tuple[list[str], str | None, str]:
        """The names of all tables, the number of the schema, and what else SQLite would run."""
        names, schema, other = sa.inspect(db).get_table_names(), None, None
        if META.name in names:
            schema = db.execute(sa.select(META.c.value).where(META.c.name == "schema")).scalar()
        if db.dialect.name == "sqlite":
            other = db.exec_driver_sql(OTHER_CODE).fetchone()
        found = "" if other is None else f"a {other[0]} ({other[1]})"
        return names, None if schema is None else str(schema), found

    def _create(self) -> None:
        """Create the tables that are missing, one process at a time.

        SQLite itself does not wait for another process that changes the file to WAL mode.
        """
        deadline = time.monotonic() + _LOCK_TIMEOUT_SECONDS
        lock = sa.select(sa.func.pg_advisory_xact_lock(_CREATION_LOCK))
        version = {"name": "schema", "value": str(SCHEMA)}
        while True:
            try:
                if self.engine.dialect.name == "sqlite":
                    with self.engine.connect() as db:
                        db.exec_driver_sql("PRAGMA journal_mode=WAL")
                with self.engine.begin() as db:
                    if self.engine.dialect.name == "postgresql":
                        db.execute(lock)
                    for table in TABLES.sorted_tables:
                        db.execute(sa.schema.CreateTable(table, if_not_exists=True))
                    db.execute(self.insert(META).values(version).on_conflict_do_nothing())
                    return
            except DBAPIError as error:
                if "locked" not in str(error.orig) or time.monotonic() > deadline:
                    raise
                time.sleep(_LOCK_RETRY_SECONDS)

    @property
    def insert(self) -> Callable[[sa.Table], sqlite.Insert | postgresql.Insert]:
        """Inserts that can leave out what is there already, as each of the two writes it."""
        if self.engine.dialect.name == "sqlite":
            return sqlite.insert
        from sqlalchemy.dialects import postgresql

        return postgresql.insert

    def _repeat(self, work: Callable[[sa.Connection], T], connect: _Connect) -> T:
        for delay in (*self._delays, None):
            try:
                with connect() as db:
                    return work(db)
            except _ERRORS as error:
                lost = bool(self._delays) and _is_lost(error)
                if not lost:
                    self._check_place()
                    raise StoreFailed(self._words(error)) from error
                if delay is None:
                    raise StoreFailed(
                        f"{self._words(error)}; {len(self._delays)} new attempts in "
                        f"{sum(self._delays):g} s failed: run the same command again, which goes "
                        "on; what was stored stays"
                    ) from error
                self.engine.dispose()  # the other connections of the pool are lost as well
                sleep(delay)
        raise AssertionError  # the last attempt returned or raised

    def _words(self, error: Exception) -> str:
        text = str(error.orig) if isinstance(error, DBAPIError) else str(error)
        return self._describe(text.strip())


def _is_lost(error: Exception) -> bool:
    """Whether there is no connection, or no longer one."""
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    connecting = error.statement is None and isinstance(error, sa.exc.OperationalError)
    return connecting or (isinstance(state, str) and state.startswith(("08", "57P")))


def _is_no_stop(record: logging.LogRecord) -> bool:
    """Whether to log this: not that a run was stopped while a connection was given back.

    The exception is raised again where the run can end; SQLAlchemy would print its traceback, or
    that of a connection which cannot be given back while its statement runs.
    """
    error = record.exc_info[1] if record.exc_info else None
    while isinstance(error, Exception):
        error = error.__context__
    return error is None


SCHEMA = 7
TABLES = sa.MetaData()
META = sa.Table(
    "surefoot_meta",
    TABLES,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("value", sa.String, nullable=False),
)
RUNS = sa.Table(
    "surefoot_runs",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.String, nullable=False, unique=True),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("source", sa.Text),
    sa.Column("environment", sa.Text, nullable=False),
    sa.Column("started", sa.String, nullable=False),
    sa.Column("written", sa.String, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("trials", sa.BigInteger, nullable=False),
    sa.Column("record", sa.Text),
    sa.Column("finished", sa.String),
    sa.Column("stopped", sa.Boolean, nullable=False),
    sa.Column("sealed_rows", sa.BigInteger, nullable=False),
    sa.Column("heads", sa.String, nullable=False),
    sa.Column("seal", sa.String, nullable=False),
)
"""`rows` and `trials`: of its journal. `written`: the last write. The last three columns belong to
the record: the rows it was made from, the digest of their chains, and that of all together."""
JOURNAL = sa.Table(
    "surefoot_journal",
    TABLES,
    sa.Column("run", sa.ForeignKey("surefoot_runs.id"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("subject", sa.String, nullable=False),
    sa.Column("level", sa.Double, nullable=False),
    sa.Column("start", sa.BigInteger, nullable=False),
    sa.Column("stop", sa.BigInteger, nullable=False),
    sa.Column("evidence", sa.Text, nullable=False),
    sa.Column("checksum", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""`number` counts the rows of a run from 0; `checksum` chains those of one input."""


OTHER_CODE = "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"
"""What SQLite runs when a table is read or written: a store has none."""
_LOCK_TIMEOUT_SECONDS = 30
"""How long to wait for another process that writes to the file."""
_READ_TIMEOUT_SECONDS = 2
"""The same where it is only read: a reader waits for a page, and can load it again."""
_LOCK_RETRY_SECONDS = 0.02
"""Between two attempts to create the tables."""
_SCHEMA_BYTES = 2**16
"""From the start of a file: SQLite keeps the names of its tables there."""
_SHOWN = 3
"""Stores that a refusal names."""
_OTHER = "use another store (store=, --store)"
_SENTENCES = (
    (
        ("full", "disk i/o"),
        ": the disk is full or cannot be written",
        "free some space and run the same command again; what was stored stays",
    ),
    (
        ("malformed",),
        " is damaged",
        f"restore it from a copy, save what can be read (surefoot show --repair), or {_OTHER}",
    ),
    (("not a database",), " is not a surefoot store", _OTHER),
    (("locked",), " is in use by another process", f"wait for it, or {_OTHER}"),
    (
        ("readonly", "unable to open"),
        " cannot be written",
        f"check its permissions, or {_OTHER}",
    ),
)
"""Parts of a message of SQLite, what is wrong then, and the way out; the first that fits."""


def stores_beside(url: str) -> str:
    """The stores in the folder of a file that is not there, as the end of a sentence."""
    names = []
    with suppress(OSError):
        for file in sorted(locations.path_of(url).parent.glob("*.db")):
            if file.is_file():  # to open a pipe would wait for ever
                with suppress(OSError), file.open("rb") as opened:
                    if RUNS.name.encode() in opened.read(_SCHEMA_BYTES):
                        names.append(file.name)
    more = ", …" if len(names) > _SHOWN else ""
    return f"; in this folder there is {', '.join(names[:_SHOWN])}{more}" if names else ""


def open_file(url: str, create: bool, read_only: bool) -> Database:
    """The database in this file; without `create` the file must exist.

    In a folder that cannot be written it is only read: a finished run can still be shown.
    `read_only`: SQLite itself refuses every write.
    """
    where = locations.path_of(url)
    if not create and not where.is_file():
        raise StoreFailed(f"there is no store at {where}: check the path{stores_beside(url)}")
    if where.exists() and not where.is_file():
        raise StoreFailed(f"{where} is no plain file: name another store (--store)")
    if not where.parent.is_dir():
        raise StoreFailed(f"there is no folder {where.parent} for the store: create it first")
    how = "immutable=1" if locations.is_sealed(url) else "mode=ro" if read_only else ""
    name = f"file:{quote(str(where.absolute()))}?{how}" if how else str(where)
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=name, query={"uri": "true"} if how else {}),
        connect_args={"timeout": _READ_TIMEOUT_SECONDS if read_only else _LOCK_TIMEOUT_SECONDS},
    )
    opened = (0, 0)  # the file that the first connection opens

    def present() -> tuple[int, int]:
        try:
            status = where.stat()
        except OSError:
            return -1, -1
        return status.st_dev, status.st_ino

    def on_connect(connection: sqlite3.Connection, *_: object) -> None:
        nonlocal opened
        connection.execute("PRAGMA synchronous=NORMAL").close()
        connection.execute("PRAGMA foreign_keys=ON").close()
        opened = present() if opened == (0, 0) else opened

    def check_place() -> None:
        """One that is removed or replaced can still be written to, and nobody sees it."""
        if present() != opened:
            raise StoreFailed(
                f"{where} was removed or replaced while this run wrote to it, and what it "
                "measured is not in the store: run the same command again, and leave the file"
            )

    sa.event.listen(engine, "connect", on_connect)
    return Database(
        engine, str(where), lambda message: _sentence(where, message), check_place=check_place
    )


def remove_empty_journal(where: str) -> None:
    """Have SQLite remove the two files that reading leaves beside a store.

    The last connection to close removes them, unless it may only read. What a run wrote and SQLite
    has not yet put into the store is left alone.
    """
    with suppress(OSError, sqlite3.Error, UnicodeDecodeError):  # that: a damaged schema
        if Path(f"{where}-wal").stat().st_size == 0:
            with closing(sqlite3.connect(where, timeout=0)) as db:
                db.execute("SELECT count(*) FROM sqlite_master").close()


@contextmanager
def readable_text(db: sa.Connection) -> Iterator[None]:
    """Text that is no UTF-8 is read with a mark in its place, which no checksum matches."""
    connection = db.connection.driver_connection
    if not isinstance(connection, sqlite3.Connection):
        yield
        return
    connection.text_factory = lambda content: content.decode(errors="replace")
    try:
        yield
    finally:
        connection.text_factory = str


def _sentence(where: Path, message: str) -> str:
    """The database's message about the file, with the way out."""
    message = " ".join(message.split())
    text = message.lower()
    if "could not decode" in text or "can't decode" in text:
        return str(StoreDamaged(str(where), f"a text in it is damaged ({message})"))
    for parts, problem, way_out in _SENTENCES:
        if any(part in text for part in parts):
            return f"{where}{problem} ({message}): {way_out}"
    return f"{where}: {message}"


RECONNECT_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Before each new attempt after a lost connection: a server that restarts is back in a few
seconds."""
_CONNECT_SECONDS = 10
"""For one attempt, where neither the URL nor the environment says otherwise: libpq alone would
wait for minutes on a host that drops packets."""
_CREATION_LOCK = 0x5F007
"""Number of the advisory lock under which the tables are created: any that others do not use."""
_WAYS_OUT = {
    "no password supplied": "set PGPASSWORD, or add the server to ~/.pgpass",
    "password authentication failed": "check the user, and PGPASSWORD or ~/.pgpass",
    "permission denied": "the user must be allowed to create and change tables in this database",
    "does not exist": "check the name, or create it first (createdb, createuser)",
    "read-only": "connect to the server that takes writes",
    "no space left": "free some space and run the same command again; what was stored stays",
    "connection": "check the address, and that the server is running",
}
"""Part of a message of the server to what one can do about it; the first that fits."""


def open_postgres(url: str, delays: tuple[float, ...], read_only: bool) -> Database:
    """The database at this URL; nothing is connected yet.

    `read_only`: the server itself refuses every write.
    """
    with needing("a store in PostgreSQL needs psycopg: pip install 'surefoot[postgres]'"):
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    try:
        options: dict[str, str | int] = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        # what libpq says before it quotes a part of the URL
        reason = " ".join(str(error).partition('"')[0].split()).rstrip(":")
        raise InvalidArgument(
            "a PostgreSQL store must be postgresql://user@host:port/database, and libpq cannot "
            f"read what was given ({reason}); it is not shown, since it may hold a "
            "password: correct it"
        ) from None
    options.setdefault("fallback_application_name", "surefoot")
    if "PGCONNECT_TIMEOUT" not in os.environ:
        options.setdefault("connect_timeout", _CONNECT_SECONDS)

    def connect() -> psycopg.Connection:
        connection = psycopg.connect(**options)
        connection.read_only = read_only or None
        return connection

    engine = sa.create_engine(
        "postgresql+psycopg://",
        creator=connect,
        isolation_level="READ COMMITTED",
        hide_parameters=True,
    )
    where = locations.public_location(url)

    def describe(message: str) -> str:
        message = locations.without_passwords(message, url)
        lower, problem = message.lower(), " ".join((message.splitlines() or [""])[0].split())
        way_out = next((way for part, way in _WAYS_OUT.items() if part in lower), "")
        return f"{where}: {problem}" + (f": {way_out}" if way_out else "")

    return Database(engine, where, describe, delays)


def open_database(url: str, *, create: bool = False, read_only: bool = False) -> Database:
    """The file or the server at this URL; who only reads does not wait for a lost connection."""
    if locations.scheme_of(url) not in locations.POSTGRES:
        return open_file(url, create, read_only)
    return open_postgres(url, () if read_only else RECONNECT_SECONDS, read_only)


def store_exists(url: str) -> bool:
    """Whether the file exists, or the database holds a store."""
    if locations.scheme_of(url) not in locations.POSTGRES:
        return locations.path_of(url).exists()
    database = open_database(url)
    try:
        return database.once(lambda db: META.name in sa.inspect(db).get_table_names())
    finally:
        database.engine.dispose()
