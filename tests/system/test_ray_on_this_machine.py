"""A cluster of Ray that a command starts for itself ends with it, and it alone."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.system import hold
from tests.system.hold import SECONDS, wait_for
from tests.system.test_interruption import wait_for_evidence
from tests.system.test_worker_processes import MODEL, RUN

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


def processes_in(folder: Path) -> list[int]:
    """Processes that were started with this home, those of Ray among them."""
    own = f"HOME={folder}".encode()
    running = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and own in (entry / "environ").read_bytes().split(b"\0"):
                running.append(int(entry.name))
        except OSError:
            continue
    return running


@pytest.fixture
def begun(workspace):
    """A command that has begun to measure on a cluster of its own."""
    (workspace.folder / "mine.py").write_text(MODEL)
    (workspace.folder / "random.py").write_text("raise ImportError('a file of the user')")
    workspace.save("plain.npz", x=workspace.x[:12])
    hold.hold(workspace.folder, 1)
    process = workspace.start_anew(
        *RUN, "--workers", "1", "--executor", "ray", program=(sys.executable, hold.__file__),
        env={**os.environ, "HOME": str(workspace.folder), "RAY_ADDRESS": ""},
        start_new_session=True,
    )  # fmt: skip
    wait_for(lambda: len(processes_in(workspace.folder)) > 3)
    wait_for_evidence(workspace.folder, process, 0)
    return process


def test_ctrl_c_ends_the_cluster_that_the_command_started(workspace, begun):
    process = begun
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 3
    first, *_ = err.splitlines()
    assert first == "1 worker of Ray, as requested"
    assert "Traceback" not in err
    assert "ray" not in err.replace(first, "")
    wait_for(lambda: not processes_in(workspace.folder))


def test_a_killed_process_of_ray_is_an_error_and_never_a_verdict(workspace, begun):
    """As of the system when memory runs out: Ray then ends its driver with exit code 1."""
    names = {(Path("/proc") / str(pid) / "comm").read_text().strip(): pid
             for pid in processes_in(workspace.folder)}  # fmt: skip
    os.kill(names["raylet"], signal.SIGKILL)
    wait_for(lambda: len(processes_in(workspace.folder)) == 1)  # the command is left
    hold.release(workspace.folder)
    out, err = begun.communicate(timeout=SECONDS)
    assert (begun.returncode, out) == (3, "")
    assert err.splitlines()[-1].startswith("surefoot: Ray ended while it was in use")
    assert "Traceback" not in err
    wait_for(lambda: not processes_in(workspace.folder))
