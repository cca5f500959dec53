"""A store in PostgreSQL: for many processes, with a server that fails; passwords stay secret."""

import re
import sys
import threading
from contextlib import ExitStack, closing, contextmanager
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from surefoot.cli import main
from surefoot.core.counts import Counts
from surefoot.core.tasks import Subject, Task
from surefoot.errors import InvalidArgument, MissingPackage, StoreFailed
from surefoot.store import open_existing, open_store, store_exists
from surefoot.store.locations import check_location, public_location, without_passwords
from surefoot.store.sql import SqlStore
from surefoot.testing import check_store
from surefoot.testing.conformance import example_spec
from tests.postgres_server import KEEPER, PASSWORD
from tests.refusals import raised
from tests.worlds import study

SECRET = quote(PASSWORD, safe="")


@pytest.fixture
def url(postgres):
    return postgres.new_database()


@pytest.fixture
def no_waiting(monkeypatch):
    """New attempts come at once; how long each waited."""
    waited = []
    monkeypatch.setattr("surefoot.store.database.sleep", waited.append)
    return waited


def name_of(url):
    return url.rpartition("/")[2]


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
def test_a_database_is_a_store_once_something_is_stored(url):
    assert not store_exists(url)
    with closing(open_existing(url)) as store:
        assert (store.runs(), store.check()) == ([], [])
        raised(StoreFailed, "has no runs yet", store.record)
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
def test_a_database_of_another_program_is_left_alone(postgres, url):
    name = name_of(url)
    postgres.execute("CREATE TABLE songs (title TEXT)", name)
    raised(StoreFailed, r"another program \(it holds songs", study().run, url)
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    assert postgres.execute(tables, name) == [("songs",)]


@pytest.mark.slow
def test_credentials_come_from_the_environment_and_the_password_file(
    postgres, url, monkeypatch, tmp_path
):
    own = url.replace("postgres@", f"{KEEPER}@")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    raised(StoreFailed, "no password supplied: set PGPASSWORD", open_store, own)
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
    monkeypatch.setenv("PGDATABASE", name_of(url))
    with closing(open_existing("postgresql://")) as store:
        assert store.runs() == []


@pytest.mark.slow
def test_a_password_in_the_url_is_used_and_never_kept(postgres, url):
    own = url.replace("postgres@", f"{KEEPER}:{SECRET}@")
    result = study().run(own)
    assert result.store == url.replace("postgres@", f"{KEEPER}@")
    kept = repr(postgres.execute("SELECT * FROM surefoot_runs", name_of(url)))
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
    with pytest.raises((StoreFailed, InvalidArgument)) as refusal:
        open_store(where)
    assert SECRET not in str(refusal.value)
    assert PASSWORD not in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_message_loses_every_form_of_the_password():
    url = "postgresql://u:p%40ss@h/d"
    assert without_passwords(f"{url} p%40ss p@ss", url) == "postgresql://u@h/d *** ***"


def test_a_missing_package_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    raised(MissingPackage, r"pip install 'surefoot\[postgres\]'", open_store, "postgresql://u@h/d")


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_server_that_stays_away_is_one_sentence(postgres, url, no_waiting):
    with closing(SqlStore(url)) as store:
        journal = begin(store)
        postgres.stop()
        try:
            with pytest.raises(StoreFailed, match=r"5 new attempts in 15\.5 s failed"):
                journal.append([answer("a", 0, 4)])
        finally:
            postgres.start()
    assert len(no_waiting) == 5


@pytest.mark.slow
def test_a_batch_whose_commit_was_not_answered_is_not_written_twice(url, monkeypatch, no_waiting):
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
        journal.append([answer("a", 4, 8), answer("b", 0, 4)])
        journal.append([answer("a", 8, 9)])
        assert [e.start for e in journal.replay()["a"]] == [0, 4, 8]
        assert store.runs()[0].trials == 13


READ_ONLY = "ALTER DATABASE {} SET default_transaction_read_only = {}"
FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON surefoot_journal EXECUTE FUNCTION full_disk()"""


@pytest.mark.slow
def test_a_full_or_read_only_server_is_one_sentence_and_the_run_goes_on_later(
    postgres, url, no_waiting
):
    name = name_of(url)
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


@pytest.mark.slow
def test_rows_that_a_server_lost_while_it_was_away_are_noticed(postgres, url, no_waiting):
    """As a replica that takes over before it has everything."""
    name = name_of(url)
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


FORMS = (
    "postgresql://u:{}@127.0.0.1:1/x", "postgres://u:{}@h/d?sslmode=require", "postgresql://:{}@/d",
    "PostgreSQL://u:{}@h/d", "postgresql+psycopg://u:{}@h/d", "postgresql://u@h/d?password={}",
    "postgresql://u@h/d?sslpassword={}&sslmode=require", "postgresql://u@h?sslmode=a&password={}",
    "postgresql://u@h/d?PASSWORD={}", "postgresql://u@h/d?pass%77ord={}",
    "postgresql:/u:{}@h/d", "postgresql:u:{}@h/d", "host=h user=u password={}",
)  # fmt: skip
ODD = st.text("QXZ019 \t\n@/:?#&=%'\"\\\x00\xa0.,;[]()*é", max_size=12)


@settings(max_examples=120, deadline=None)
@given(ODD, ODD, st.sampled_from(FORMS))
@example("QQQ ", "", FORMS[0])
@example("12 ", "", FORMS[0])
@example("ab'", "", FORMS[5])
@example("a/", "", FORMS[3])
def test_no_part_of_an_odd_password_is_shown(before, after, form):
    password = f"{before}WVWV{after}"
    typed = form.format(password)
    shown = [public_location(typed), public_location(f"--store={typed}")]
    try:
        check_location(typed)
    except InvalidArgument as refused:
        shown.append(str(refused))
    else:
        sentences = (f"no store {typed}: name one", f"got {typed!r}", f"{typed} and {typed}")
        shown += [without_passwords(sentence, typed) for sentence in sentences]
    for text in shown:
        for letters in re.findall("[A-Z]{3,}", password):
            assert letters not in text, text


@pytest.mark.parametrize("password", ["SECRET PW", "a/SECRET", "a@SECRET", "a?SECRET"])
def test_neither_a_command_nor_a_study_file_shows_a_password(
    tmp_path, monkeypatch, capsys, password
):
    where = f"postgresql://u:{password}@127.0.0.1:1/x"
    file, junit = tmp_path / "a.toml", tmp_path / "a.xml"
    (tmp_path / "there").write_text("")
    file.write_text(
        f'[[study]]\nname = "a"\ncommand = "estimate"\nstore = "{where}"\nperturb = "linf:0.1"\n'
        'model = "there"\ndata = "there"\n'
    )
    commands = (
        ["show", "--list", "--store", where], ["show", where], ["tally", f"--{where}"],
        ["run", str(file), "--junit", str(junit)],
    )  # fmt: skip
    for words in commands:
        monkeypatch.setattr(sys, "argv", ["surefoot", *words])
        assert main._run() == 3
    printed = capsys.readouterr()
    written = junit.read_text() if junit.exists() else ""
    assert "SECRET" not in printed.out + printed.err + written
    assert printed.err.count("%20") == len(commands)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("mysql://u:a SECRET@h/d", "URL of mysql"),
        ("sqlite://u:a SECRET@h/d", "sqlite:///file"),
        ("u:SECRET://x", "URL of another form"),
    ],
)
def test_other_addresses_are_refused_without_being_quoted(where, sentence):
    from surefoot.store import open_existing

    with pytest.raises(InvalidArgument, match=sentence) as refused:
        open_existing(where)
    assert "SECRET" not in str(refused.value)
