"""Commands that are forked from a process which has imported the package: a tenth of the time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import resource_tracker
from pathlib import Path

from surefoot.cli.interrupts import end_before_start
from tests.system import forked


def _child(words: tuple[str, ...], folder: str, place: str, env: dict[str, str]) -> None:
    own = resource_tracker._resource_tracker
    own._fd = own._pid = None  # as a command has that is started from a shell
    end_before_start()  # the first lines of the command
    forked._child(words, folder, place, env, sys.path)


class ForkedCommand:
    """A command that runs, with what a `subprocess.Popen` has of it."""

    def __init__(self, words: list[str], folder: Path, env: dict[str, str]) -> None:
        self._place = Path(tempfile.mkdtemp(dir=folder / ".."))
        arguments = (tuple(words), str(folder), str(self._place), env)
        self._process = forked._context.Process(target=_child, args=arguments)
        self._process.start()
        self._code: int | None = None
        self.pid = self._process.pid or 0
        while self._process.exitcode is None and not (self._place / "err").exists():
            time.sleep(0.001)  # until a line of the command runs: before, Python answers a signal

    @property
    def returncode(self) -> int:
        return self._code if self._code is not None else self._process.exitcode or 0

    def poll(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it wrote, once it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("surefoot", timeout or 0)
        texts = [self._read("out"), self._read("err")]
        if code := self._read("code"):
            self._code = int(code)  # Python may lose it where several threads start processes
        for name in ("out", "err", "peak", "code"):
            (self._place / name).unlink(missing_ok=True)
        if self._place.exists():
            self._place.rmdir()
        return texts[0], texts[1]

    def _read(self, name: str) -> str:
        try:
            return (self._place / name).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""


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


Command = ForkedCommand | subprocess.Popen[str]
