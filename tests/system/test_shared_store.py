"""The command line with a store in PostgreSQL: killed, shared by two; passwords stay secret."""

import json
import signal
from urllib.parse import quote

import pytest

from tests.postgres_server import KEEPER, PASSWORD
from tests.system.hold import SECONDS, hold, release, wait_for
from tests.system.test_interruption import fields_of, result_of

RUN = ("estimate", "model.onnx", "test.npz", "--first", "5", "--perturb", "linf:48/255",
       "--each", "0.08", "--method", "okamoto", "--batch", "16", "--json")  # fmt: skip
SMALL_BATCHES = tuple("4" if word == "16" else word for word in RUN)
QUICK = ("estimate", "model.onnx", "test.npz", "--first", "2", "--perturb", "linf:48/255",
         "--each", "0.2")  # fmt: skip
SECRET = quote(PASSWORD, safe="")


@pytest.fixture
def url(postgres):
    return postgres.new_database()


def rows_of(postgres, url):
    statement = "SELECT subject, start, stop FROM surefoot_journal"
    return postgres.execute(statement, url.rpartition("/")[2])


def number_of_rows(postgres, url):
    tables = "SELECT to_regclass('surefoot_journal') IS NOT NULL"
    ((there,),) = postgres.execute(tables, url.rpartition("/")[2])
    return len(rows_of(postgres, url)) if there else 0


def wait_for_rows(postgres, url, process, least):
    """Until there are more rows than that."""

    def is_enough():
        assert process.poll() is None, process.communicate()
        return number_of_rows(postgres, url) > least

    wait_for(is_enough)


def test_killed_listed_and_finished_by_two_at_once(workspace, postgres, url):
    expected = result_of(workspace.run(*RUN))
    hold(workspace.folder, 5)
    process = workspace.start(*RUN, "--store", url, held=True)
    wait_for_rows(postgres, url, process, 0)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (listed,) = json.loads(workspace.run("show", "--list", "--json", "--store", url).stdout)
    assert not listed["finished"]
    assert 0 < listed["trials"] < expected["trials"]
    assert listed["last_write"] >= listed["started"]
    assert "unfinished" in workspace.run("show", "--list", "--store", url).stdout
    both = [workspace.start(*RUN, "--store", url) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, err
        assert fields_of(out) == expected
    trials = [(name, t) for name, a, b in rows_of(postgres, url) for t in range(a, b)]
    assert len(trials) == len(set(trials)), "a trial is in the journal twice"
    assert result_of(workspace.run(*RUN, "--store", url)) == expected


def test_connections_cut_and_two_restarts_in_the_middle_of_a_run_change_nothing(
    workspace, postgres, url
):
    name = url.rpartition("/")[2]
    postgres.execute(f"ALTER DATABASE {name} SET synchronous_commit = on")  # as servers are
    expected = result_of(workspace.run(*RUN))
    hold(workspace.folder, 0)
    process = workspace.start(*SMALL_BATCHES, "--store", url, held=True)

    def restart(how):
        postgres.stop(how)
        postgres.start()

    faults = [
        lambda: postgres.cut_connections(name),
        lambda: restart(signal.SIGINT),
        lambda: restart(signal.SIGQUIT),
    ]
    for number, fault in enumerate(faults, 1):
        before = number_of_rows(postgres, url)
        hold(workspace.folder, 30 * number)
        wait_for_rows(postgres, url, process, before)
        fault()
    release(workspace.folder)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    assert fields_of(out) == expected
    trials = [(name, t) for name, a, b in rows_of(postgres, url) for t in range(a, b)]
    assert len(trials) == len(set(trials)) == fields_of(out)["trials"]


def test_no_byte_of_a_password_leaves_the_command_line(workspace, postgres, url):
    own = url.replace("postgres@", f"{KEEPER}:{SECRET}@")
    done = [
        workspace.run(*QUICK, "--store", own, "--report", "report.html"),
        workspace.run(*QUICK, "--store", own, "--json"),
        workspace.run("show", "--list", "--store", own),
        workspace.run("show", "--list", "--json", f"--store={own}"),
        workspace.run("report", "latest", "--store", own, "--out", "again.html"),
    ]
    failed = [
        workspace.run("show", own, "--store", own),
        workspace.run("show", "latest", own),
        workspace.run("show", "--store", own.replace(SECRET, SECRET + "x")),
        workspace.run("show", "--store", own.replace("postgresql", "mysql")),
        workspace.run("show", "--store", own.rpartition("/")[0] + "/nowhere"),
    ]
    assert [d.returncode for d in done] == [0] * len(done), [d.stderr for d in done]
    assert [d.returncode for d in failed] == [3] * len(failed)
    assert all(d.stderr.count("\n") == 1 for d in failed)
    kept = repr(postgres.execute("SELECT * FROM surefoot_runs", url.rpartition("/")[2])).encode()
    pages = [(workspace.folder / name).read_bytes() for name in ("report.html", "again.html")]
    said = [(d.stdout + d.stderr).encode() for d in done + failed]
    for text in (kept, *pages, *said):
        assert PASSWORD.encode() not in text
        assert SECRET.encode() not in text
    public = url.replace("postgres@", f"{KEEPER}@").encode()
    assert public in pages[0]
    assert public in kept
