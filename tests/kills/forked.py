"""Commands as the kills start them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.system import forked

Command = forked.Command | subprocess.Popen[str]
"""Forked from a process that has imported the package, in a tenth of the time; or `fresh`."""


def fresh(words: list[str], folder: Path, env: dict[str, str]) -> subprocess.Popen[str]:
    """The same as a user starts it, in a new interpreter."""
    return subprocess.Popen(
        [sys.executable, "-m", "surefoot", *words],
        cwd=folder,
        env=os.environ | env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
