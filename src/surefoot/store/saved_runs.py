"""All runs of a store: listed, checked and repaired. It imports no model and no method."""

from __future__ import annotations

from contextlib import closing

from surefoot.store import RunCheck, RunSummary, open_existing


def runs(store: str) -> list[RunSummary]:
    """All runs of a store, the oldest first, finished or not.

    `store`: a file, or a postgresql:// address. Example: sf.runs("surefoot.db")[-1].digest
    """
    with closing(open_existing(store)) as opened:
        return opened.runs()


def check_store(store: str) -> list[RunCheck]:
    """Read every run of a store, with its journal and record: what is sound, and what is wrong.

    As `surefoot show --check`; nothing is changed. `repair_run` keeps what is sound of a run.
    """
    with closing(open_existing(store)) as opened:
        return opened.check()


def repair_run(store: str, run: str) -> RunCheck:
    """Keep of a damaged run the rows before the first damaged one; what was wrong with it.

    Its record is removed: the same study then goes on from these rows, to the same result. A run
    that cannot be read at all is removed. A sound run stays as it is.
    """
    with closing(open_existing(store)) as opened:
        return opened.repair(run)
