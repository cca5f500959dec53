"""The dashboard beside runs that go on: live progress, servers, replays, and what is kept."""

import asyncio
import json
import sqlite3
from contextlib import aclosing, closing
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.counts import Counts
from surefoot.core.tasks import Subject, Task
from surefoot.errors import InvalidArgument, StoreFailed
from surefoot.records.record import Source
from surefoot.serve.runs import State, state_of
from surefoot.serve.settings import Settings
from surefoot.serve.stores import BoundedCache
from surefoot.store import open_store, reading
from surefoot.testing.conformance import example_spec
from tests.unit.small_models import batch, linear_net
from tests.worlds import study

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from surefoot.serve import live, replay_process
from surefoot.serve.app import create_app
from surefoot.serve.replay import Replayer, folder_of_files
from surefoot.serve.stores import served_stores
from surefoot.store.runs import FirstFailure
from tests.refusals import refused


def test_pages_that_watch_share_one_poller_and_get_what_another_process_writes(where, monkeypatch):
    monkeypatch.setattr(live, "POLL_SECONDS", 0.01)
    poller = live.StorePoller(served_stores([where])[0])

    async def next_run(messages):
        while not (message := await anext(messages)).startswith("data:"):
            pass
        return json.loads(message.removeprefix("data:"))["runs"][0]

    async def watch():
        async with (
            aclosing(live.live_messages([poller])) as one,
            aclosing(live.live_messages([poller])) as two,
        ):
            assert (await next_run(one))["words"] == "0 trials"
            task = poller._task
            await next_run(two)
            assert poller._task is task
            with closing(open_store(where)) as store:
                answer = (Task(Subject("7", (0,)), 0.1, 0, 64), Counts(64, 60))
                store.journal("e" * 64).append([answer])
            run = await next_run(one)
            while run["words"].startswith("0 trials"):  # asked while the row was being written
                run = await next_run(one)
            assert run["words"].startswith("64 trials, 1 of 1 inputs begun")
            assert run["state"] == "in progress"
        assert poller._task is None
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(watch())


@pytest.mark.slow
def test_a_store_in_postgresql_is_listed_watched_and_never_written(postgres):
    url = postgres.new_database()
    digest = study().run(url).record.digest
    client = TestClient(create_app(Settings((url,))), base_url="http://127.0.0.1")
    assert f'data-run="0:{digest}"' in client.get("/").text
    assert client.get(f"/runs/0/{digest}/inputs").status_code == 200
    poller = live.StorePoller(served_stores([url])[0])
    assert json.loads(poller._message())["runs"][0]["run"] == digest
    with (
        reading(url) as store,
        pytest.raises(StoreFailed, match="read-only"),
    ):
        store.begin("a" * 64, example_spec(1), None, {})


@pytest.mark.parametrize(
    ("source", "allowed"),
    [
        (Source("model.onnx", "test.npz"), True),
        (Source("/etc/passwd", "test.npz"), False),
        (Source("../model.onnx", "test.npz"), False),
        (Source("model.onnx", "test.npz", {"labels": "/etc/hosts"}), False),
        (Source("model.onnx", "test.npz", perturb="/elsewhere/mine.py:halve:0.5"), False),
        (Source("/elsewhere/model.py:scores", "test.npz"), False),
        (Source("link.onnx", "test.npz"), False),
        (Source("a\0b", "test.npz"), False),
        (Source("x" * 5000, "/" + "y" * 5000), False),
        (Source("model.onnx", "test.npz", {"output": "x" * 5000, "labels": "a\0b"}), True),
    ],
)
def test_a_replay_opens_files_of_the_allowed_folders_only(tmp_path, monkeypatch, source, allowed):
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
        (folder / "link.onnx").symlink_to("/etc/hosts")
    for name in ("model.onnx", "test.npz"):
        (own / name).touch()
    for current in (own, other, tmp_path):
        monkeypatch.chdir(current)
        if allowed:
            assert folder_of_files(source, (other, own)) == own
        else:
            refused("not in a folder that --replay names", folder_of_files, source, (other, own))


def test_a_relative_name_starts_from_the_current_folder_where_no_allowed_one_has_it(cwd):
    (cwd / "data").mkdir()
    for name in ("m.onnx", "d.npz"):
        (cwd / "data" / name).touch()
    source = Source("data/m.onnx", "data/d.npz")
    assert folder_of_files(source, (cwd / "data",)) == cwd


@pytest.fixture
def where(tmp_path):
    """A store with a run that has just begun."""
    with closing(open_store(str(tmp_path / "runs.db"))) as store:
        store.begin("e" * 64, example_spec(5), None, {})
    return str(tmp_path / "runs.db")


def test_a_run_goes_on_only_while_something_is_written(where):
    line = served_stores([where])[0].lines()[0]
    old = "2020-01-01T00:00:00+00:00"
    assert state_of(line) is State.IN_PROGRESS
    assert state_of(replace(line, written=old)) is State.UNFINISHED
    assert state_of(replace(line, written="nonsense")) is State.UNFINISHED
    assert state_of(replace(line, written=old, finished=old, stopped=True)) is State.STOPPED
    goes_on = replace(line, finished=old, stopped=True)
    assert state_of(goes_on) is State.IN_PROGRESS


def test_the_list_and_its_live_messages_agree_on_the_state_of_every_run(where):
    """Where they differ, a page loads itself again every second: a continued run once did."""
    study().run(where)
    ends = [("", 0), ("", 1), ("9999", 0), ("2020", 1), ("9999", 1)]
    for finished, stopped in ends:
        with closing(sqlite3.connect(where)) as db, db:
            end = finished and f"{finished}-01-01T00:00:00+00:00"
            db.execute("UPDATE surefoot_runs SET finished = ?, stopped = ?", (end, stopped))
        own = served_stores([where])[0]
        listed = {line.digest: str(state_of(line)) for line in own.lines()}
        runs = json.loads(live.StorePoller(own)._message())["runs"]
        assert {run["run"]: run["state"] for run in runs} == listed


def test_what_is_kept_in_memory_is_bounded_and_the_last_used_stays():
    cache, calls = BoundedCache(10, len), []

    def value(name):
        return cache.get(name, lambda: calls.append(name) or name * 4)

    for name in ("a", "b", "a", "c", "a", "b"):
        value(name)
    assert calls == ["a", "b", "c", "b"]
    assert cache.get("huge", lambda: "x" * 11) == "x" * 11
    value("b")
    assert calls == ["a", "b", "c", "b"]


@pytest.mark.slow
def test_a_replay_runs_the_first_failing_trial_in_a_process_of_its_own(cwd, monkeypatch):
    linear_net(cwd / "m.onnx")
    np.savez("d.npz", x=batch(9))
    words = ["m.onnx", "d.npz"]
    result = sf.estimate(*words, perturb="linf:0.5", bounds=(0, 1), each=0.2, store="runs.db")
    record = result.record
    failing = next(row for row in record.inputs if row.result.value < 1)
    where = served_stores(["runs.db"])[0]
    among = where.first_failures(where.lines()[0], [failing.id])[failing.id]
    on = Replayer(Settings(("runs.db",), folders=(cwd,)))
    (cwd / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")  # the names in the store start from the folder of --replay
    trial = on.replay("../runs.db", record.digest, record.source, failing.id, among)
    monkeypatch.chdir(cwd)
    assert trial.trial in range(among.start, among.stop)
    assert [
        sf.read_study("runs.db").replay(failing.id, i).kept for i in range(trial.trial + 1)
    ] == [*[True] * trial.trial, False]
    with pytest.raises(InvalidArgument, match="start it with --replay FOLDER"):
        off = Replayer(Settings(("runs.db",)))
        off.replay("runs.db", record.digest, record.source, failing.id, among)
    on._one_at_a_time.acquire()
    with pytest.raises(InvalidArgument, match="another trial is being replayed"):
        on.replay("runs.db", record.digest, record.source, failing.id, FirstFailure(0, 1))
    request = {"store": "runs.db", "run": record.digest, "input": "none", "start": 0, "stop": 1}
    request |= {"trust": False, "folders": ["."]}
    assert "there is no input" in replay_process.answer(request)["problem"]
    (cwd / "elsewhere/d.npz").symlink_to(cwd / "d.npz")
    outside = replay_process.answer(request | {"folders": [str(cwd / "elsewhere")]})
    assert "not in a folder that --replay names" in outside["problem"]
