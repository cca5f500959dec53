"""A damaged store or journal is noticed, told what is wrong, and goes on from what is sound."""

import json
import random
import shutil
import sqlite3
from collections import defaultdict
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest

import surefoot as sf
from surefoot.core.counts import Counts, Outcomes
from surefoot.core.tasks import Subject, Task
from surefoot.errors import AnswersDiffer, StoreFailed
from surefoot.records.record import AttackSummary, Record
from surefoot.store.chains import BadRow, Chains, Coverage, seal_of
from surefoot.store.sql import SqlStore
from surefoot.testing.conformance import example_spec
from tests.refusals import raised
from tests.system import forked
from tests.worlds import study

J, R = "surefoot_journal", "surefoot_runs"


def setup():
    return study(method=sf.methods.BuSun(0.2, 0.2))


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A store with one finished run."""
    path = tmp_path_factory.mktemp("store") / "runs.db"
    setup().run(str(path), batch=16)
    return path


@pytest.fixture
def path(sound, tmp_path):
    """A copy to damage."""
    return Path(shutil.copy(sound, tmp_path / "runs.db"))


def change(path, *statements):
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA foreign_keys=OFF")
        for statement in statements:
            db.execute(statement)
        db.commit()


def show(path, *words):
    return forked.run(("show", *words, "--store", str(path)), path.parent, 60)


def masked(result):
    return replace(result.record, started="", seconds=0.0, environment={})


DAMAGES = {
    "a changed count": f"UPDATE {J} SET evidence = evidence + 1 WHERE number = 7",
    "a lost row": f"DELETE FROM {J} WHERE number = 7",
    "no UTF-8": f"UPDATE {J} SET evidence = CAST(x'ff31' AS TEXT) WHERE number = 7",
    "rows too many": f"INSERT INTO {J} SELECT run, number + 1, subject, level, start + 900, "
    f"stop + 900, evidence, checksum FROM {J} ORDER BY number DESC LIMIT 1",
    "a wrong number of rows": f"UPDATE {R} SET rows = 7",
    "a wrong number of trials": f"UPDATE {R} SET trials = trials + 1",
    "a changed record": f"UPDATE {R} SET record = replace(record, '0.', '1.')",
    "a record that is cut off": f"UPDATE {R} SET record = substr(record, 1, 99)",
    "another time of the end": f"UPDATE {R} SET finished = '2031'",
    "a mark of a limit": f"UPDATE {R} SET stopped = 1",
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_goes_on_from_its_last_sound_row_to_the_same_result(path, name):
    whole = setup().run(str(path), batch=16)
    (before,) = sf.check_store(str(path))
    assert not before.problem
    change(path, DAMAGES[name])
    (check,) = sf.check_store(str(path))
    assert check.problem
    assert check.readable
    journal_is_cut = name in ("a changed count", "a lost row", "no UTF-8", "a wrong number of rows")
    assert check.sound == (7 if journal_is_cut else before.rows)
    raised(StoreFailed, "--repair", setup().run, str(path), batch=16)
    assert sf.repair_run(str(path), check.digest[:8]) == check
    (kept,) = sf.check_store(str(path))
    assert (kept.rows, kept.problem) == (check.sound, "")
    again = setup().run(str(path), batch=16)
    assert masked(again) == masked(whole)
    assert sf.repair_run(str(path), check.digest).problem == ""


@pytest.mark.parametrize(
    "statement",
    [f"UPDATE {R} SET spec = 'nonsense', record = NULL", f"UPDATE {R} SET trials = -1"],
)
def test_a_run_that_cannot_be_read_is_removed_and_starts_afresh(path, statement):
    whole = setup().run(str(path), batch=16)
    change(path, statement)
    (check,) = sf.check_store(str(path))
    assert check.problem.startswith(f"run {check.digest[:12]}")
    assert not check.readable
    sf.repair_run(str(path), check.digest)
    assert sf.check_store(str(path)) == []
    assert masked(setup().run(str(path), batch=16)) == masked(whole)


UNFINISHED = (
    f"UPDATE {R} SET record = NULL, finished = NULL, sealed_rows = 0, heads = '', seal = '', "
    "spec = replace(spec, '0.2', '0.3')"
)


def test_a_study_that_its_name_does_not_stand_for_is_damaged_and_the_command_puts_it_right(path):
    whole = setup().run(str(path), batch=16)
    change(path, UNFINISHED)
    (check,) = sf.check_store(str(path))
    assert (check.readable, check.sound) == (False, check.rows)
    assert "puts it right" in show(path, "--check").stdout
    assert masked(setup().run(str(path), batch=16)) == masked(whole)
    (again,) = sf.check_store(str(path))
    assert (again.problem, again.rows) == ("", check.rows)


@pytest.mark.parametrize("spec", ["replace(spec, '0.2', '0.3')", "'nonsense'"])
def test_the_study_of_a_finished_run_is_put_right_from_its_record(path, spec):
    expected = sf.read_result(str(path)).to_json()
    change(path, f"UPDATE {R} SET spec = {spec}")
    (check,) = sf.check_store(str(path))
    assert check.problem and check.readable
    assert sf.repair_run(str(path), check.digest) == check
    assert [one.problem for one in sf.check_store(str(path))] == [""]
    assert sf.read_result(str(path)).to_json() == expected


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE TRIGGER t AFTER INSERT ON {J} BEGIN UPDATE {R} SET trials = 0; END",
        f"CREATE VIEW v AS SELECT * FROM {R}",
    ],
)
def test_a_store_that_runs_code_is_refused_and_its_runs_are_saved(path, statement):
    expected = sf.read_result(str(path)).to_json()
    change(path, statement)
    (check,) = sf.check_store(str(path))
    assert check.whole_file
    refused = show(path, "--check")
    assert (refused.returncode, "--repair" in refused.stdout) == (3, True)
    raised(StoreFailed, "no store has one", setup().run, str(path))
    rescue = sf.rescue_runs(str(path))
    assert [one.problem for one in rescue.runs] == [""]
    assert sf.read_result(rescue.store).to_json() == expected


def test_damaged_pages_have_one_answer_and_what_can_be_read_is_saved(sound, tmp_path):
    """Every page in turn, but the first: whatever is saved leads to the same result."""
    whole, content, saved = masked(setup().run(str(sound), batch=16)), sound.read_bytes(), 0
    for page in range(1, len(content) // 4096):
        path = tmp_path / f"{page}.db"
        path.write_bytes(content[: page * 4096] + b"Z" * 200 + content[page * 4096 + 200 :])
        (check,) = sf.check_store(str(path))
        assert check.whole_file
        raised(StoreFailed, "--repair", sf.repair_run, str(path), "ea")
        try:
            rescue = sf.rescue_runs(str(path))
        except StoreFailed as error:
            assert "no run of it can be read" in str(error)
            assert not list(tmp_path.glob(f"{page}.rescued*"))
            continue
        saved += 1
        assert [one.problem for one in sf.check_store(rescue.store)] == [""]
        assert masked(setup().run(rescue.store, batch=16)) == whole
    assert saved >= 5


def test_the_command_saves_the_runs_of_a_damaged_file(sound, path):
    content = sound.read_bytes()
    path.write_bytes(content[:4096] + b"Z" * 200 + content[4296:])
    answers = [show(path, *words, "--json") for words in (("--repair",), ("ea", "--repair"))]
    assert [one.returncode for one in answers] == [0, 0]
    places = [Path(json.loads(one.stdout)["store"]) for one in answers]
    assert [place.name for place in places] == ["runs.rescued.db", "runs.rescued-2.db"]
    assert all(sf.check_store(str(place))[0].problem == "" for place in places)


def test_rows_of_no_run_are_named(path):
    change(path, f"UPDATE {J} SET run = 9 WHERE number > 3")
    first, rest = sf.check_store(str(path))
    assert first.sound == 4
    assert "belong to no run" in rest.problem


def test_one_flipped_bit_changes_no_result(sound, tmp_path):
    """Refused, or without an effect: whichever bit of the file it is."""
    expected = sf.read_result(str(sound)).to_json()
    content, chance, refused = sound.read_bytes(), random.Random(7), 0
    for i in range(60):
        bit = chance.randrange(8 * len(content))
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        path = tmp_path / f"{i}.db"
        path.write_bytes(flipped)
        try:
            assert sf.read_result(str(path)).to_json() == expected, bit
        except StoreFailed as error:
            refused += 1
            assert "\n" not in str(error)
        path.unlink()
    assert refused > 8


def test_the_command_says_what_is_damaged_and_what_to_do(path):
    change(path, f"UPDATE {J} SET evidence = evidence + 1 WHERE number = 7")
    damaged = show(path, "--check")
    assert damaged.returncode == 3
    assert "row 7 (input" in damaged.stdout
    assert "--repair" in damaged.stdout
    (as_json,) = json.loads(show(path, "--check", "--json").stdout)
    assert as_json["sound"] == 7
    repaired = show(path, as_json["run"][:12], "--repair")
    assert (repaired.returncode, "keeps 7 of" in repaired.stdout) == (0, True)
    whole = show(path, "--check")
    assert (whole.returncode, "1 run, 0 damaged" in whole.stdout) == (0, True)


def test_what_cannot_be_repaired_is_one_sentence(path):
    with closing(SqlStore(str(path))) as store:
        store.begin("another", example_spec(1), None, {})
    raised(StoreFailed, "not in the store", sf.repair_run, str(path), "zzz")
    raised(StoreFailed, "must name one run", sf.repair_run, str(path), "")
    unnamed = show(path, "--repair")
    assert unnamed.returncode == 3
    assert "--check lists" in unnamed.stderr


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
def sealed(tmp_path):
    """Six rows: 0, 2 and 4 of input one, 1, 3 and 5 of input two; the run has a record."""
    with opened(tmp_path / "run.db") as (store, journal):
        for start in (0, 4, 8):
            journal.append([answer(ONE, start, start + 4), answer(TWO, start, start + 4)])
        store.finish(RECORD)
    return store.where


def replay(sealed):
    with closing(SqlStore(sealed)) as store:
        return store.journal("digest").replay()


ROW_DAMAGES = {
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


@pytest.mark.parametrize("name", ROW_DAMAGES)
def test_damage_is_noticed_by_a_replay_and_by_who_reads_the_record(sealed, name):
    statements, problem = ROW_DAMAGES[name]
    assert len(replay(sealed)["one"]) == 3
    change(sealed, *statements)
    raised(StoreFailed, rf"journal of run digest .*{problem}.*from a copy", replay, sealed)
    with closing(SqlStore(sealed)) as store, pytest.raises(StoreFailed, match="journal of run"):
        store.record()


def test_a_long_journal_is_counted_when_its_record_is_read(sealed, monkeypatch):
    monkeypatch.setattr("surefoot.store.sql._CHECKED_ROWS", 2)
    with closing(SqlStore(sealed)) as store:
        assert store.record().trials == 20
    change(sealed, f"DELETE FROM {J} WHERE number = 3")
    with closing(SqlStore(sealed)) as store, pytest.raises(StoreFailed, match="has 5 rows, but 6"):
        store.record()


def test_a_record_goes_with_the_journal_it_was_made_from(sealed, tmp_path):
    """The whole journal of another run of the same length, chains and all."""
    with opened(tmp_path / "other.db") as (store, journal):
        for start in (0, 4, 8):
            journal.append([answer(ONE, start, start + 4, 0), answer(TWO, start, start + 4)])
    change(sealed, f"DELETE FROM {J}", f"ATTACH '{store.where}' AS other",
           f"INSERT INTO {J} SELECT * FROM other.{J}")  # fmt: skip
    raised(StoreFailed, "not the one that the record was made from", replay, sealed)


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
def test_garbage_in_a_run_or_in_the_schema_is_one_sentence(sealed, table, values):
    change(sealed, f"UPDATE {table} SET {values}")
    with pytest.raises(StoreFailed) as refusal, closing(SqlStore(sealed)) as store:
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


def test_a_writer_that_comes_after_the_end_adds_nothing(sealed):
    with closing(SqlStore(sealed)) as store:
        store.journal("digest").append([answer(ONE, 12, 16)])
        assert len(store.journal("digest").replay()["one"]) == 3
        assert store.record().trials == 20


def test_a_run_that_a_limit_ended_goes_on_under_its_record(sealed):
    with closing(SqlStore(sealed)) as store:
        store.finish(replace(RECORD, stopped_early=True))
        store.journal("digest").append([answer(ONE, 12, 16)])
        assert len(store.journal("digest").replay()["one"]) == 4
        assert store.record().stopped_early
    change(sealed, f"UPDATE {J} SET evidence = '0' WHERE number = 6")
    raised(StoreFailed, r"row 6 .input one.", replay, sealed)


def test_rows_taken_over_from_another_run_have_chains_of_their_own(sealed):
    with closing(SqlStore(sealed)) as store:
        store.begin("later", example_spec(2), None, {})
        store.adopt("digest", "later")
        store.adopt("digest", "later")
        assert store.journal("later").replay() == store.journal("digest").replay()
        store.journal("later").append([answer(ONE, 12, 16)])
    with closing(SqlStore(sealed)) as store:
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
