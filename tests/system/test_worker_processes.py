"""Worker processes as a user meets them: killed, interrupted, or left without their parent."""

import os
import signal
from pathlib import Path

import pytest

from surefoot.compiled.library import compiled_library
from tests.kills.commands import workers_of
from tests.system.hold import SECONDS, hold, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc"),
]

MODEL = """
import itertools, sys, time
from pathlib import Path
import numpy as np

batches = itertools.count()
in_worker = any("executors.worker" in word for word in sys.orig_argv)

def scores(x):
    while in_worker and next(batches) > 3 and Path("hold").exists():
        time.sleep(0.01)
    total = x.reshape(len(x), -1).sum(axis=1)
    return np.stack([total, 200.0 - total], axis=1)

def holds_the_lock(x):
    if in_worker:
        Path("held").touch()
        sum(itertools.repeat(0))  # never returns to Python, and looks at no signal
    return scores(x)
"""
"""A worker answers a few batches and then, while there is a file `hold`, no other."""
RUN = ("estimate", "mine.py:scores", "plain.npz", "--perturb", "gaussian:0.5", "--each", "0.1",
       "--method", "okamoto", "--batch", "64", "--json")  # fmt: skip
PROCESSES = ("--workers", "1", "--executor", "processes")


@pytest.fixture
def own(workspace):
    (workspace.folder / "mine.py").write_text(MODEL)
    workspace.save("plain.npz", x=workspace.x[:12])
    hold(workspace.folder, 0)
    return workspace


def worker_of(parent: int) -> int | None:
    """The worker process of a run, if it has one by now."""
    return next(iter(workers_of(parent)), None)


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


@pytest.mark.skipif(compiled_library() is None, reason="no C compiler")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_worker_that_never_returns_to_python_ends_with_its_parent(own, sent):
    process = own.start("estimate", "mine.py:holds_the_lock", *RUN[2:], *PROCESSES)
    wait_for((own.folder / "held").exists)
    worker = worker_of(process.pid)
    process.send_signal(sent)
    process.communicate(timeout=SECONDS)
    wait_for(lambda: is_gone(worker))
    assert process.returncode == (3 if sent is signal.SIGINT else -sent)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent(own, sent):
    process = own.start(*RUN, *PROCESSES)
    worker = wait_for(lambda: worker_of(process.pid))
    if sent is signal.SIGINT:
        os.kill(worker, sent)  # a terminal sends Ctrl-C to all of them
    process.send_signal(sent)
    _, err = process.communicate(timeout=SECONDS)
    assert "Traceback" not in err
    wait_for(lambda: is_gone(worker))
    assert process.returncode == (3 if sent is signal.SIGINT else -sent)
