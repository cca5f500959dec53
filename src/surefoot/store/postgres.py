"""A store in a PostgreSQL database, reached as libpq does: URL, environment, password file."""

from __future__ import annotations

import os
from typing import Any

import sqlalchemy as sa

from surefoot.errors import InvalidArgument, MissingPackage
from surefoot.store.database import Database
from surefoot.store.locations import public_location, without_passwords

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


def open_postgres(
    url: str, delays: tuple[float, ...] | None = None, read_only: bool = False
) -> Database:
    """The database at this URL; nothing is connected yet.

    `read_only`: the server itself refuses every write.
    """
    psycopg = _psycopg()
    options = _connection_options(psycopg, url)

    def connect() -> Any:  # noqa: ANN401  a connection of psycopg
        connection = psycopg.connect(**options)
        connection.read_only = read_only or None
        return connection

    engine = sa.create_engine(
        "postgresql+psycopg://",
        creator=connect,
        isolation_level="READ COMMITTED",
        hide_parameters=True,
    )
    where = public_location(url)

    def describe(message: str) -> str:
        message = without_passwords(message, url)
        lower, problem = message.lower(), " ".join((message.splitlines() or [""])[0].split())
        way_out = next((way for part, way in _WAYS_OUT.items() if part in lower), "")
        return f"{where}: {problem}" + (f": {way_out}" if way_out else "")

    return Database(engine, where, describe, RECONNECT_SECONDS if delays is None else delays)


def lock_creation(db: sa.Connection) -> None:
    """Let one process at a time create the tables, until its transaction ends."""
    db.execute(sa.select(sa.func.pg_advisory_xact_lock(_CREATION_LOCK)))


def _reason(message: str) -> str:
    """What libpq says before it quotes a part of the URL."""
    return " ".join(message.partition('"')[0].split()).rstrip(":")


def _psycopg() -> Any:  # noqa: ANN401  the module
    try:
        import psycopg
    except ImportError as error:
        raise MissingPackage(
            "a store in PostgreSQL needs psycopg: pip install 'surefoot[postgres]'"
        ) from error
    return psycopg


def _connection_options(psycopg: Any, url: str) -> dict[str, Any]:  # noqa: ANN401  the module psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        options: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise InvalidArgument(
            "a PostgreSQL store must be postgresql://user@host:port/database, and libpq cannot "
            f"read what was given ({_reason(str(error))}); it is not shown, since it may hold a "
            "password: correct it"
        ) from None
    options.setdefault("fallback_application_name", "surefoot")
    if "PGCONNECT_TIMEOUT" not in os.environ:
        options.setdefault("connect_timeout", _CONNECT_SECONDS)
    return options
