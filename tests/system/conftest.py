"""The command line as a user meets it: a subprocess in a folder of its own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.system import forked
from tests.system.hold import SECONDS

collect_ignore = (
    [] if find_spec("starlette") else ["test_dashboard_in_browser.py", "test_endpoint.py"]
)  # without the extra web
COMMAND = str(Path(sys.executable).with_name("surefoot"))


class Workspace:
    """A folder with the demo's model and data in it, and a way to run commands there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        data = files("surefoot") / "data"
        shutil.copy(str(data / "fashion_cnn.onnx"), folder / "model.onnx")
        with np.load(str(data / "fashion_test.npz")) as stored:
            self.x, self.y = stored["x"], stored["y"]
        self.save("test.npz", x=self.x[:40], y=self.y[:40])
        self._started: list[Any] = []

    def save(self, name: str, **arrays: np.ndarray) -> None:
        np.savez(self.folder / name, **arrays)

    def start(self, *words: str, held: bool = False) -> forked.Command:
        """The command while it runs; `held`: as far as hold.py lets it."""
        command = forked.Command(words, self.folder, held=held)
        self._started.append(command)
        return command

    def start_anew(
        self, *words: str, program: Sequence[str] = (COMMAND,), **more
    ) -> subprocess.Popen[str]:
        """The same in a new interpreter, as from a shell."""
        command = subprocess.Popen(
            [*program, *words],
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )
        self._started.append(command)
        return command

    def end(self) -> None:
        """Nothing that a failed test has started goes on."""
        for command in self._started:
            if command.poll() is None:
                command.kill()
                command.communicate()

    def run(
        self, *words: str, timeout: float = SECONDS, **more
    ) -> subprocess.CompletedProcess[str]:
        """The command to its end; with anything special about its process, a new interpreter."""
        if not more:
            return forked.run(words, self.folder, timeout)
        return subprocess.run(
            [COMMAND, *words],
            cwd=self.folder,
            text=True,
            capture_output=True,
            timeout=timeout,
            check=False,
            **more,
        )

    def succeed(self, *words: str, **more) -> subprocess.CompletedProcess[str]:
        """The same, of a command that must end with 0."""
        done = self.run(*words, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def environment(self) -> dict[str, str]:
        """For a shell: the command on the PATH."""
        return {**os.environ, "PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}"}

    def files(self) -> set[str]:
        return {p.name for p in self.folder.iterdir()}


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One Chromium for all pages of all tests."""
    pytest.importorskip("selenium")
    from tests.system import page_in_browser

    driver = page_in_browser.start(tmp_path_factory.mktemp("chrome"))
    yield driver
    driver.quit()


@pytest.fixture
def workspace(tmp_path):
    made = Workspace(tmp_path)
    yield made
    made.end()


@pytest.fixture
def refusal(workspace, monkeypatch, capsys):
    """The line with which a command is refused, in this process; it leaves no file behind."""
    from surefoot.cli import main

    def refuse(*words: str) -> str:
        before, modules = workspace.files(), set(sys.modules)
        monkeypatch.chdir(workspace.folder)
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.setattr(sys, "argv", ["surefoot", *words])
        code, printed = main._run(), capsys.readouterr()
        assert (code, printed.out) == (3, ""), printed
        assert printed.err.startswith("surefoot: ")
        assert printed.err.count("\n") == 1
        assert workspace.files() - {"__pycache__"} == before, "something was written"
        for name in set(sys.modules) - modules:  # code of the user
            if str(workspace.folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
        return printed.err

    return refuse


@pytest.fixture
def server():
    """A server of the Open Inference Protocol v2 with faults of the test's choice."""
    from tests.system.faulty_server import FaultyServer

    faulty = FaultyServer()
    yield faulty
    faulty.stop()
