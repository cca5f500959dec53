"""Exit codes and stdout belong to surefoot, whatever the code of the user or a library does."""

import json
import signal
import subprocess
import sys
import time

import pytest

import surefoot as sf
from surefoot.cli import main
from surefoot.errors import StoreFailed
from tests.system.hold import SECONDS
from tests.unit.test_endless_files import endless_loop

CODE = """
import os, sys, asyncio
import numpy as np

def scores(x):
    return np.ascontiguousarray(x.reshape(len(x), -1)[:, :20:2])

def prints(x):
    print("printed")
    os.write(1, b"written")
    os.system("echo started")
    return scores(x)

def leaves(x):
    os._exit(0)

def refuted(x):
    os._exit(1)

class Mute(BaseException):
    def __str__(self):
        raise ValueError

def mute(x):
    if os.getpid() != PARENT:
        raise Mute
    return scores(x)

PARENT = int(os.environ.setdefault("TEST_PARENT", str(os.getpid())))
"""
WORDS = ("test.npz", "--perturb", "linf:0.1", "--first", "2", "--each", "0.5", "--bounds", "0,1",
         "--shape", "1,28,28")  # fmt: skip


@pytest.fixture
def own(workspace):
    (workspace.folder / "mine.py").write_text(CODE)
    (workspace.folder / "cancels.py").write_text("import asyncio\nraise asyncio.CancelledError\n")
    return workspace


def test_stdout_holds_the_result_alone(own):
    done = own.run("estimate", "mine.py:prints", *WORDS, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trials"] > 0
    assert {"printed", "writtenstarted"} <= set(done.stderr.split())
    checks = own.run("doctor", "mine.py:prints", *WORDS[:3], *WORDS[-4:], "--json")
    assert json.loads(checks.stdout), checks.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("mine.py:leaves",), "os._exit(0): remove that"),
        (("mine.py:refuted", "--require", "0.9"), "os._exit(1): remove that"),
        (("cancels.py:model",), "its module raised CancelledError: correct it there"),
        (("mine.py:mute", "--executor", "processes", "--workers", "1"), "Mute"),
    ],
)
def test_no_code_but_ours_chooses_the_exit_code(own, words, says):
    done = own.run("estimate", words[0], *WORDS, *words[1:])
    assert done.returncode == 3, done.stdout + done.stderr
    assert says in done.stderr
    assert "fault" not in done.stderr
    assert not done.stdout


IN_NATIVE_CODE = """
import sys
import onnxruntime
import surefoot.cli.exit_codes as watch
from surefoot.cli.main import main

watch.SECONDS_TO_NOTICE = 0.2
run = onnxruntime.InferenceSession.run

def announced(*arguments):
    print("running", file=sys.stderr, flush=True)
    return run(*arguments)

onnxruntime.InferenceSession.run = announced
main()
"""


def test_ctrl_c_ends_native_code_that_does_not_return(workspace):
    endless_loop(workspace.folder / "model.onnx", (1, 28, 28))
    words = ("estimate", "model.onnx", "test.npz", "--perturb", "linf:0.1")
    with subprocess.Popen(
        [sys.executable, "-c", IN_NATIVE_CODE, *words],
        cwd=workspace.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr.readline() == "running\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 3
    assert err.startswith("surefoot: stopped: the evidence so far is in the store; ")
    assert (out, err.count("\n")) == ("", 1)


def test_a_finished_run_is_shown_where_nothing_can_be_written(workspace, monkeypatch):
    folder = workspace.folder
    words = (folder / "model.onnx", folder / "test.npz", "linf:0.1")
    more = {"first": 2, "each": 0.5, "store": str(folder / "s.db")}
    first = sf.estimate(*words, **more)
    monkeypatch.setattr("surefoot.store.locations.os.access", lambda *_: False)
    again = sf.estimate(*words, **more)
    assert again.from_store
    assert again.claims == first.claims
    assert len(sf.estimate(*words, **more, require=0.5).verdicts) == 1  # computed, not kept
    with pytest.raises(StoreFailed, match=r"cannot be written .*use another store"):
        sf.estimate(*words, **more, seed=7)


AFTERWARDS = """
import atexit, os, sys, threading, time
from mine import scores

def registers(x):
    atexit.register(lambda: os._exit(1))
    return scores(x)

def lingers(x):
    threading.Thread(target=time.sleep, args=(1000,)).start()
    return scores(x)

def silences(x):
    sys.stderr = None
    return scores(x)
"""


@pytest.mark.parametrize(
    ("function", "code", "sentence"),
    [
        ("registers", 0, "evidence in"),
        ("lingers", 0, "evidence in"),
        ("silences", 3, "closed standard output or error"),
    ],
)
def test_what_code_of_the_user_leaves_behind_decides_nothing(own, function, code, sentence):
    (own.folder / "after.py").write_text(AFTERWARDS)
    process = own.start_anew("estimate", f"after.py:{function}", *WORDS)
    _, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, sentence in err) == (code, True), err


def test_help_that_nobody_reads_is_no_error(own):
    shown = subprocess.run(
        f"{sys.executable} -m surefoot estimate --help | head -2; exit ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", capture_output=True, text=True, check=False,
        cwd=own.folder,
    )  # fmt: skip
    assert (shown.returncode, shown.stderr) == (0, "")


def test_a_standard_output_that_is_full_is_named_with_a_way_out(own):
    done = subprocess.run(
        f"{sys.executable} -m surefoot perturb --list > /dev/full",
        shell=True, cwd=own.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.startswith("surefoot: standard output cannot be written (No space left")


@pytest.mark.parametrize("command", ["report", "replay", "export"])
def test_a_stopped_command_that_only_reads_promises_no_continuation(command, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["surefoot", command])
    assert main._stopped() == "stopped before it was done: run the same command again"


ENDING = """
import sys
from pathlib import Path
import numpy as np
Path("runs.txt").write_text("run")

def kept(reference, output):
    return True

def exit_kept(reference, output):
    sys.exit(0)

def scores(x):
    return x.reshape(len(x), -1)[:, :20:2]

def exit_model(x):
    sys.exit(0)

def exit_perturb(x, rng, level):
    sys.exit(0)

class Leaves:
    def predict_proba(self, x):
        raise GeneratorExit
leaves = Leaves()
"""
ESTIMATE = ("--first", "2", "--each", "0.5", "--shape", "1,28,28", "--bounds", "0,1")


@pytest.fixture
def ending(workspace):
    (workspace.folder / "mine.py").write_text(ENDING)
    (workspace.folder / "leaving.py").write_text("import sys\nsys.exit(0)\n")
    return workspace


def test_a_stored_property_is_not_imported_without_trust(ending):
    words = ("estimate", "model.onnx", "test.npz", "--perturb", "linf:0.2", "--bounds", "0,1")
    more = ("--property", "@mine:kept", "--first", "2", "--each", "0.5", "--store", "s.db")
    ending.succeed(*words, *more)
    (ending.folder / "runs.txt").unlink()
    refused = ending.run("replay", "latest", "0", "1", "--store", "s.db")
    assert refused.returncode == 3
    assert "names code to run (@mine:kept): pass --trust" in refused.stderr
    assert not (ending.folder / "runs.txt").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("mine.py:exit_model", "--perturb", "linf:0.1"), "the model called sys.exit(0)"),
        (("mine.py:scores", "--perturb", "mine.py:exit_perturb:1"), "called sys.exit(0)"),
        (
            ("mine.py:scores", "--perturb", "linf:0.1", "--property", "@mine:exit_kept"),
            "exit_kept called sys.exit(0)",
        ),
        (("leaving.py:model", "--perturb", "linf:0.1"), "its module called sys.exit(0)"),
        (("leaving:model", "--perturb", "linf:0.1"), "its module called sys.exit(0)"),
        (("mine.py:leaves", "--perturb", "linf:0.1"), "GeneratorExit"),
    ],
)
def test_code_that_ends_the_program_is_an_error_and_no_pass(ending, words, says):
    model, *others = words
    done = ending.run("estimate", model, "test.npz", *others, *ESTIMATE, "--require", "0.9")
    assert done.returncode == 3, done.stdout
    assert says in done.stderr
    assert done.stderr.count("\n") == 1 and not done.stdout
