"""Commands in processes of their own that need not import the package again.

A server process imports it once and forks a child for each command: the child has its own folder,
environment, arguments and output, and ends with the exit code, as a command from a shell does.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CLEAN_PATH = list(sys.path)
"""As it was before any test changed it."""
_PRELOADED = [
    "surefoot.cli.main",
    "surefoot.commands.functions",
    "surefoot.commands.sampling",
    "surefoot.models.onnx",
    "surefoot.report.page",
    "surefoot.store.database",
    "surefoot.study.parse_perturbation",
    "altair",
    "array_api_compat.numpy",
    "PIL.ImageDraw",
    "PIL.PngImagePlugin",
    "pydantic.dataclasses",
    "pydantic.type_adapter",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "vl_convert",
    "onnxruntime",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
    "rich.progress",
]
"""What the server imports, so that its children have it."""


class Ended(subprocess.CompletedProcess[str]):
    """A command that has ended, with the most memory that it used at a time."""

    peak_bytes = 0


def _child(words: tuple[str, ...], folder: str, place: str, env: dict, path: list) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:] = path
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{place}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False, encoding="utf-8") for fd in (1, 2))
    sys.argv = ["surefoot", *words]
    from surefoot.cli.main import main

    code: object = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    with contextlib.suppress(OSError, ValueError):  # a case may have closed them
        sys.stdout.flush()
        sys.stderr.flush()
    kilobytes = [resource.getrusage(who).ru_maxrss for who in (_SELF, _CHILDREN)]
    Path(f"{place}/peak").write_text(str(1024 * max(kilobytes)))
    multiprocessing.util._run_finalizers()  # as a program does that ends by itself
    code = code if isinstance(code, int) else 0 if code is None else 1
    Path(f"{place}/code").write_text(str(code))
    os._exit(code)


_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(_PRELOADED)


_SELF, _CHILDREN = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN


def run(words: tuple[str, ...], folder: Path, timeout: float, memory: int = 0) -> Ended:
    """The command, run to its end; with more than `memory` bytes it is killed."""
    with tempfile.TemporaryDirectory() as place:
        arguments = (words, str(folder), place, dict(os.environ), _CLEAN_PATH)
        process = _context.Process(target=_child, args=arguments)
        process.start()
        peak = _watch(process, timeout, memory)
        if process.is_alive():
            process.kill()
            process.join()
            if peak <= memory or not memory:
                raise subprocess.TimeoutExpired(words, timeout)
        texts = (_text(Path(place, name)) for name in ("out", "err", "peak", "code"))
        out, err, own_peak, code = texts
    # Where several threads start processes, Python may lose the code of one of them.
    ended = Ended(["surefoot", *words], int(code or process.exitcode or 0), out, err)
    ended.peak_bytes = max(peak, int(own_peak or 0))
    return ended


@contextlib.contextmanager
def started(words: tuple[str, ...], folder: Path) -> Iterator[tuple[Any, Path]]:
    """The command while it runs: its process, and a folder with its output in files out and err."""
    with tempfile.TemporaryDirectory() as place:
        arguments = (words, str(folder), place, dict(os.environ), _CLEAN_PATH)
        process = _context.Process(target=_child, args=arguments)
        process.start()
        try:
            yield process, Path(place)
        finally:
            process.kill()
            process.join()


def _watch(process: Any, timeout: float, memory: int) -> int:
    """Wait for its end, for the time to be up, or until it has more than this memory."""
    if not memory:
        process.join(timeout)
        return 0
    until, peak = time.monotonic() + timeout, 0
    while process.is_alive() and time.monotonic() < until and peak <= memory:
        with contextlib.suppress(OSError):
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            peak = max(peak, pages * resource.getpagesize())
        process.join(0.05)
    return peak


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
