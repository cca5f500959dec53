"""Killed, stopped or interrupted at any moment: the same command goes on and ends the same."""

import json
import random
import signal
import sqlite3
import time

import pytest

from tests.system.conftest import Workspace

SLOW = ("estimate", "model.onnx", "test.npz", "--perturb", "linf:48/255", "--width", "0.05",
        "--method", "okamoto", "--confidence", "0.95", "--batch", "16", "--json")  # fmt: skip


NOISY_CURVE = ("curve", "model.onnx", "test.npz", "--perturb", "gaussian:0..0.1", "--threshold",
               "0.5", "--resolution", "0.05", "--batch", "4",
               "--json")  # fmt: skip
"""Of the expectation over fresh draws of the noise."""


def result_of(done):
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    return {k: record[k] for k in ("claims", "inputs", "details", "digest", "trials")}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """What the same command ends with where nothing stops it."""
    return result_of(Workspace(tmp_path_factory.mktemp("uninterrupted")).run(*SLOW))


def trials_in_journal(workspace):
    with sqlite3.connect(workspace.folder / "surefoot.db") as db:
        (n,) = db.execute("SELECT coalesce(sum(stop - start), 0) FROM surefoot_journal").fetchone()
    db.close()
    return n


def wait_for_evidence(workspace, process, least):
    """Until the journal holds more than `least` trials."""
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            if trials_in_journal(workspace) > least:
                return
        except sqlite3.Error:
            pass
        time.sleep(0.01)
    raise AssertionError(f"no progress: {process.communicate()}")


def test_kill_9_at_random_moments_loses_nothing_and_changes_nothing(workspace, uninterrupted):
    chance, before, killed = random.Random(20), 0, 0
    while killed < 4 and before < uninterrupted["trials"] / 2:
        process = workspace.start(*SLOW)
        wait_for_evidence(workspace, process, before)
        time.sleep(chance.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        assert trials_in_journal(workspace) > before
        before = trials_in_journal(workspace)
    assert killed, "the run finished before it could be killed"
    again = workspace.run(*SLOW)
    assert result_of(again) == uninterrupted
    assert trials_in_journal(workspace) == uninterrupted["trials"], (
        "trials were run twice or are missing"
    )


def test_kill_9_in_the_middle_of_a_curve_with_noise_changes_nothing(workspace, tmp_path_factory):
    plain = result_of(Workspace(tmp_path_factory.mktemp("curve")).run(*NOISY_CURVE, timeout=300))
    assert plain["claims"][0]["random"] == "fresh perturbations"
    before = 0
    for _ in range(3):
        process = workspace.start(*NOISY_CURVE)
        wait_for_evidence(workspace, process, before)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "the run finished before it could be killed"
        before = trials_in_journal(workspace)
    assert 0 < before < plain["trials"]
    assert result_of(workspace.run(*NOISY_CURVE, timeout=300)) == plain
    assert trials_in_journal(workspace) == plain["trials"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_is_one_sentence_and_the_run_goes_on(workspace, uninterrupted, sent):
    process = workspace.start(*SLOW, "--report", "report.html")
    wait_for_evidence(workspace, process, 0)
    process.send_signal(sent)
    out, err = process.communicate(timeout=90)
    assert process.returncode == 3
    assert out == ""
    assert err.strip().splitlines()[-1] == (
        "surefoot: stopped: the evidence so far is in the store; the same command continues the run"
    )
    assert "Traceback" not in err
    assert "report.html" not in workspace.files()
    listed = workspace.run("show", "--list")
    assert "unfinished" in listed.stdout
    unfinished = workspace.run("show")
    assert unfinished.returncode == 3
    assert "run the same command again" in unfinished.stderr
    assert result_of(workspace.run(*SLOW)) == uninterrupted


def test_two_processes_on_one_store_agree(workspace):
    first, second = workspace.start(*SLOW), workspace.start(*SLOW)
    results = []
    for process in (first, second):
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        results.append(json.loads(out))
    assert results[0]["claims"] == results[1]["claims"]
    assert results[0]["inputs"] == results[1]["inputs"]
    assert result_of(workspace.run(*SLOW))["claims"] == results[0]["claims"]
