"""A store in memory, gone when the process ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from surefoot.core.tasks import Entry, Task
from surefoot.records.record import Record, Source
from surefoot.records.spec import StudySpec


class MemoryJournal:
    """Append-only, by subject."""

    def __init__(self) -> None:
        self._entries: dict[str, list[Entry]] = defaultdict(list)

    def append(self, answers: Sequence[tuple[Task, Any]]) -> None:
        """Record one batch."""
        for task, evidence in answers:
            entry = Entry(task.level, task.start, task.stop, evidence)
            self._entries[task.subject.name].append(entry)

    def replay(self) -> dict[str, list[Entry]]:
        """Everything recorded."""
        return {name: list(entries) for name, entries in self._entries.items()}

    def copy_from(self, other: MemoryJournal) -> None:
        """Begin with what another journal holds."""
        for name, entries in other.replay().items():
            self._entries[name].extend(entries)


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
        if not self._journals[digest].replay():
            self._journals[digest].copy_from(self._journals[earlier])

    def finish(self, record: Record) -> Record:
        """Store the record."""
        self._records[record.digest] = record
        return record

    def close(self) -> None:
        """Nothing to release."""
