"""A store in an SQLite file that is itself damaged: what is wrong, and what can be saved of it."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from surefoot.errors import StoreFailed
from surefoot.store.chains import COLUMNS, BadRow, Chains, Row
from surefoot.store.database import JOURNAL, OTHER_CODE, RUNS
from surefoot.store.locations import POSTGRES, is_sealed, path_of, scheme_of
from surefoot.store.runs import RunCheck
from surefoot.store.sql import SqlStore

_MOST_RUNS = 100_000
"""Numbers of runs that are tried one by one where a damaged file does not say the last."""
_OTHER = "it holds a {} ({}), and no store has one: it may change what is read or written"


@dataclass(frozen=True)
class Rescue:
    """A new store, and what of each run is in it: `sound` of its `rows`, and what was wrong."""

    store: str
    runs: tuple[RunCheck, ...]


def file_problem(store: str) -> str:
    """What is wrong with the file of a store as a whole; empty where nothing is, or is no file.

    Pages that SQLite cannot read, and what it would run when the store is read or written.
    """
    if scheme_of(store) in POSTGRES or not path_of(store).is_file():
        return ""
    try:
        with _reading(store) as db:
            answer = " ".join(str(db.execute("PRAGMA integrity_check(1)").fetchone()[0]).split())
            if answer != "ok":
                return f"pages of the file are damaged ({answer})"
            other = db.execute(OTHER_CODE).fetchone()
            return "" if other is None else _OTHER.format(*other)
    except sqlite3.DatabaseError as error:
        # what else opening refuses, such as a file of another program, it says itself
        return f"pages of the file are damaged ({error})" if "malformed" in str(error) else ""


def rescue_runs(store: str) -> Rescue:
    """Save what can be read of a store whose file is damaged into a new store beside it.

    Every run whose row can be read, with its journal up to the first row that is damaged, and with
    its record where both are whole; the same study goes on from it. The old file is left as it is.
    """
    where = path_of(store)
    names = (f"{where.stem}.rescued{f'-{i}' * (i > 1)}{where.suffix}" for i in range(1, 1000))
    target = next(place for name in names if not (place := where.with_name(name)).exists())
    with _reading(store) as db, closing(SqlStore(str(target))) as new:
        found = {n: values for n in _numbers(db) if (values := _run_values(db, n)) != {}}
        taken = {n: values and _rescue_run(db, new, n, values) for n, values in found.items()}
    checks = [check for check in taken.values() if check]
    if not checks:
        for file in target.parent.glob(f"{target.name}*"):
            file.unlink()
        raise StoreFailed(
            f"{store}: no run of it can be read: restore it from a copy, or use another store "
            "(store=, --store)"
        )
    if lost := [n for n, check in taken.items() if not check]:
        words = f"run number {lost[0]}{' and later ones' * (len(lost) > 1)} cannot be read"
        checks.append(RunCheck("", 0, 0, words, readable=False))
    return Rescue(str(target), tuple(checks))


@contextmanager
def _reading(store: str) -> Iterator[sqlite3.Connection]:
    how = "immutable=1" if is_sealed(store) else "mode=ro"
    name = f"file:{quote(str(path_of(store).absolute()))}?{how}"
    with closing(sqlite3.connect(name, uri=True)) as db:
        db.text_factory = lambda content: content.decode(errors="replace")
        yield db


def _numbers(db: sqlite3.Connection) -> range:
    """The numbers that runs can have."""
    last = _MOST_RUNS
    with suppress(sqlite3.DatabaseError):
        last = db.execute(f"SELECT max(id) FROM {RUNS.name}").fetchone()[0] or 0  # noqa: S608  a name of our own
    return range(1, last + 1)


def _run_values(db: sqlite3.Connection, number: int) -> dict[str, Any] | None:
    """The columns of a run, without the record and what follows it where those are damaged.

    Empty where there is no such run; None where it cannot be read.
    """
    names = [column.name for column in RUNS.c if column.name != "id"]
    for wanted in (names, names[: names.index("record")]):  # most pages of a run hold its record
        columns = ", ".join(f'"{name}"' for name in wanted)
        with suppress(sqlite3.DatabaseError):
            query = f"SELECT {columns} FROM {RUNS.name} WHERE id = ?"  # noqa: S608  names of our own
            row = db.execute(query, (number,)).fetchone()
            return {} if row is None else dict(zip(wanted, row, strict=True))
    return None


def _rescue_run(
    db: sqlite3.Connection, new: SqlStore, number: int, values: dict[str, Any]
) -> RunCheck | None:
    """What is in the new store of one run; None where nothing of it is."""
    check = new.take_over(values, _sound_rows(db, number, str(values["digest"])))
    if check is not None and "record" not in values and not check.problem:
        return replace(check, problem=f"the record of run {check.digest[:12]} cannot be read")
    return check


def _sound_rows(db: sqlite3.Connection, number: int, digest: str) -> list[Row]:
    """The rows of a journal before the first that is damaged, or cannot be read."""
    query = f"SELECT {', '.join(COLUMNS)} FROM {JOURNAL.name} WHERE run = ? ORDER BY number"  # noqa: S608  names of our own
    rows: list[Row] = []
    chains = Chains(digest)
    with suppress(sqlite3.DatabaseError):
        for row in db.execute(query, (number,)):
            rows.append(row)
    with suppress(BadRow):
        chains.read(rows, defaultdict(list))
    return rows[: chains.rows]
