"""A store in PostgreSQL does what one in a file does, for many processes; passwords stay secret."""

import sys
import threading
from contextlib import ExitStack, closing
from urllib.parse import quote

import pytest

from surefoot.core.counts import Counts
from surefoot.core.tasks import Subject, Task
from surefoot.errors import InvalidArgument, MissingPackage, StoreFailed
from surefoot.store import open_existing, open_store, store_exists
from surefoot.store.locations import public_location, without_passwords
from surefoot.store.sql import SqlStore
from surefoot.testing import check_store
from surefoot.testing.conformance import example_spec
from tests.postgres_server import KEEPER, PASSWORD
from tests.worlds import study

SECRET = quote(PASSWORD, safe="")


@pytest.fixture
def url(postgres):
    return postgres.new_database()


def answer(name, start, stop, kept=1):
    return Task(Subject(name, (0,)), 0.1, start, stop), Counts(stop - start, kept)


def begin(store, digest="digest"):
    store.begin(digest, example_spec(1), None, {})
    return store.journal(digest)


@pytest.mark.slow
def test_the_postgresql_store_conforms(url):
    with ExitStack() as opened:
        check_store(lambda: opened.enter_context(closing(SqlStore(url))))


@pytest.mark.slow
def test_a_study_ends_in_a_database_as_in_memory(url):
    plain, shared = study().run(), study().run(url)
    assert shared.record.claims == plain.record.claims
    assert shared.record.inputs == plain.record.inputs
    again = study().run(url)
    assert again.from_store
    assert again.record == shared.record


@pytest.mark.slow
def test_a_database_is_a_store_once_something_is_stored(url):
    assert not store_exists(url)
    with closing(open_existing(url)) as store:
        assert (store.runs(), store.check()) == ([], [])
        with pytest.raises(StoreFailed, match="has no runs yet"):
            store.record()
    open_store(url).close()
    assert store_exists(url)
    with closing(open_existing(url.replace("postgresql://", "postgres://"))) as store:
        assert store.runs() == []


@pytest.mark.slow
def test_many_writers_neither_lose_nor_double_a_row(url):
    """Four drivers of one study, each with a batch size of its own, beside another study."""
    failed = []

    def drive(size, digest):
        try:
            with closing(SqlStore(url)) as store:
                journal = begin(store, digest)
                journal.replay()
                for start in range(0, 60, size):
                    journal.append([answer(n, start, start + size, 0) for n in ("a", "b")])
        except Exception as error:  # noqa: BLE001  the test reports it
            failed.append(error)

    sizes = {3: "one", 4: "one", 5: "one", 6: "one", 10: "two"}
    threads = [threading.Thread(target=drive, args=item) for item in sizes.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with closing(SqlStore(url)) as store:
        trials = {run.digest: run.trials for run in store.runs()}
        for digest in ("one", "two"):
            for entries in store.journal(digest).replay().values():
                covered = [t for e in entries for t in range(e.start, e.stop)]
                assert len(covered) == len(set(covered))
            assert trials[digest] == 2 * len(covered)
        assert trials["two"] == 120


@pytest.mark.slow
@pytest.mark.parametrize("schema", ["1", "99"])
def test_another_schema_is_refused(postgres, url, schema):
    open_store(url).close()
    postgres.execute(f"UPDATE surefoot_meta SET value = '{schema}'", url.rpartition("/")[2])
    with pytest.raises(StoreFailed, match=rf"another version of surefoot \(schema {schema}"):
        open_store(url)


@pytest.mark.slow
def test_a_database_of_another_program_is_left_alone(postgres, url):
    name = url.rpartition("/")[2]
    postgres.execute("CREATE TABLE songs (title TEXT)", name)
    with pytest.raises(StoreFailed, match=r"another program \(it holds songs"):
        study().run(url)
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    assert postgres.execute(tables, name) == [("songs",)]


@pytest.mark.slow
def test_a_changed_row_is_refused(postgres, url):
    with closing(SqlStore(url)) as store:
        begin(store).append([answer("a", 0, 4), answer("b", 0, 4)])
    postgres.execute("UPDATE surefoot_journal SET evidence = '3' WHERE number = 1",
                     url.rpartition("/")[2])  # fmt: skip
    with closing(SqlStore(url)) as store, pytest.raises(StoreFailed, match=r"row 1 .input b."):
        store.journal("digest").replay()


@pytest.mark.slow
def test_credentials_come_from_the_environment_and_the_password_file(
    postgres, url, monkeypatch, tmp_path
):
    own = url.replace("postgres@", f"{KEEPER}@")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    with pytest.raises(StoreFailed, match="no password supplied: set PGPASSWORD"):
        open_store(own)
    with pytest.raises(StoreFailed, match="failed: Connection refused: check the address"):
        open_store("postgresql://127.0.0.1:1/x")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    open_store(own).close()
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "passwords"
    file.write_text(f"127.0.0.1:{postgres.port}:*:{KEEPER}:{PASSWORD}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    open_store(own).close()
    monkeypatch.setenv("PGUSER", "postgres")
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", str(postgres.port))
    monkeypatch.setenv("PGDATABASE", url.rpartition("/")[2])
    with closing(open_existing("postgresql://")) as store:
        assert store.runs() == []


@pytest.mark.slow
def test_a_password_in_the_url_is_used_and_never_kept(postgres, url):
    own = url.replace("postgres@", f"{KEEPER}:{SECRET}@")
    result = study().run(own)
    assert result.store == url.replace("postgres@", f"{KEEPER}@")
    kept = repr(postgres.execute("SELECT * FROM surefoot_runs", url.rpartition("/")[2]))
    for text in (kept, repr(result), result.to_json(), result._repr_html_()):
        assert PASSWORD not in text
        assert SECRET not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "place",
    ["{user}:wrong-{secret}@127.0.0.1:{port}/x", "{user}:{secret}@127.0.0.1:{port}/nowhere",
     "{user}:{secret}@127.0.0.1:1/x", "{user}:{secret}@127.0.0.1:{port}x/y",
     "{user}:{secret}@127.0.0.1:{port}/x?nonsense=1",
     "{user}@127.0.0.1:{port}/x?password={secret}%",
     "{user}:pass@{secret}@127.0.0.1/x"],
)  # fmt: skip
def test_no_error_names_a_password(postgres, place):
    where = "postgresql://" + place.format(user=KEEPER, secret=SECRET, port=postgres.port)
    with pytest.raises((StoreFailed, InvalidArgument)) as refused:
        open_store(where)
    assert SECRET not in str(refused.value)
    assert PASSWORD not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("postgresql://u:p@h:1/d", "postgresql://u@h:1/d"),
        ("postgresql://u:p@ss/w:d@h/d", "postgresql://***"),
        ("postgres://:p@h/d", "postgres://@h/d"),
        ("postgresql://u@h/d?password=p&sslmode=require", "postgresql://u@h/d?sslmode=require"),
        ("postgresql://u@h/d?sslmode=require&password=p", "postgresql://u@h/d?sslmode=require"),
        ("--store=mysql://u:p@h/d", "--store=mysql://u@h/d"),
        ("postgresql://u@h:5432/d", "postgresql://u@h:5432/d"),
        ("postgresql://u:secret", "postgresql://***"),
        ("http://localhost:8080/a@b", "http://localhost:8080/a@b"),
        ("runs.db", "runs.db"),
    ],
)
def test_a_place_is_shown_without_its_password(typed, shown):
    assert public_location(typed) == shown
    assert public_location(shown) == shown


def test_a_message_loses_every_form_of_the_password():
    url = "postgresql://u:p%40ss@h/d"
    assert without_passwords(f"{url} p%40ss p@ss", url) == "postgresql://u@h/d *** ***"


@pytest.mark.parametrize("where", ["mysql://u:p4ssw0rd@h/d", "postgresql+psycopg://u:p4ssw0rd@h/d"])
def test_other_schemes_are_refused_in_a_sentence(where):
    with pytest.raises(InvalidArgument, match="postgresql://user@host:port/database") as refused:
        open_store(where)
    assert "p4ssw0rd" not in str(refused.value)


def test_a_missing_package_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPackage, match=r"pip install 'surefoot\[postgres\]'"):
        open_store("postgresql://u@h/d")
