"""A store in an SQLite file, in WAL mode."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from surefoot.errors import StoreDamaged, StoreFailed
from surefoot.store.database import Database
from surefoot.store.locations import is_sealed, path_of
from surefoot.store.schema import RUNS

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
    (("malformed",), " is damaged", f"restore it from a copy, or {_OTHER}"),
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
        for file in sorted(path_of(url).parent.glob("*.db")):
            with suppress(OSError), file.open("rb") as opened:
                if RUNS.name.encode() in opened.read(_SCHEMA_BYTES):
                    names.append(file.name)
    more = ", …" if len(names) > _SHOWN else ""
    return f"; in this folder there is {', '.join(names[:_SHOWN])}{more}" if names else ""


def open_file(url: str, create: bool, read_only: bool = False) -> Database:
    """The database in this file; without `create` the file must exist.

    In a folder that cannot be written it is only read: a finished run can still be shown.
    `read_only`: SQLite itself refuses every write.
    """
    where = path_of(url)
    if not create and not where.is_file():
        beside = "" if read_only else stores_beside(url)  # readers of a dashboard need no names
        raise StoreFailed(f"there is no store at {where}: check the path{beside}")
    if where.exists() and not where.is_file():
        raise StoreFailed(f"{where} is no plain file: name another store (--store)")
    if not where.parent.is_dir():
        raise StoreFailed(f"there is no folder {where.parent} for the store: create it first")
    how = "immutable=1" if is_sealed(url) else "mode=ro" if read_only else ""
    name = f"file:{quote(str(where.absolute()))}?{how}" if how else str(where)
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=name, query={"uri": "true"} if how else {}),
        connect_args={"timeout": _READ_TIMEOUT_SECONDS if read_only else _LOCK_TIMEOUT_SECONDS},
    )
    place = _Place(where)
    sa.event.listen(engine, "connect", _set_pragmas)
    sa.event.listen(engine, "connect", lambda *_: place.remember())
    return Database(
        engine, str(where), lambda message: _sentence(where, message), check_place=place.check
    )


class _Place:
    """The file that was opened: one that is removed can still be written to, and nobody sees it."""

    def __init__(self, where: Path) -> None:
        self._where, self._opened = where, (0, 0)

    def remember(self) -> None:
        """Note the file that a first connection has opened."""
        if self._opened == (0, 0):
            self._opened = self._present()

    def check(self) -> None:
        """Raise where the file is gone, or is another one."""
        if self._present() != self._opened:
            raise StoreFailed(
                f"{self._where} was removed or replaced while this run wrote to it, and what it "
                "measured is not in the store: run the same command again, and leave the file"
            )

    def _present(self) -> tuple[int, int]:
        try:
            status = self._where.stat()
        except OSError:
            return -1, -1
        return status.st_dev, status.st_ino


def create_when_unlocked(engine: sa.Engine, create: Callable[[sa.Connection], None]) -> None:
    """Create the tables, waiting while another process changes the file to WAL mode.

    SQLite itself does not wait for that.
    """
    deadline = time.monotonic() + _LOCK_TIMEOUT_SECONDS
    while True:
        try:
            with engine.connect() as db:
                db.exec_driver_sql("PRAGMA journal_mode=WAL")
            with engine.begin() as db:
                return create(db)
        except DBAPIError as error:
            if "locked" not in str(error.orig) or time.monotonic() > deadline:
                raise
            time.sleep(_LOCK_RETRY_SECONDS)


@contextmanager
def readable_text(db: sa.Connection) -> Iterator[None]:
    """Text that is no UTF-8 is read with a mark in its place, which no checksum matches."""
    connection: Any = db.connection.driver_connection
    if db.dialect.name == "sqlite":
        connection.text_factory = lambda content: content.decode(errors="replace")
    try:
        yield
    finally:
        if db.dialect.name == "sqlite":
            connection.text_factory = str


def _set_pragmas(connection: Any, _: object) -> None:  # noqa: ANN401  of the module sqlite3
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


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
