"""A cluster of Ray that a command starts for itself ends with it."""

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


def test_ctrl_c_ends_the_cluster_that_the_command_started(workspace):
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
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 3
    first, *_ = err.splitlines()
    assert first == "1 worker of Ray, as requested"
    assert "Traceback" not in err
    assert "ray" not in err.replace(first, "")
    wait_for(lambda: not processes_in(workspace.folder))
