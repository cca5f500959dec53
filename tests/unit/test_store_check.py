"""A damaged store is noticed, told what is wrong with it, and goes on from what is sound."""

import json
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import surefoot as sf
from surefoot.errors import StoreFailed
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


def change(path, statement):
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA foreign_keys=OFF")
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
