"""What a replay of the dashboard may open, and when it ends, whatever a store names."""

import os
import subprocess
import sys

import pytest

from surefoot.serve.replay_process import REFUSAL, FileLimits

_OPEN = """
import sys
from pathlib import Path
from surefoot.serve.replay_process import FileLimits
FileLimits([Path("allowed")], Path("own")).install()
import csv, zoneinfo  # modules are still read
Path("own/answer").write_text(Path("allowed/data").read_text())
for open_file in (lambda: open("secret"), lambda: Path("allowed/link").read_bytes(),
                  lambda: open("pipe"), lambda: open("allowed/data", "a")):
    try:
        open_file()
    except PermissionError as error:
        print(error.strerror)
"""
_CHILD = """
import os, sys, time
from surefoot.serve.replay_start import limit_process
limit_process(60, int(sys.argv[1]))
print("limited", flush=True)
try:
    bytearray(2**50)
except MemoryError:
    print("too much", flush=True)
time.sleep(60)
"""
_PARENT = """
import os, subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1], str(os.getpid())])
"""


@pytest.fixture
def folder(cwd):
    for name in ("allowed", "own", "allowed-not"):
        (cwd / name).mkdir()
    for name in ("secret", "allowed/data", "allowed-not/data"):
        (cwd / name).write_text("text")
    (cwd / "allowed/link").symlink_to(cwd / "secret")
    (cwd / "allowed/inner").symlink_to(cwd / "allowed/data")
    os.mkfifo(cwd / "pipe")
    os.mkfifo(cwd / "allowed/pipe")
    return cwd


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="files of POSIX")
def test_only_plain_files_that_really_lie_in_the_allowed_folders_are_opened(folder):
    limits = FileLimits([folder / "allowed"], folder / "own")
    for name in ("allowed/data", "allowed/inner", "allowed/none", "own/new", os.__file__):
        assert limits.allows(name), name
    refused = "secret allowed/link allowed/../secret allowed-not/data pipe allowed/pipe none"
    for name in (*refused.split(), "/etc/hostname", "/dev/zero", f"/proc/{os.getpid()}/environ"):
        assert not limits.allows(name), name
    assert limits.allows("own/answer", writes=True)
    assert not limits.allows("allowed/data", writes=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="files of POSIX")
def test_a_limited_process_reads_modules_and_allowed_files_and_nothing_else(folder):
    done = subprocess.run([sys.executable, "-c", _OPEN], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [REFUSAL] * 4
    assert (folder / "own/answer").read_text() == "text"


@pytest.mark.skipif(sys.platform != "linux", reason="a signal at the end of the parent")
def test_a_replay_ends_with_the_dashboard_and_has_a_limit_of_memory():
    command = [sys.executable, "-c", _PARENT, _CHILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "limited\n"
        assert parent.stdout.readline() == "too much\n"
        parent.kill()
        assert parent.stdout.read() == ""  # the end: the child has it open no longer
