"""Worker processes as a user meets them: killed, interrupted, or left without their parent."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from surefoot.compiled.library import compiled_library
from tests.system.test_interruption import wait_for_evidence

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc"),
]

SLOW_MODEL = """
import time
import numpy as np

def scores(x):
    time.sleep(0.02)
    total = x.reshape(len(x), -1).sum(axis=1)
    return np.stack([total, 200.0 - total], axis=1)
"""
HOLDS_THE_LOCK = """
import itertools
from multiprocessing import parent_process
from pathlib import Path
import slow

def scores(x):
    if parent_process() is not None:
        Path("held").touch()
        sum(itertools.repeat(0))  # never returns to Python, and looks at no signal
    return slow.scores(x)
"""
RUN = ("estimate", "slow.py:scores", "plain.npz", "--perturb", "gaussian:0.5", "--width", "0.1",
       "--method", "okamoto", "--batch", "64", "--json")  # fmt: skip
PROCESSES = ("--workers", "1", "--executor", "processes")
SECONDS = 60
"""For a process to start or to end, on a busy machine."""


@pytest.fixture
def slow(workspace):
    (workspace.folder / "slow.py").write_text(SLOW_MODEL)
    workspace.save("plain.npz", x=workspace.x[:12])
    return workspace


def worker_of(parent: int) -> int | None:
    """The worker process of a run, if it has one by now."""
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdecimal() or parent_of(entry) != parent:
                continue
            if b"spawn_main" in (entry / "cmdline").read_bytes():
                return int(entry.name)
        except OSError:
            continue
    return None


def parent_of(entry: Path) -> int:
    return int((entry / "stat").read_text().rpartition(")")[2].split()[1])


def wait_for(condition):
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if (value := condition()) is not None:
            return value
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def is_gone(pid: int) -> bool | None:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return True if state == "Z" else None


def test_a_run_whose_worker_is_killed_ends_with_the_same_result(slow):
    process = slow.start(*RUN, *PROCESSES)
    wait_for_evidence(slow, process, 0)
    first = worker_of(process.pid)
    os.kill(first, signal.SIGKILL)
    out, err = process.communicate(timeout=2 * SECONDS)
    assert process.returncode == 0, err
    assert err.startswith("1 process, as requested\n")
    assert err.count("a worker process was killed; new ones took over\n") == 1
    assert is_gone(first)
    plain = json.loads(slow.run(*RUN, "--store", "plain.db").stdout)
    record = json.loads(out)
    assert all(record[key] == plain[key] for key in ("digest", "claims", "inputs", "details"))


@pytest.mark.skipif(compiled_library() is None, reason="no C compiler")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_worker_that_never_returns_to_python_ends_with_its_parent(slow, sent):
    (slow.folder / "held.py").write_text(HOLDS_THE_LOCK)
    process = slow.start("estimate", "held.py:scores", *RUN[2:], *PROCESSES)
    wait_for(lambda: True if (slow.folder / "held").exists() else None)
    worker = worker_of(process.pid)
    process.send_signal(sent)
    process.communicate(timeout=SECONDS)
    assert wait_for(lambda: is_gone(worker))
    assert process.returncode == (3 if sent is signal.SIGINT else -sent)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent(slow, sent):
    process = slow.start(*RUN, *PROCESSES)
    worker = wait_for(lambda: worker_of(process.pid))
    if sent is signal.SIGINT:
        os.kill(worker, sent)  # a terminal sends Ctrl-C to all of them
    process.send_signal(sent)
    _, err = process.communicate(timeout=SECONDS)
    assert "Traceback" not in err
    assert wait_for(lambda: is_gone(worker))
    assert process.returncode == (3 if sent is signal.SIGINT else -sent)
