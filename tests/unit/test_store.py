"""The store: what goes in comes out, also after a crash; strangers are refused."""

import dataclasses
import json
import logging
import math
import sqlite3
import sys
import threading
from contextlib import closing

import pytest
import sqlalchemy as sa

import surefoot as sf
from surefoot.core.counts import Counts
from surefoot.core.tasks import Subject, Task
from surefoot.errors import StoreFailed
from surefoot.records.json_records import plain_numbers, record_from_json, record_to_json
from surefoot.records.record import Source
from surefoot.store import MemoryJournal
from surefoot.store.database import META, open_database
from surefoot.store.sql import SqlStore
from surefoot.testing import check_journal, check_store
from tests.refusals import raised
from tests.worlds import study


def test_the_memory_journal_conforms():
    journal = MemoryJournal()
    check_journal(lambda: journal)


def test_the_sqlite_store_conforms(tmp_path):
    check_store(lambda: SqlStore(f"sqlite:///{tmp_path}/run.db"))


@pytest.fixture
def finished(tmp_path):
    path = str(tmp_path / "run.db")
    return path, study().run(path)


def test_a_record_survives_the_store_and_json(finished):
    path, result = finished
    assert record_from_json(record_to_json(result.record)) == result.record
    with closing(SqlStore(path, create=False)) as store:
        assert store.record() == result.record
        assert store.record(result.record.digest[:6]) == result.record


def test_a_record_is_the_text_of_its_fields_with_null_for_what_has_no_end(finished):
    open_end = sf.results.Interval(0.0, math.inf)
    measured = (c for c in finished[1].record.claims if isinstance(c, sf.claims.Measured))
    claims = tuple(dataclasses.replace(c, interval=open_end) for c in measured)
    record = dataclasses.replace(finished[1].record, claims=claims)
    plain = json.dumps(plain_numbers(dataclasses.asdict(record)), ensure_ascii=False)
    assert record_to_json(record) == plain
    assert "null" in plain
    assert "Infinity" not in plain


def test_the_same_study_comes_from_the_store_without_running(finished):
    path, result = finished

    def never(x):
        raise AssertionError("the model ran again")

    setup = study()
    again = setup.run(path, on_progress=never)
    assert again.from_store
    assert again.record == result.record


def test_one_tray_is_one_transaction(tmp_path):
    """A batch that fails half-way leaves nothing behind."""
    with closing(SqlStore(str(tmp_path / "run.db"))) as store:
        store.begin("digest", study().spec, None, {})
        journal, subject = store.journal("digest"), Subject("a", (0,))
        with pytest.raises(KeyError):
            journal.append(
                [(Task(subject, 0.1, 0, 3), Counts(3, 3)), (Task(subject, 0.1, 3, 5), _Odd())]
            )
        assert journal.replay() == {}


class _Odd:
    __slots__ = ()


def test_write_ahead_logging_is_on(finished):
    path, _ = finished
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_store_that_another_process_is_making_is_waited_for(tmp_path):
    where = tmp_path / "run.db"
    with closing(sqlite3.connect(where, isolation_level=None, check_same_thread=False)) as other:
        other.execute(f"CREATE TABLE {META.name} (name TEXT PRIMARY KEY, value TEXT)")
        other.execute("BEGIN IMMEDIATE")
        done = threading.Timer(0.3, lambda: other.execute("COMMIT"))
        done.start()
        with closing(SqlStore(str(where))) as store:
            assert store.runs() == []
        done.join()


@pytest.mark.parametrize("schema", [1, 99])
def test_another_schema_is_refused_older_or_newer(finished, schema):
    path, _ = finished
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE surefoot_meta SET value = '{schema}' WHERE name = 'schema'")
        db.commit()
    raised(StoreFailed, rf"another version of surefoot \(schema {schema}", study().run, path)


def test_a_database_of_another_program_is_refused(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE songs (title TEXT)")
        db.commit()
    before = path.read_bytes()
    raised(StoreFailed, r"another program \(it holds songs", study().run, str(path))
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    raised(StoreFailed, "not a surefoot store", study().run, str(path))
    assert path.read_text().startswith("not a database")


def test_a_file_that_was_cut_off_is_damaged_not_foreign(tmp_path):
    path = tmp_path / "run.db"
    study().run(str(path))
    path.write_bytes(path.read_bytes()[:8192])
    raised(StoreFailed, r"is damaged \(.*restore it from a copy", sf.read_result, str(path))


def test_another_study_under_a_name_is_refused_unless_the_name_is_that_of_the_new_one(tmp_path):
    path, setup = str(tmp_path / "run.db"), study()
    with closing(SqlStore(path)) as store:
        store.begin("a name", study(seed=2).spec, None, {})
        raised(StoreFailed, "holds another study", store.begin, "a name", setup.spec, None, {})
        store.begin(setup.digest, study(seed=2).spec, None, {})
    setup.run(path)
    assert {run.digest: run.spec for run in sf.runs(path)}[setup.digest] == setup.spec


def test_a_full_disk_is_one_sentence_and_keeps_what_was_there(tmp_path):
    path = str(tmp_path / "run.db")
    store = SqlStore(path)
    store.begin("digest", study().spec, None, {})

    def tight(connection, _):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")

    store.close()
    sa.event.listen(store._database.engine, "connect", tight)
    journal, subject, kept = store.journal("digest"), Subject("a", (0,)), 0
    with pytest.raises(StoreFailed, match=r"disk is full .*free some space"):
        for i in range(10_000):
            journal.append([(Task(subject, 0.1, i, i + 1), Counts(1, 1))])
            kept += 1
    store.close()
    assert kept > 0
    with closing(SqlStore(path)) as again:
        assert len(again.journal("digest").replay()["a"]) == kept


def test_a_missing_folder_or_store_is_named(tmp_path):
    raised(StoreFailed, "no folder", SqlStore, str(tmp_path / "nowhere" / "run.db"))
    raised(StoreFailed, "no store at", SqlStore, str(tmp_path / "run.db"), create=False)
    assert list(tmp_path.iterdir()) == []


def test_an_unfinished_or_unknown_run_is_named(tmp_path):
    path = str(tmp_path / "run.db")
    with closing(SqlStore(path)) as store:
        raised(StoreFailed, "has no runs yet", store.record)
        store.begin("abcdef", study().spec, Source("a", "b", command="surefoot estimate a b"), {})
        sentence = "run abcdef is not finished: run the same command again, surefoot estimate a b$"
        for prefix in ("", "abc"):
            raised(StoreFailed, sentence, store.record, prefix)
        raised(StoreFailed, "run xyz is not in the store", store.record, "xyz")


def test_a_list_of_runs_needs_no_model_no_method_and_no_scipy():
    """It is what people wait for while a run goes on."""
    import subprocess

    code = (
        "import sys, surefoot.cli.verbs, surefoot.store.sql, surefoot.store.outcomes; "
        "import surefoot.report.formatting, surefoot.report.tables; "
        "heavy = ('scipy', 'altair', 'onnxruntime', 'surefoot.study', 'surefoot.engine'); "
        "sys.exit(', '.join(name for name in heavy if name in sys.modules) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_what_a_stop_does_to_a_connection_is_not_logged(stop, tmp_path):
    """A statement that runs cannot be rolled back: SQLAlchemy logs that, with the stop before."""
    logger = open_database(str(tmp_path / "s.db"), create=True).engine.pool.logger
    try:
        try:
            raise stop
        finally:
            raise OSError("another command is already in progress")
    except OSError:
        records, handler = [], logging.Handler()
        handler.emit = records.append
        logger.addHandler(handler)
        logger.error("during reset", exc_info=True)
        logger.removeHandler(handler)
    assert len(records) == (stop is ValueError)
