"""What every store must do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from surefoot.core.counts import Counts
from surefoot.core.tasks import Subject, Task
from surefoot.records.record import AttackSummary, Record, Source
from surefoot.records.spec import InputsSpec, ModelSpec, PartSpec, SpecWords, StudySpec
from surefoot.store import Journal, Store
from surefoot.testing.expect import expect
from surefoot.testing.journals import check_journal


def check_store(reopen: Callable[[], Store]) -> None:
    """`reopen` opens one and the same store again, empty at first."""

    def journal() -> Journal:
        store = reopen()
        store.begin("one", example_spec(1), Source("m", "d", {"a": 1}), {"python": "3"})
        return store.journal("one")

    check_journal(journal)
    store = reopen()
    expect(store.stored("one") is None, "an unfinished run has a record")
    store.begin("two", example_spec(2), None, {})
    expect(store.journal("two").replay() == {}, "two runs share a journal")
    store.journal("two").append([(Task(Subject("s", (0,)), 0.1, 0, 2), Counts(2, 2))])
    nothing = AttackSummary(1, 1, 1, 1, 0.1, reason="none")
    record = Record("two", example_spec(2), (), (), nothing, (), trials=2)
    stored = store.finish(record)
    expect(replace(stored, started="", seconds=0.0) == record, "finishing changed the record")
    expect(bool(stored.started) and stored.seconds >= 0, "the store notes neither start nor time")
    expect(reopen().stored("two") == stored, "the record is gone, or changed, after reopening")
    expect(reopen().stored("one") is None, "finishing one run finished another")
    expect(len(reopen().journal("two").replay()) == 1, "finishing a run lost its journal")


def example_spec(seed: int) -> StudySpec:
    """A study that was never run."""
    return StudySpec(
        format=1,
        model=ModelSpec("m", "all of it", (2,), 2, "logits", ""),
        inputs=InputsSpec("i", (), (), 1, "all", (), ""),
        bounds=None,
        perturbation=PartSpec("linf", {"level": 0.1}),
        property=PartSpec("same", {}),
        method=PartSpec("attack", {"starts": 1}),
        population=None,
        by_class=False,
        seed=seed,
        generator="sfc64",
        block=1,
        words=SpecWords("noise", "keep the label", "d", "clean"),
    )
