"""Where evidence and records are stored.

In memory for one process; else an SQLite file or a PostgreSQL server, both by `SqlStore`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Union

from surefoot.core.counts import Answer
from surefoot.core.tasks import Entry, Task
from surefoot.errors import InvalidArgument
from surefoot.records.record import Record, Source
from surefoot.records.spec import StudySpec
from surefoot.store.locations import POSTGRES, check_location, scheme_of

if TYPE_CHECKING:
    from surefoot.store.sql import SqlJournal, SqlStore


class MemoryJournal:
    """Append-only, by subject."""

    def __init__(self, entries: Mapping[str, list[Entry]] | None = None) -> None:
        self._entries: dict[str, list[Entry]] = defaultdict(list, entries or {})

    def append(self, answers: Sequence[tuple[Task, Answer]]) -> None:
        """Record one batch."""
        for task, evidence in answers:
            entry = Entry(task.level, task.start, task.stop, evidence)
            self._entries[task.subject.name].append(entry)

    def replay(self) -> dict[str, list[Entry]]:
        """Everything recorded."""
        return {name: list(entries) for name, entries in self._entries.items()}


class MemoryStore:
    """Journals and records by digest. Records have no start."""

    def __init__(self) -> None:
        self._journals: dict[str, MemoryJournal] = defaultdict(MemoryJournal)
        self._records: dict[str, Record] = {}

    def begin(
        self, digest: str, spec: StudySpec, source: Source | None, environment: dict[str, str]
    ) -> None:
        """Nothing to store."""

    def journal(self, digest: str) -> MemoryJournal:
        """The journal of one run."""
        return self._journals[digest]

    def stored(self, digest: str) -> Record | None:
        """The record of exactly this run, if it has finished."""
        return self._records.get(digest)

    def adopt(self, earlier: str, digest: str) -> None:
        """Take over the evidence of an earlier run, unless this one has evidence of its own."""
        if not self.journal(digest).replay():
            self._journals[digest] = MemoryJournal(self.journal(earlier).replay())

    def finish(self, record: Record) -> Record:
        """Store the record."""
        self._records[record.digest] = record
        return record

    def specs(self, known: Mapping[str, StudySpec]) -> dict[str, StudySpec]:
        """None: nothing is left of what ran before."""
        return {}

    def close(self) -> None:
        """Nothing to release."""


Journal = Union[MemoryJournal, "SqlJournal"]
"""The evidence of one run, batch by batch: all of a batch is recorded, or nothing."""
Store = Union[MemoryStore, "SqlStore"]
"""Runs by digest, each with its journal and, once finished, its record."""


def open_store(where: str | None) -> Store:
    """The store at this path or URL, created if necessary; in memory for None."""
    return MemoryStore() if where is None else _store_class(where)(where)


def open_existing(where: str) -> SqlStore:
    """The store at this path or URL, which must exist."""
    return _store_class(where)(where, create=False)


@contextmanager
def reading(where: str) -> Iterator[SqlStore]:
    """The same for reading alone: the file or server itself refuses every write."""
    with closing(_store_class(where)(where, create=False, read_only=True)) as store:
        yield store


def store_exists(where: str | None) -> bool:
    """Whether there is a store at this path or URL."""
    return where is not None and _store_class(where).exists(where)


def _store_class(where: str) -> type[SqlStore]:
    if not isinstance(where, str):
        raise InvalidArgument(
            f'a store must be text, a path such as "surefoot.db", got {type(where).__name__}'
        )
    check_location(where)
    scheme = scheme_of(where)
    if scheme not in ("sqlite", *POSTGRES):
        given = scheme if scheme.isidentifier() else "another form"
        raise InvalidArgument(
            "a store must be a file, sqlite:///file or postgresql://user@host:port/database, got a "
            f"URL of {given}: give one of these"
        )
    from surefoot.store.sql import SqlStore

    return SqlStore
