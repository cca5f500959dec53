"""Commands in processes of their own that need not import the package again.

A server process imports it once and forks a child for each command: the child has its own folder,
environment, arguments and output, and ends with the exit code, as a command from a shell does.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

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


def _child(words: tuple[str, ...], folder: str, files: tuple[str, str], env: dict, path: list):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:] = path
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in zip((1, 2), files, strict=True):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False, encoding="utf-8") for fd in (1, 2))
    sys.argv = ["surefoot", *words]
    from surefoot.cli.main import main

    code: object = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(_PRELOADED)


def run(words: tuple[str, ...], folder: Path, timeout: float) -> subprocess.CompletedProcess[str]:
    """The command, run to its end."""
    with tempfile.TemporaryDirectory() as place:
        files = (f"{place}/out", f"{place}/err")
        arguments = (words, str(folder), files, dict(os.environ), _CLEAN_PATH)
        process = _context.Process(target=_child, args=arguments)
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, timeout)
        out, err = (Path(name).read_text(encoding="utf-8", errors="replace") for name in files)
    return subprocess.CompletedProcess(["surefoot", *words], process.exitcode or 0, out, err)
