"""What every store must do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from surefoot.engine.drive import Journal
from surefoot.evidence import Counts
from surefoot.results import Undecided
from surefoot.store.records import Record, Source
from surefoot.subject import Subject, Task
from surefoot.testing.expect import expect
from surefoot.testing.journals import check_journal


class Store(Protocol):
    """Runs by digest, each with its journal and, once finished, its record."""

    def begin(
        self, digest: str, spec: dict[str, Any], source: Source | None, environment: dict[str, str]
    ) -> None:
        """Note a run, or go on with it."""
        ...

    def journal(self, digest: str) -> Journal:
        """The journal of one run."""
        ...

    def finish(self, record: Record) -> Record:
        """Keep the record."""
        ...

    def stored(self, digest: str) -> Record | None:
        """The record of a finished run."""
        ...


def check_store(reopen: Callable[[], Store]) -> None:
    """`reopen` opens one and the same store again, empty at first."""

    def journal() -> Journal:
        store = reopen()
        store.begin("one", {"seed": 1}, Source("m", "d", {"a": 1}), {"python": "3"})
        return store.journal("one")

    check_journal(journal)
    store = reopen()
    expect(store.stored("one") is None, "an unfinished run has a record")
    store.begin("two", {"seed": 2}, None, {})
    expect(store.journal("two").replay() == {}, "two runs share a journal")
    store.journal("two").append([(Task(Subject("s", (0,)), 0.1, 0, 2), Counts(2, 2))])
    record = Record("two", {"seed": 2}, Undecided("none", 2), (), (), (), (), trials=2)
    kept = store.finish(record)
    expect(replace(kept, started="", seconds=0.0) == record, "finishing changed the record")
    expect(bool(kept.started) and kept.seconds >= 0, "the store notes neither start nor time")
    expect(reopen().stored("two") == kept, "the record is gone, or changed, after reopening")
    expect(reopen().stored("one") is None, "finishing one run finished another")
    expect(len(reopen().journal("two").replay()) == 1, "finishing a run lost its journal")
