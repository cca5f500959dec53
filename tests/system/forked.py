"""Commands in processes of their own that need not import the package again.

A server process imports it once and forks a child for each command: the child has its own folder,
environment, arguments and output, and ends with the exit code, as a command from a shell does.
"""

import contextlib
import math
import multiprocessing
import multiprocessing.process
import multiprocessing.util
import os
import resource
import runpy
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from surefoot.cli.interrupts import end_before_start
from tests.system.hold import hold_journal

_CLEAN_PATH = list(sys.path)
"""As it was before any test changed it."""
_PRELOADED = [
    "surefoot.cli.main", "surefoot.commands.functions", "surefoot.commands.request",
    "surefoot.models.onnx", "surefoot.report.page", "surefoot.store.database",
    "surefoot.catalogue.parse", "altair", "array_api_compat.numpy", "PIL.ImageDraw",
    "PIL.PngImagePlugin", "pydantic.dataclasses", "pydantic.type_adapter", "scipy.optimize",
    "scipy.special", "scipy.stats", "vl_convert", "onnxruntime", "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite", "rich.progress", "tests.system.preloaded",
]  # fmt: skip
"""What the server imports, so that its children have it."""


class Ended(subprocess.CompletedProcess[str]):
    """A command that has ended, with the most memory that it used at a time."""

    peak_bytes = 0


def _child(
    words: tuple[str, ...], folder: str, place: str, env: dict, path: list, held: bool
) -> None:
    own = resource_tracker._resource_tracker
    own._fd = own._pid = None  # as a command has that is started from a shell
    end_before_start()  # the first lines of the command
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:] = path
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{place}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False, encoding="utf-8") for fd in (1, 2))
    if held:
        hold_journal()
    code: object = 0
    try:
        _run(words)
    except SystemExit as ended:
        code = ended.code
    with contextlib.suppress(OSError, ValueError):  # a case may have closed them
        sys.stdout.flush()
        sys.stderr.flush()
    kilobytes = [resource.getrusage(who).ru_maxrss for who in (_SELF, _CHILDREN)]
    Path(f"{place}/peak").write_text(str(1024 * max(kilobytes)))
    multiprocessing.util._run_finalizers()  # as a program does that ends by itself
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _run(words: tuple[str, ...]) -> None:
    """A command of surefoot, or a file of Python as a program."""
    if words[0].endswith(".py"):
        warnings.filterwarnings("error", category=DeprecationWarning, module="surefoot")
        sys.argv, sys.path[0] = list(words), str(Path(words[0]).parent)
        runpy.run_path(words[0], run_name="__main__")
    else:
        from surefoot.cli.main import main

        sys.argv = ["surefoot", *words]
        main()


_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(_PRELOADED)
_SELF, _CHILDREN = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
_STARTING = threading.Lock()


def start(target: Callable[..., None], *arguments: object) -> Any:
    """A process that calls this; nobody else asks whether it has ended.

    Python asks that of every process whenever one is started, and where two threads ask at the
    same time it loses the exit code.
    """
    process = _context.Process(target=target, args=arguments)
    with _STARTING:
        process.start()
        multiprocessing.process._children.discard(process)
    return process


class Command:
    """A command in a process of its own, with what a `subprocess.Popen` has of it.

    Its output is in the files out and err of `place`. `held`: see hold.py.
    """

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        env: Mapping[str, str] | None = None,
        held: bool = False,
    ) -> None:
        self.words, self.place = tuple(words), Path(tempfile.mkdtemp())
        own = dict(os.environ if env is None else env)
        arguments = (self.words, str(folder), str(self.place), own, _CLEAN_PATH, held)
        self._process = start(_child, *arguments)
        self.pid: int = self._process.pid
        while self.poll() is None and not (self.place / "err").exists():
            time.sleep(0.001)  # until a line of the command runs: before, Python answers a signal

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, sent: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sent)

    def kill(self) -> None:
        self._process.kill()

    def text(self, name: str) -> str:
        """What it has written so far to out or err."""
        path = self.place / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it wrote, once it has ended."""
        ended = self.end(timeout)
        return ended.stdout, ended.stderr

    def end(self, timeout: float | None = None, memory: int = 0) -> Ended:
        """How it ended; with more than `memory` bytes it is killed."""
        peak = _watch(self._process, timeout, memory)
        if self.poll() is None:
            self.kill()
            self._process.join()
            if peak <= memory or not memory:
                self.forget()
                raise subprocess.TimeoutExpired(self.words, timeout or 0)
        out, err, own_peak = (self.text(name) for name in ("out", "err", "peak"))
        ended = Ended(["surefoot", *self.words], self.poll() or 0, out, err)
        ended.peak_bytes = max(peak, int(own_peak or 0))
        self.forget()
        return ended

    def forget(self) -> None:
        """Remove its output."""
        shutil.rmtree(self.place, ignore_errors=True)


def run(words: Sequence[str], folder: Path, timeout: float, memory: int = 0) -> Ended:
    """The command, run to its end; with more than `memory` bytes it is killed."""
    return Command(words, folder).end(timeout, memory)


@contextlib.contextmanager
def started(words: Sequence[str], folder: Path) -> Iterator[Command]:
    """The command while it runs."""
    command = Command(words, folder)
    try:
        yield command
    finally:
        command.kill()
        command.communicate()


def _watch(process: Any, timeout: float | None, memory: int) -> int:
    """Wait for its end, for the time to be up, or until it has more than this memory."""
    if not memory:
        process.join(timeout)
        return 0
    until, peak = time.monotonic() + (timeout or math.inf), 0
    while process.is_alive() and time.monotonic() < until and peak <= memory:
        with contextlib.suppress(OSError):
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            peak = max(peak, pages * resource.getpagesize())
        process.join(0.05)
    return peak
