"""Killed, stopped or interrupted at any moment: the same command goes on and ends the same."""

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress

import pytest

from surefoot.cli import exit_codes
from surefoot.compiled.library import compiled_library
from tests.system.conftest import Workspace
from tests.system.hold import SECONDS, hold, release, wait_for

RUN = ("estimate", "model.onnx", "test.npz", "--perturb", "linf:48/255", "--each", "0.1",
       "--method", "okamoto", "--confidence", "0.95", "--batch", "16", "--first", "20",
       "--json")  # fmt: skip
OTHER_BATCHES = tuple("24" if word == "16" else word for word in RUN)


STOPPED = (
    "surefoot: stopped: the evidence so far is in the store; the same command continues the run"
)


def result_of(done):
    assert done.returncode == 0, done.stderr
    return fields_of(done.stdout)


def fields_of(out):
    record = json.loads(out)
    return {k: record[k] for k in ("claims", "inputs", "details", "digest", "trials")}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """What the same command ends with where nothing stops it."""
    return result_of(Workspace(tmp_path_factory.mktemp("uninterrupted")).run(*RUN))


def trials_in_journal(folder):
    """Read only: what a killed run has left is for the next run to put in order."""
    with closing(sqlite3.connect(f"file:{folder}/surefoot.db?mode=ro", uri=True)) as db:
        (n,) = db.execute("SELECT coalesce(sum(stop - start), 0) FROM surefoot_journal").fetchone()
    return n


def wait_for_evidence(folder, process, least):
    """Until the journal holds more than `least` trials."""

    def is_enough():
        assert process.poll() is None, process.communicate()
        with suppress(sqlite3.Error):
            return trials_in_journal(folder) > least

    wait_for(is_enough)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_is_one_sentence_and_the_run_goes_on(workspace, uninterrupted, sent):
    hold(workspace.folder, 10)
    process = workspace.start(*RUN, "--report", "report.html", held=True)
    wait_for_evidence(workspace.folder, process, 0)
    process.send_signal(sent)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 3
    assert out == ""
    assert err.strip().splitlines()[-1] == STOPPED
    assert "Traceback" not in err
    assert "report.html" not in workspace.files()
    listed = workspace.run("show", "--list")
    assert "unfinished" in listed.stdout
    unfinished = workspace.run("show")
    assert unfinished.returncode == 3
    assert "run the same command again, surefoot estimate" in unfinished.stderr
    resumed = workspace.run(*RUN)
    assert "trials that are in the store\n" in resumed.stderr
    assert result_of(resumed) == uninterrupted


def test_two_processes_on_one_store_agree(workspace, uninterrupted):
    """Both create the store; their batches overlap without being the same."""
    first, second = workspace.start(*RUN), workspace.start(*OTHER_BATCHES)
    for process in (first, second):
        out, err = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, err
        record = json.loads(out)
        assert all(record[key] == uninterrupted[key] for key in ("claims", "inputs"))
    assert result_of(workspace.run(*RUN))["claims"] == uninterrupted["claims"]
    with closing(sqlite3.connect(workspace.folder / "surefoot.db")) as db:
        rows = db.execute("SELECT subject, start, stop FROM surefoot_journal").fetchall()
    trials = [(subject, trial) for subject, a, b in rows for trial in range(a, b)]
    assert len(trials) == len(set(trials)) <= uninterrupted["trials"]


def test_a_store_that_is_removed_while_a_run_writes_is_one_sentence(workspace, uninterrupted):
    hold(workspace.folder, 10)
    process = workspace.start(*RUN, held=True)
    wait_for_evidence(workspace.folder, process, 0)
    for file in list(workspace.folder.glob("surefoot.db*")):
        file.unlink(missing_ok=True)
    release(workspace.folder)
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (3, "")
    assert "surefoot.db was removed or replaced while this run wrote to it" in err
    assert "Traceback" not in err
    assert result_of(workspace.run(*RUN)) == uninterrupted


DOCTOR = ("doctor", "model.onnx", "test.npz")
SIGNAL_ON_IMPORT = """
import os, signal, sys

class Sender:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.{sent})

{before}
sys.meta_path.insert(0, Sender())
sys.argv = ["surefoot", *{words}]
from surefoot.cli.start import main
main()
"""


def python(code, folder):
    return subprocess.run([sys.executable, "-c", code], cwd=folder, text=True, capture_output=True,
                          check=False)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "sent", "module", "line"),
    [
        (DOCTOR, "SIGTERM", "typer", "it began: nothing was changed"),
        (DOCTOR, "SIGHUP", "numpy", "it was done: run the same command again"),
        (("serve",), "SIGINT", "surefoot.serve.server", "the dashboard began: nothing was changed"),
    ],
)
def test_a_signal_while_python_still_imports_is_one_line(workspace, words, sent, module, line):
    heard = f"signal.signal(signal.{sent}, signal.SIG_DFL)"  # nohup leaves it ignored
    code = SIGNAL_ON_IMPORT.format(module=module, sent=sent, before=heard, words=words)
    done = python(code, workspace.folder)
    said = f"surefoot: stopped before {line}\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", said)


HOLDS_THE_LOCK = """
import itertools, os, sys
import numpy as np

calls = itertools.count()

def scores(x):
    if next(calls) > 40 and os.path.exists("hold"):
        print("held", file=sys.stderr, flush=True)
        sum(itertools.repeat(0))  # never returns to Python, and looks at no signal
    return np.ascontiguousarray(x.reshape(len(x), -1)[:, :20:2])
"""
SOON = """
import surefoot.cli.exit_codes as watch
from surefoot.cli.start import main

watch.SECONDS_TO_NOTICE = 0.2
main()
"""


@pytest.mark.skipif(compiled_library() is None, reason="no C compiler")
def test_ctrl_c_ends_code_that_holds_the_lock_and_the_run_goes_on(workspace):
    (workspace.folder / "mine.py").write_text(HOLDS_THE_LOCK)
    words = ("estimate", "mine.py:scores", "test.npz", "--perturb", "linf:0.1", "--each", "0.2",
             "--first", "4", "--method", "okamoto", "--batch", "4", "--workers", "1", "--bounds",
             "0,1", "--shape", "1,28,28", "--json")  # fmt: skip
    (workspace.folder / "hold").touch()
    with subprocess.Popen([sys.executable, "-c", SOON, *words], cwd=workspace.folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # fmt: skip
        assert any(line == "held\n" for line in process.stderr)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (3, "")
    assert err.splitlines()[-1] == STOPPED  # a busy machine shows progress before it
    assert trials_in_journal(workspace.folder) > 0
    (workspace.folder / "hold").unlink()
    resumed = workspace.run(*words)
    assert "trials that are in the store\n" in resumed.stderr
    assert result_of(resumed) == result_of(workspace.run(*words, "--store", "other.db"))


SWALLOWS = """
import os, signal, time
import numpy as np

class Swallows:  # Python drops what is raised while it removes an object
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        sum(i for i in range(1000))  # the handler runs in here

calls = []

def scores(x):
    calls.append(1)
    if len(calls) == 40:
        Swallows()
        while os.path.exists("hold"):
            time.sleep(0.01)
    return np.ascontiguousarray(x.reshape(len(x), -1)[:, :20:2])
"""


def test_a_signal_that_is_lost_on_its_way_ends_the_command_all_the_same(workspace):
    (workspace.folder / "mine.py").write_text(SWALLOWS)
    (workspace.folder / "hold").touch()
    words = ("estimate", "mine.py:scores", "test.npz", "--perturb", "linf:0.1", "--each", "0.2",
             "--first", "4", "--method", "okamoto", "--batch", "4", "--workers", "1", "--bounds",
             "0,1", "--shape", "1,28,28")  # fmt: skip
    code = SOON.replace("NOTICE", "END")
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=workspace.folder, text=True,
                          capture_output=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[-1] == STOPPED
    assert exit_codes.SECONDS_TO_NOTICE + exit_codes.SECONDS_TO_END <= 2


@pytest.mark.parametrize("late", [False, True])
def test_a_signal_that_comes_too_late_is_answered_and_the_result_stands(workspace, late):
    signals = "os.kill(os.getpid(), signal.SIGTERM)"
    before = f"try: {signals}\nexcept Stopped: pass"
    code = (
        "import os, signal\n"
        "from surefoot.cli.interrupts import Stopped, end_with, handle_signals\n"
        f"handle_signals()\n{'' if late else before}\nend_with(1)\n"
        f"{signals if late else 'raise SystemExit(1)'}\n"
    )
    done = python(code, workspace.folder)
    said = "surefoot: the signal came when the result was complete: it stands\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_nohup_stays_and_a_second_signal_ends_at_once(workspace):
    ignore = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    code = SIGNAL_ON_IMPORT.format(module="numpy", sent="SIGHUP", before=ignore, words=DOCTOR)
    done = python(code, workspace.folder)
    assert (done.returncode, done.stderr) == (0, "")
    twice = (
        "import os, signal\n"
        "from surefoot.cli.interrupts import Stopped, handle_signals\n"
        "handle_signals()\n"
        "try: os.kill(os.getpid(), signal.SIGTERM)\n"
        "except Stopped: os.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = python(twice, workspace.folder)
    assert done.returncode == 3
    assert done.stderr.startswith("surefoot: stopped at once: what is in the store stays")
    assert done.stderr.count("\n") == 1
