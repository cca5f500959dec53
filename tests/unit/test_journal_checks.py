"""A journal that was changed, shortened or mixed up is refused, with the run and the row named."""

import random
import sqlite3
from collections import defaultdict
from contextlib import closing, contextmanager
from dataclasses import replace
from zlib import crc32

import pytest

from surefoot.core.counts import Counts, Outcomes
from surefoot.core.tasks import Subject, Task
from surefoot.errors import AnswersDiffer, StoreFailed
from surefoot.records.record import AttackSummary, Record
from surefoot.store.chains import BadRow, Chains, Coverage, seal_of
from surefoot.store.sql import SqlStore
from surefoot.testing.conformance import example_spec
from tests.refusals import raised

ONE, TWO = Subject("one", (0,)), Subject("two", (1,))
NOTHING = AttackSummary(1, 1, 1, 1, 0.1, reason="none")
RECORD = Record("digest", example_spec(1), (), (), NOTHING, (), trials=20)


def answer(subject, start, stop, kept=1, level=0.1):
    return Task(subject, level, start, stop), Counts(stop - start, kept)


@contextmanager
def opened(where, digest="digest"):
    """A store with this run, and its journal."""
    with closing(SqlStore(str(where))) as store:
        store.begin(digest, example_spec(1), None, {})
        yield store, store.journal(digest)


def test_a_seal_covers_record_time_rows_and_journal():
    others = [("a", "b", 1, "c"), ("x", "b", 1, "c"), ("a", "x", 1, "c"), ("a", "b", 2, "c"),
              ("a", "b", 1, "x")]  # fmt: skip
    assert len({seal_of(*one) for one in others}) == len(others)


@pytest.fixture
def path(tmp_path):
    """Six rows: 0, 2 and 4 of input one, 1, 3 and 5 of input two; the run has a record."""
    with opened(tmp_path / "run.db") as (store, journal):
        for start in (0, 4, 8):
            journal.append([answer(ONE, start, start + 4), answer(TWO, start, start + 4)])
        store.finish(RECORD)
    return store.where


def change(path, *statements):
    with closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def replay(path):
    with closing(SqlStore(path)) as store:
        return store.journal("digest").replay()


J = "surefoot_journal"
DAMAGES = {
    "a changed count": ([f"UPDATE {J} SET evidence = '2' WHERE number = 2"], "row 2 .input one."),
    "a changed level": ([f"UPDATE {J} SET level = 0.2 WHERE number = 3"], "row 3 .input two."),
    "changed trials": ([f"UPDATE {J} SET stop = 9 WHERE number = 4"], "row 4 .input one."),
    "another input": ([f"UPDATE {J} SET subject = 'two' WHERE number = 0"], "row 0 .input two."),
    "a lost row": ([f"DELETE FROM {J} WHERE number = 3"], "row 3 is missing"),
    "a lost last row": ([f"DELETE FROM {J} WHERE number = 5"], "row 5 is missing"),
    "no rows": ([f"DELETE FROM {J}"], "row 0 is missing"),
    "a doubled row": (
        [f"INSERT INTO {J} SELECT run, 6, subject, level, start, stop, evidence, checksum "
         f"FROM {J} WHERE number = 5"],
        "row 6 was never written",
    ),
    "exchanged rows of one input": (
        [f"UPDATE {J} SET number = 9 WHERE number = 2", f"UPDATE {J} SET number = 2 WHERE "
         "number = 4", f"UPDATE {J} SET number = 4 WHERE number = 9"],
        "row 2 .input one.",
    ),
    "exchanged rows of two inputs": (
        [f"UPDATE {J} SET number = 9 WHERE number = 2", f"UPDATE {J} SET number = 2 WHERE "
         "number = 3", f"UPDATE {J} SET number = 3 WHERE number = 9"],
        "row 2 .input two.",
    ),
    "rows and counter rolled back": (
        [f"DELETE FROM {J} WHERE number >= 4", "UPDATE surefoot_runs SET rows = 4, trials = 16"],
        "row 4 is missing",
    ),
    "a wrong counter of trials": (["UPDATE surefoot_runs SET trials = 7"], "has 24 trials, but 7"),
    "text for a number": ([f"UPDATE {J} SET start = 'x' WHERE number = 1"], "row 1 .input two."),
    "nothing for a checksum": (
        [f"UPDATE {J} SET checksum = 'none' WHERE number = 1"], "row 1 .input two."
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_noticed_by_a_replay_and_by_who_reads_the_record(path, name):
    statements, problem = DAMAGES[name]
    assert len(replay(path)["one"]) == 3
    change(path, *statements)
    raised(StoreFailed, rf"journal of run digest .*{problem}.*from a copy", replay, path)
    with closing(SqlStore(path)) as store, pytest.raises(StoreFailed, match="journal of run"):
        store.record()


def test_a_long_journal_is_counted_when_its_record_is_read(path, monkeypatch):
    monkeypatch.setattr("surefoot.store.sql._CHECKED_ROWS", 2)
    with closing(SqlStore(path)) as store:
        assert store.record().trials == 20
    change(path, f"DELETE FROM {J} WHERE number = 3")
    with closing(SqlStore(path)) as store, pytest.raises(StoreFailed, match="has 5 rows, but 6"):
        store.record()


def test_a_record_goes_with_the_journal_it_was_made_from(path, tmp_path):
    """The whole journal of another run of the same length, chains and all."""
    with opened(tmp_path / "other.db") as (store, journal):
        for start in (0, 4, 8):
            journal.append([answer(ONE, start, start + 4, 0), answer(TWO, start, start + 4)])
    change(path, f"DELETE FROM {J}", f"ATTACH '{store.where}' AS other",
           f"INSERT INTO {J} SELECT * FROM other.{J}")  # fmt: skip
    raised(StoreFailed, "not the one that the record was made from", replay, path)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (("one", 0.1, -4, 0, "0"), "impossible trials, -4 to 0"),
        (("one", 0.1, 9, 5, "0"), "impossible trials, 9 to 5"),
        (("one", 0.1, 0, 4, "0"), "trials that an earlier row holds"),
        (("one", 0.1, 10, 14, "0"), "trials that an earlier row holds"),
        (("one", 0.1, 12, 16, "5"), "evidence is impossible"),
        (("one", 0.1, 12, 16, "-1"), "evidence cannot be read"),
        (("one", 0.1, 12, 16, '["counts",{"trials":-3,"kept":-4}]'), "evidence is impossible"),
        (("one", 0.1, 12, 16, '["outcomes",{"marks":"012"}]'), "evidence is impossible"),
        (("one", 0.1, 12, 16, '["severities",{"values":[0.1],"limit":0}]'), "is impossible"),
        (("one", 0.1, 12, 16, '["nothing",{}]'), "evidence cannot be read"),
        (("one", 0.1, 12, 16, "[" * 9999), "evidence cannot be read"),
    ],
)
def test_impossible_rows_are_refused_also_with_the_right_checksum(row, problem):
    _, level, start, stop, evidence = row
    chains = Chains("digest")
    (first,) = chains.add([("one", 0.1, 0, 12, "12")])
    checksum = crc32(f"1 {level!r} {start} {stop} {evidence}".encode(), first[-1])
    with pytest.raises(BadRow, match=problem):
        chains.read([(1, *row, checksum)], defaultdict(list))


GARBAGE = {
    "surefoot_runs": (
        "spec = 'nonsense'", "spec = '[]'", "spec = x'ff00'", "source = '[1]'",
        "source = '{\"wrong\": 1}'", "started = 7.5, written = x'00'", "trials = -3",
        "seconds = 'long'", "digest = ''",
    ),
    "surefoot_meta": ("value = 'garbage'", "value = x'ff'"),
}  # fmt: skip


@pytest.mark.parametrize(("table", "values"), [(t, v) for t in GARBAGE for v in GARBAGE[t]])
def test_garbage_in_a_run_or_in_the_schema_is_one_sentence(path, table, values):
    change(path, f"UPDATE {table} SET {values}")
    with pytest.raises(StoreFailed) as refusal, closing(SqlStore(path)) as store:
        store.runs()
    assert "\n" not in str(refusal.value)


def test_two_writers_of_one_run_keep_the_first_answer_to_each_trial(tmp_path):
    where = tmp_path / "run.db"
    with opened(where) as (store, a), opened(where) as (_, b):
        assert a.replay() == b.replay() == {}
        a.append([answer(ONE, 0, 4, kept=4)])
        b.append([answer(ONE, 0, 4, kept=4), answer(TWO, 0, 4)])
        a.append([answer(TWO, 2, 6), answer(ONE, 4, 8)])
        b.append([answer(ONE, 2, 6), answer(ONE, 8, 9), answer(ONE, 8, 9)])
        kept = a.replay()
        assert b.replay() == kept
        (run,) = store.runs()
    assert [(e.start, e.stop, e.evidence.kept) for e in kept["one"]] == [
        (0, 4, 4), (4, 8, 1), (8, 9, 1)
    ]  # fmt: skip
    assert [(e.start, e.stop) for e in kept["two"]] == [(0, 4)]
    assert run.trials == 13


def test_two_writers_whose_answers_differ_are_noticed(tmp_path):
    where = tmp_path / "run.db"
    with opened(where) as (_, a), opened(where) as (_, b):
        a.append([answer(ONE, 0, 4, kept=4)])
        with pytest.raises(AnswersDiffer, match="trials 0 to 3 of input one otherwise"):
            b.append([answer(ONE, 0, 4, kept=0), answer(TWO, 0, 4)])
        assert list(a.replay()) == ["one"]


def test_a_writer_that_comes_after_the_end_adds_nothing(path):
    with closing(SqlStore(path)) as store:
        store.journal("digest").append([answer(ONE, 12, 16)])
        assert len(store.journal("digest").replay()["one"]) == 3
        assert store.record().trials == 20


def test_a_run_that_a_limit_ended_goes_on_under_its_record(path):
    with closing(SqlStore(path)) as store:
        store.finish(replace(RECORD, stopped_early=True))
        store.journal("digest").append([answer(ONE, 12, 16)])
        assert len(store.journal("digest").replay()["one"]) == 4
        assert store.record().stopped_early
    change(path, f"UPDATE {J} SET evidence = '0' WHERE number = 6")
    raised(StoreFailed, r"row 6 .input one.", replay, path)


def test_rows_taken_over_from_another_run_have_chains_of_their_own(path):
    with closing(SqlStore(path)) as store:
        store.begin("later", example_spec(2), None, {})
        store.adopt("digest", "later")
        store.adopt("digest", "later")
        assert store.journal("later").replay() == store.journal("digest").replay()
        store.journal("later").append([answer(ONE, 12, 16)])
    with closing(SqlStore(path)) as store:
        assert len(store.journal("later").replay()["one"]) == 4


def test_levels_and_trials_come_back_as_they_were(tmp_path):
    task = Task(ONE, -0.0, 2**40, 2**40 + 3), Outcomes("101")
    with opened(tmp_path / "run.db") as (_, journal):
        journal.append([task, answer(ONE, 0, 2, level=1 / 3)])
        first, second = journal.replay()["one"]
    assert first == (0.0, 2**40, 2**40 + 3, Outcomes("101"))
    assert second.level == 1 / 3


def test_coverage_is_a_set_of_trials():
    chance, coverage, there = random.Random(3), Coverage(), set()
    for _ in range(300):
        start = chance.randrange(400)
        own = set(range(start, start + chance.randrange(1, 9)))
        assert coverage.add(("a", 0.0), min(own), max(own) + 1) == (not own & there)
        if not own & there:
            there |= own
    assert coverage.add(("a", 1.0), 0, 400)
