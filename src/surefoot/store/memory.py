"""A journal in memory: for runs that need not survive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from surefoot.subject import Entry, Task


class MemoryJournal:
    """Append-only, by subject."""

    def __init__(self) -> None:
        self._kept: dict[str, list[Entry]] = defaultdict(list)

    def append(self, answers: Sequence[tuple[Task, Any]]) -> None:
        """Record one tray."""
        for task, evidence in answers:
            entry = Entry(task.level, task.start, task.stop, evidence)
            self._kept[task.subject.name].append(entry)

    def replay(self) -> dict[str, list[Entry]]:
        """Everything recorded."""
        return {name: list(entries) for name, entries in self._kept.items()}
