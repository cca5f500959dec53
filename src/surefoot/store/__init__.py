"""Where evidence and records are kept. `open_store` is the one place that chooses a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from surefoot.store.locations import exists
from surefoot.store.memory import MemoryStore
from surefoot.store.records import Record, Source
from surefoot.store.spec import StudySpec
from surefoot.tasks import Entry, Task

if TYPE_CHECKING:
    from surefoot.store.sql import SqlStore

__all__ = [
    "Journal",
    "MemoryStore",
    "Record",
    "Source",
    "Store",
    "open_existing",
    "open_store",
    "store_exists",
]


class Journal(Protocol):
    """Where the evidence of one run is kept, batch by batch."""

    def append(self, answers: Sequence[tuple[Task, Any]]) -> None:
        """Record one batch, all of it or nothing."""
        ...

    def replay(self) -> dict[str, list[Entry]]:
        """Everything recorded, by subject."""
        ...


class Store(Protocol):
    """Runs by digest, each with its journal and, once finished, its record."""

    def begin(
        self, digest: str, spec: StudySpec, source: Source | None, environment: dict[str, str]
    ) -> None:
        """Note the run, unless it is there already: then it goes on."""
        ...

    def journal(self, digest: str) -> Journal:
        """The journal of one run."""
        ...

    def stored(self, digest: str) -> Record | None:
        """The record of exactly this run, if it has finished."""
        ...

    def finished(self) -> list[Record]:
        """The records of all finished runs."""
        ...

    def adopt(self, earlier: str, digest: str) -> None:
        """Take over the evidence of an earlier run, unless this one has evidence of its own."""
        ...

    def finish(self, record: Record) -> Record:
        """Keep the record; it comes back with the start and the time that the store noted."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def open_store(where: str | None) -> Store:
    """The store at this place; one in memory where there is none."""
    if where is None:
        return MemoryStore()
    from surefoot.store.sql import SqlStore

    return SqlStore(where)


def open_existing(where: str) -> SqlStore:
    """The store at this place, to read what it holds; refused where there is none."""
    from surefoot.store.sql import SqlStore

    return SqlStore(where, create=False)


def store_exists(where: str | None) -> bool:
    """Whether there is something at that place already."""
    if where is None:
        return False
    return exists(where)
