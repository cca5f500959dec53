"""Executors, tested in a fresh interpreter: worker processes begin as their parent began."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1] / "unit" / "executor_tests.py"


@pytest.mark.slow
def test_threads_and_processes_in_a_fresh_interpreter(tmp_path):
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS)]
    done = subprocess.run(
        words, cwd=TESTS.parents[2], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
