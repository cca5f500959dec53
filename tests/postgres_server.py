"""A PostgreSQL server of the tests' own: a folder, a free port on loopback, no fsync."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ports import free_port

OWNER = "postgres"
"""Who runs it where the tests run as root, which the server refuses."""
KEEPER, PASSWORD = "keeper", "s3cr3t-p@ss/word"
"""A user who needs a password."""
_UNSAFE_BUT_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off",
                    "shared_buffers=16MB", "max_connections=30")  # fmt: skip
_SECONDS = 300
"""For it to start or to stop, on a busy machine."""
_PLACES = 20
"""Ports that are tried: another process may take one before the server does."""


class Server:
    """A running server; each test gets a database of its own."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port, self.databases = folder, port, 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Raises where it does not run, such as where its port is taken."""
        settings = (
            f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories=",
            *_UNSAFE_BUT_FAST,
        )  # fmt: skip
        words = [word for setting in settings for word in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [program("postgres"), "-D", str(self.folder / "data"), *words],
                stdout=log, stderr=log, **own_user(),
            )  # fmt: skip
        until = time.monotonic() + _SECONDS
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop(signal.SIGQUIT)
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.02)

    def start_where_a_port_is_free(self) -> None:
        """Start for the first time."""
        for _ in range(_PLACES):
            try:
                return self.start()
            except RuntimeError as error:
                if "Address already in use" not in str(error):
                    raise
                self.port = free_port()
        raise RuntimeError(f"none of {_PLACES} ports is free")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """At once, cutting every connection; by SIGQUIT as if it had crashed (-m immediate)."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(timeout=_SECONDS)
            self.process = None

    def cut_connections(self, database: str) -> None:
        """End every connection to a database, and wait until they have ended."""
        self.execute(
            f"SELECT pg_terminate_backend(pid, {1000 * _SECONDS}) FROM pg_stat_activity "
            f"WHERE datname = '{database}' AND pid <> pg_backend_pid()"
        )

    def url(self, database: str, user: str = OWNER) -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple]:
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as db:
            cursor = db.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def new_database(self) -> str:
        """The URL of an empty one."""
        self.databases += 1
        name = f"test_{self.databases}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def _answers(self) -> bool:
        """Whether this server does; another one may have taken its port."""
        import psycopg

        try:
            with psycopg.connect(self.url("postgres"), connect_timeout=30) as db:
                place = db.execute("SHOW data_directory").fetchone()
        except psycopg.OperationalError:
            return False
        return place == (str(self.folder / "data"),)


@contextmanager
def running_server() -> Iterator[Server]:
    """A new server, stopped and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="surefoot-postgres-"))
    if own_user():
        shutil.chown(folder, OWNER)
    server = Server(folder, free_port())
    try:
        subprocess.run(
            [program("initdb"), "-D", str(folder / "data"), "-U", OWNER, "--auth=trust",
             "--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions"],
            check=True, capture_output=True, **own_user(),
        )  # fmt: skip
        rules = folder / "data" / "pg_hba.conf"
        rules.write_text(
            f"host all {KEEPER} 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
        )
        server.start_where_a_port_is_free()
        server.execute(f"CREATE USER {KEEPER} SUPERUSER PASSWORD '{PASSWORD}'")
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def own_user() -> dict[str, object]:
    """For a process of the server: another user where this one is root."""
    if os.geteuid() != 0:
        return {}
    return {"user": OWNER, "group": OWNER, "extra_groups": [], "cwd": "/"}


def program(name: str) -> str:
    """On the PATH, or where Debian puts it; the newest."""
    installed = Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
    newest = max(installed, key=lambda path: int(path.parts[-3]), default=None)
    path = shutil.which(name) or newest
    if path is None:
        raise RuntimeError(f"no {name}: run scripts/get-postgres.sh")
    return str(path)
