"""Where evidence and records are stored.

The URL's scheme chooses the store. Another store takes one module, whose class conforms to
`SavedStore` and `StoreClass`, and one line in `_STORES`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Protocol

from surefoot.core.counts import Answer
from surefoot.core.tasks import Entry, Task
from surefoot.errors import InvalidArgument
from surefoot.records.record import Record, Source
from surefoot.records.spec import StudySpec
from surefoot.store.locations import POSTGRES, check_location, scheme_of
from surefoot.store.runs import RunCheck, RunListing, RunSummary


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

    def finished(self) -> list[Record]:
        """The records of all finished runs."""
        return list(self._records.values())

    def adopt(self, earlier: str, digest: str) -> None:
        """Take over the evidence of an earlier run, unless this one has evidence of its own."""
        if not self.journal(digest).replay():
            self._journals[digest] = MemoryJournal(self.journal(earlier).replay())

    def finish(self, record: Record) -> Record:
        """Store the record."""
        self._records[record.digest] = record
        return record

    def runs(self) -> list[RunSummary]:
        """None: nothing is left of what ran before."""
        return []

    def specs(self) -> dict[str, StudySpec]:
        """None: nothing is left of what ran before."""
        return {}

    def close(self) -> None:
        """Nothing to release."""


_STORES = {"sqlite": "surefoot.store.sql:SqlStore"} | dict.fromkeys(
    POSTGRES, "surefoot.store.sql:SqlStore"
)
"""URL scheme to module and class. A path without a scheme is an SQLite file."""


class Journal(Protocol):
    """The evidence of one run, batch by batch."""

    def append(self, answers: Sequence[tuple[Task, Answer]]) -> None:
        """Record one batch, all of it or nothing."""

    def replay(self) -> dict[str, list[Entry]]:
        """Everything recorded, by subject."""


class Store(Protocol):
    """Runs by digest, each with its journal and, once finished, its record."""

    def begin(
        self, digest: str, spec: StudySpec, source: Source | None, environment: dict[str, str]
    ) -> None:
        """Store the run's specification; an existing run is continued."""

    def journal(self, digest: str) -> Journal:
        """The journal of one run."""

    def stored(self, digest: str) -> Record | None:
        """The record of exactly this run, if it has finished."""

    def finished(self) -> list[Record]:
        """The records of all finished runs."""

    def specs(self) -> dict[str, StudySpec]:
        """What is studied by each run that has begun, by digest, the oldest first."""

    def adopt(self, earlier: str, digest: str) -> None:
        """Take over the evidence of an earlier run, unless this one has evidence of its own."""

    def finish(self, record: Record) -> Record:
        """Store the record; return it with the start and the seconds that the store measured."""

    def runs(self) -> list[RunSummary]:
        """All runs, the oldest first."""

    def close(self) -> None:
        """Release files and connections."""


class SavedStore(Store, Protocol):
    """A store that outlives the process: its runs can be listed and read again."""

    def listing(self) -> RunListing:
        """What a list of runs shows, without reading journals and whole records."""

    def record(self, prefix: str = "") -> Record:
        """The finished run whose digest begins with `prefix`; the last to finish if it is empty."""

    def check(self) -> list[RunCheck]:
        """Read and check every run: what is sound, and what is wrong."""

    def repair(self, prefix: str) -> RunCheck:
        """Keep of a damaged run the rows before the first damaged one, and no record."""


class StoreClass(Protocol):
    """How a saved store is opened."""

    def __call__(self, url: str, *, create: bool = True, read_only: bool = False) -> SavedStore:
        """Open the store at `url`; without `create` it must exist.

        `read_only`: the file or server itself refuses every write.
        """

    def exists(self, url: str) -> bool:
        """Whether there is a store at `url`."""


def open_store(where: str | None) -> Store:
    """The store at this path or URL, created if necessary; in memory for None."""
    return MemoryStore() if where is None else _store_class(where)(where)


def open_existing(where: str) -> SavedStore:
    """The store at this path or URL, which must exist."""
    return _store_class(where)(where, create=False)


@contextmanager
def reading(where: str) -> Iterator[SavedStore]:
    """The same for reading alone: the file or server itself refuses every write."""
    with closing(_store_class(where)(where, create=False, read_only=True)) as store:
        yield store


def store_exists(where: str | None) -> bool:
    """Whether there is a store at this path or URL."""
    return where is not None and _store_class(where).exists(where)


def _store_class(where: str) -> StoreClass:
    if not isinstance(where, str):
        raise InvalidArgument(
            f'a store must be text, a path such as "surefoot.db", got {type(where).__name__}'
        )
    check_location(where)
    scheme = scheme_of(where)
    if scheme not in _STORES:
        given = scheme if scheme.isidentifier() else "another form"
        raise InvalidArgument(
            "a store must be a file, sqlite:///file or postgresql://user@host:port/database, got a "
            f"URL of {given}: give one of these"
        )
    module, name = _STORES[scheme].split(":")
    store_class: StoreClass = getattr(import_module(module), name)
    return store_class
