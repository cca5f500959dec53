"""The journal of one run in an SQL store: one transaction for each batch, every row checked."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import sqlalchemy as sa

from surefoot.core.counts import Answer, Proof
from surefoot.core.tasks import Entry, Task
from surefoot.errors import AnswersDiffer, StoreDamaged, StoreFailed
from surefoot.store.chains import COLUMNS, BadRow, Chains, NewRow, evidence_to_text
from surefoot.store.database import JOURNAL, RUNS, Database, TableRow
from surefoot.system.memory_limits import no_garbage_collection

_ROWS_AT_ONCE = 10_000
"""Rows that are read together: few calls, little memory."""
_MARKS = {"sqlite": "?", "postgresql": "%s"}
"""How a driver marks a parameter: rows go to it as they are, without a name for each value."""
_COUNT = (
    sa.update(RUNS)
    .where(
        RUNS.c.digest == sa.bindparam("run"),
        RUNS.c.rows == sa.bindparam("known"),
        RUNS.c.record.is_(None) | RUNS.c.stopped,
    )
    .values(
        rows=RUNS.c.rows + sa.bindparam("new"),
        trials=RUNS.c.trials + sa.bindparam("new_trials"),
        seconds=RUNS.c.seconds + sa.bindparam("spent"),
        written=sa.bindparam("now"),
    )
)
"""Locks the run, and matches only if nobody else has appended or finished it."""


def now() -> str:
    """The time of a write."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class SqlJournal:
    """The journal of one run.

    Several processes may write to it. A run's row is locked while one appends; what others have
    appended is read first, and the first answer to a trial counts.
    """

    def __init__(self, database: Database, digest: str) -> None:
        self._database, self._digest = database, digest
        self._since = time.monotonic()
        self._chains = Chains(digest)
        self._known_rows = 0  # written or read: a database must not lose them
        self._run_id: int | None = None

    def append(self, answers: Sequence[tuple[Task, Answer]]) -> None:
        """Record one batch and the time it took, in one transaction."""
        rows = [
            (
                task.subject.name,
                float(task.level) + 0.0,  # no negative zero, which SQLite does not store
                int(task.start),
                int(task.stop),
                evidence_to_text(evidence, task.units),
            )
            for task, evidence in answers
        ]
        moment = time.monotonic()
        spent, self._since = moment - self._since, moment
        self._chains = self._database.write(lambda db: self._append(db, rows, spent))
        self._known_rows = max(self._known_rows, self._chains.rows)

    def replay(self) -> dict[str, list[Entry]]:
        """Everything recorded for this run, by subject."""
        with no_garbage_collection():
            return self._database.read(self._replay)

    def adopt(self, earlier: SqlJournal) -> None:
        """Begin with the rows of another run, unless this one has rows of its own."""
        entries = earlier.replay()
        rows = [
            (subject, e.level, e.start, e.stop, evidence_to_text(e.evidence, e.stop - e.start))
            for subject, own in entries.items()
            for e in own
        ]

        def copy(db: sa.Connection) -> Chains:
            return self._chains if self._lock(db).rows else self._append(db, rows, 0.0)

        self._chains = self._database.write(copy)

    def heads(self, db: sa.Connection) -> tuple[int, str]:
        """The number of rows and the digest of their chains; the run is locked."""
        self._catch_up(db, self._chains, self._lock(db))
        return self._chains.rows, self._chains.heads()

    def sound_rows(self, db: sa.Connection) -> Chains:
        """The rows before the first damaged one."""
        chains, run = Chains(self._digest), self._run(db)
        with suppress(StoreDamaged):
            self._read(db, chains, run, run.rows, defaultdict(list))
        return chains

    def check_number(self, db: sa.Connection) -> None:
        """Refuse a journal that lacks rows, without reading them."""
        run = self._run(db)
        own = JOURNAL.c.run == run.id, JOURNAL.c.number < run.rows
        rows = db.execute(sa.select(sa.func.count()).select_from(JOURNAL).where(*own)).scalar_one()
        if rows != run.rows:
            raise self._refusal(f"has {rows} rows, but {run.rows} were written")

    def _append(self, db: sa.Connection, answers: list[NewRow], spent: float) -> Chains:
        """Write those answers whose trials are not in the journal; what is known of it then.

        That is forgotten until the transaction has ended: an attempt after a lost connection reads
        what there is.
        """
        chains, self._chains = self._chains, Chains(self._digest)
        trials = sum(stop - start for _, _, start, stop, _ in answers)
        count = {"new": len(answers), "new_trials": trials, "spent": spent, "now": now()}
        known = {"run": self._digest, "known": chains.rows}
        whole = chains.rows >= self._known_rows  # not so where a connection was lost
        if whole and db.execute(_COUNT, count | known).rowcount == 1:
            rows = chains.add(answers)
            if len(rows) < len(answers):
                self._correct(db, chains)
        else:
            run = self._lock(db)
            if run.record is not None and not run.stopped:
                return chains  # another process has finished this run
            others = self._catch_up(db, chains, run)
            self._refuse_differing(answers, others)
            rows = chains.add(answers)
            if rows:
                self._correct(db, chains, spent)
        if rows:
            if self._run_id is None:
                self._run_id = int(self._run(db).id)
            mark = _MARKS[db.dialect.name]
            db.exec_driver_sql(
                f"INSERT INTO {JOURNAL.name} (run, {', '.join(COLUMNS)}) "  # noqa: S608  names of our own
                f"VALUES ({', '.join([mark] * (1 + len(COLUMNS)))})",
                [(self._run_id, *row) for row in rows],
            )
        return chains

    def _correct(self, db: sa.Connection, chains: Chains, spent: float = 0.0) -> None:
        """Count the rows of the run, which is locked, as they are now known."""
        seconds = RUNS.c.seconds + spent
        this_run = sa.update(RUNS).where(RUNS.c.digest == self._digest)
        db.execute(this_run.values(rows=chains.rows, trials=chains.trials, seconds=seconds))

    def _replay(self, db: sa.Connection) -> dict[str, list[Entry]]:
        chains = Chains(self._digest)
        entries: defaultdict[str, list[Entry]] = defaultdict(list)
        run = self._run(db)
        self._read(db, chains, run, run.sealed_rows, entries)
        if run.record is not None and chains.heads() != run.heads:
            raise self._refusal("is not the one that the record was made from")
        self._read(db, chains, run, run.rows, entries)
        if chains.trials != run.trials:
            raise self._refusal(f"has {chains.trials} trials, but {run.trials} were written")
        self._refuse_more(db, run)
        self._chains, self._known_rows = chains, chains.rows
        return dict(entries)

    def _catch_up(self, db: sa.Connection, chains: Chains, run: TableRow) -> dict[str, list[Entry]]:
        """What others have appended, checked."""
        known = max(chains.rows, self._known_rows)
        if run.rows < known:
            raise StoreFailed(
                f"{self._database.where}: run {self._digest[:12]} has lost rows of its journal, as "
                f"{known} were written and {run.rows} are left: run the same command again, which "
                "goes on from what is left"
            )
        others: defaultdict[str, list[Entry]] = defaultdict(list)
        self._read(db, chains, run, run.rows, others)
        return others

    @staticmethod
    def _refuse_differing(answers: list[NewRow], others: dict[str, list[Entry]]) -> None:
        """Refuse trials that another process answered otherwise; proofs may differ in seconds."""
        for subject, level, start, stop, text in answers:
            for entry in others.get(subject, ()):
                same = entry[:3] == (level, start, stop) and not isinstance(entry.evidence, Proof)
                if same and evidence_to_text(entry.evidence, stop - start) != text:
                    raise AnswersDiffer(
                        f"another process answered trials {start} to {stop - 1} of input {subject} "
                        "otherwise, so the model depends on more than its input: make it a "
                        "function of its input alone, and use another store (store=, --store)"
                    )

    def _read(
        self,
        db: sa.Connection,
        chains: Chains,
        run: TableRow,
        upto: int,
        entries: defaultdict[str, list[Entry]],
    ) -> None:
        """Check and add the rows that follow those in `chains`, up to a number."""
        own = JOURNAL.c.run == run.id, JOURNAL.c.number >= chains.rows, JOURNAL.c.number < upto
        query = (
            sa.select(*(JOURNAL.c[name] for name in COLUMNS)).where(*own).order_by(JOURNAL.c.number)
        )
        query = query.execution_options(yield_per=_ROWS_AT_ONCE)
        try:
            with db.execute(query) as result:
                for rows in result.partitions():
                    chains.read(rows, entries)
        except BadRow as error:
            raise self._refusal(f"is damaged: {error}") from error
        if chains.rows < upto:
            raise self._refusal(f"is damaged: row {chains.rows} is missing")

    def _refuse_more(self, db: sa.Connection, run: TableRow) -> None:
        """Refuse rows beyond those that were counted; another process may be appending."""
        last = sa.select(sa.func.max(JOURNAL.c.number)).where(JOURNAL.c.run == run.id)
        number = db.execute(last).scalar()
        if number is not None and number >= run.rows and number >= self._run(db).rows:
            raise self._refusal(f"is damaged: row {number} was never written by surefoot")

    def _run(self, db: sa.Connection) -> TableRow:
        row = db.execute(sa.select(RUNS).where(RUNS.c.digest == self._digest)).one_or_none()
        if row is None:
            raise StoreFailed(
                f"{self._database.where}: run {self._digest[:12]} is no longer in the store: run "
                "the same command again"
            )
        return row

    def _lock(self, db: sa.Connection) -> TableRow:
        """The run's row, which nobody else changes before this transaction ends.

        SQLite locks the file with the first write instead.
        """
        touch = sa.update(RUNS).where(RUNS.c.digest == self._digest).values(written=now())
        db.execute(touch)
        return self._run(db)

    def _refusal(self, problem: str) -> StoreDamaged:
        where = self._database.where
        return StoreDamaged(where, f"the journal of run {self._digest[:12]} {problem}")
