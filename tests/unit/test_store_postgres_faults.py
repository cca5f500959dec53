"""A store in PostgreSQL whose server restarts, stays away, is full, or has lost something."""

from contextlib import closing, contextmanager

import pytest
import sqlalchemy as sa

from surefoot.errors import StoreFailed
from surefoot.store.sql import SqlStore
from tests.unit.test_store_postgres import answer, begin

pytestmark = pytest.mark.slow


@pytest.fixture
def url(postgres):
    return postgres.new_database()


def test_a_server_that_restarts_costs_nothing(postgres, url, monkeypatch):
    waited = []

    def sleep(seconds):
        waited.append(seconds)
        if len(waited) == 2:
            postgres.start()

    monkeypatch.setattr("surefoot.store.database.sleep", sleep)
    with closing(SqlStore(url)) as store:
        journal = begin(store)
        journal.append([answer("a", 0, 4)])
        postgres.stop()
        journal.append([answer("a", 4, 8)])
        journal.append([answer("a", 8, 12)])
        assert [e.start for e in journal.replay()["a"]] == [0, 4, 8]
    assert waited == [0.5, 1.0]


def test_a_server_that_stays_away_is_one_sentence(postgres, url, monkeypatch):
    waited = []
    monkeypatch.setattr("surefoot.store.database.sleep", waited.append)
    with closing(SqlStore(url)) as store:
        journal = begin(store)
        postgres.stop()
        try:
            with pytest.raises(
                StoreFailed, match=r"5 new attempts in 15\.5 s failed: run the same"
            ):
                journal.append([answer("a", 0, 4)])
        finally:
            postgres.start()
    assert len(waited) == 5


def test_a_batch_whose_commit_was_not_answered_is_not_written_twice(url, monkeypatch):
    lost = iter([True])
    with closing(SqlStore(url)) as store:
        journal = begin(store)
        journal.append([answer("a", 0, 4)])
        engine = store._database.engine
        begin_transaction = engine.begin

        @contextmanager
        def commit_without_answer():
            with begin_transaction() as db:
                yield db
            if next(lost, False):
                raise sa.exc.OperationalError("COMMIT", {}, OSError("lost"), None, True)

        monkeypatch.setattr(engine, "begin", commit_without_answer)
        monkeypatch.setattr("surefoot.store.database.sleep", lambda _: None)
        journal.append([answer("a", 4, 8), answer("b", 0, 4)])
        journal.append([answer("a", 8, 9)])
        assert [e.start for e in journal.replay()["a"]] == [0, 4, 8]
        assert store.runs()[0].trials == 13


READ_ONLY = "ALTER DATABASE {} SET default_transaction_read_only = {}"
FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON surefoot_journal EXECUTE FUNCTION full_disk()"""


def test_a_full_or_read_only_server_is_one_sentence_and_the_run_goes_on_later(
    postgres, url, monkeypatch
):
    monkeypatch.setattr("surefoot.store.database.sleep", lambda _: None)
    name = url.rpartition("/")[2]
    with closing(SqlStore(url)) as store:
        journal = begin(store)
        journal.append([answer("a", 0, 4)])
        postgres.execute(FULL, name)
        with pytest.raises(StoreFailed, match=r"No space left on device.*: free some space"):
            journal.append([answer("a", 4, 8)])
        postgres.execute("DROP TRIGGER full_disk ON surefoot_journal", name)
        postgres.execute(READ_ONLY.format(name, "on"))
        postgres.cut_connections(name)
        with pytest.raises(StoreFailed, match="read-only transaction: connect to the server that"):
            journal.append([answer("a", 4, 8)])
    postgres.execute(READ_ONLY.format(name, "off"))
    with closing(SqlStore(url)) as store:
        journal = store.journal("digest")
        journal.replay()
        journal.append([answer("a", 4, 8)])
        assert [e.start for e in journal.replay()["a"]] == [0, 4]


def test_rows_that_a_server_lost_while_it_was_away_are_noticed(postgres, url, monkeypatch):
    """As a replica that takes over before it has everything."""
    monkeypatch.setattr("surefoot.store.database.sleep", lambda _: None)
    name = url.rpartition("/")[2]
    with closing(SqlStore(url)) as store:
        journal = begin(store)
        journal.append([answer("a", 0, 4)])
        journal.append([answer("a", 4, 8)])
        postgres.execute("DELETE FROM surefoot_journal WHERE number = 1", name)
        postgres.execute("UPDATE surefoot_runs SET rows = 1, trials = 4", name)
        postgres.cut_connections(name)
        with pytest.raises(StoreFailed, match="2 were written and 1 are left: run the same comm"):
            journal.append([answer("a", 8, 12)])
    with closing(SqlStore(url)) as store:
        assert [e.start for e in store.journal("digest").replay()["a"]] == [0]
