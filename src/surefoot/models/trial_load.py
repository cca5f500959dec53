"""A file of unknown origin is first read and run in a child process with limits.

A program in a PyTorch file can ask for any amount of memory and need not end, and no look at its
text tells. So a copy of this process reads the file and answers one input before this one does.
Copying a process is cheap and safe on Linux only; elsewhere files are read without limits.
"""

from __future__ import annotations

import importlib
import math
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from surefoot.errors import InvalidArgument
from surefoot.models.torch_files import read_module, require_torch
from surefoot.system.user_code import error_text

CPU_SECONDS = 60
"""For one input: the largest image classifiers take about 10 s on one core."""
_WALL_SECONDS = 600.0
"""Where the child waits for something instead of computing."""
_BASE_BYTES = 4 * 2**30
"""Above what this process has, for the activations of one input."""
_PER_FILE_BYTE = 8
"""The archive, a checked copy, the weights, and what an export makes of them."""
_PER_INPUT_BYTE = 256
"""Activations: a network keeps up to 64 channels at full size, several layers at a time."""
_TOO_LARGE, _FINE = 9, 0
_MEMORY_WORDS = ("allocate", "memory", "bad_alloc")
_PAUSE = 0.005
"""Between two looks at whether the child has ended, in seconds."""
_WAY_OUT = (
    "convert the model to ONNX, or pass --trust (trust=True) if you made the file yourself and "
    "this machine is large enough"
)


def try_file(path: Path, shape: tuple[int, ...]) -> None:
    """Refuse a PyTorch file that takes too much memory or time for its first answer."""
    torch = require_torch()
    if path.suffix.lower() == ".pt2":  # here, since a child would import it for itself alone
        with suppress(ImportError):
            importlib.import_module("torch._export.serde.serialize")

    def answer_one() -> None:
        module = read_module(path, trust=False)
        with torch.inference_mode():
            module(torch.zeros((1, *shape)))

    try_in_child(path, answer_one, 4 * math.prod(shape))


def try_in_child(path: Path, run: Callable[[], object], input_bytes: int) -> None:
    """Refuse a file if `run`, which reads and uses it, takes too much memory or time.

    What else goes wrong there goes wrong here too, and is said then.
    """
    if sys.platform != "linux":
        return
    more = _BASE_BYTES + _PER_FILE_BYTE * path.stat().st_size + _PER_INPUT_BYTE * input_bytes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside other threads
        child = os.fork()
    if child == 0:
        _child(run, more)
    status = _wait(child)
    if status == _FINE:
        return
    if status == _TOO_LARGE:
        raise InvalidArgument(
            f"{path} takes more than {more / 2**30:.0f} GiB to read and to answer one input: "
            f"{_WAY_OUT}"
        )
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        raise InvalidArgument(
            f"{path} takes more than {CPU_SECONDS} s to read and to answer one input: {_WAY_OUT}"
        )
    raise InvalidArgument(f"{path} ends the process that reads or runs it: {_WAY_OUT}")


def _child(run: Callable[[], object], more: int) -> None:
    import resource

    code = _FINE
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _limit(resource.RLIMIT_AS, used + more)
        _limit(resource.RLIMIT_CPU, CPU_SECONDS)
        _limit(resource.RLIMIT_CORE, 0)
        sys.modules["torch"].set_num_threads(1)  # threads of the parent are not in this process
        run()
    except BaseException as error:  # noqa: BLE001  of the file: the parent says it
        text = error_text(error).lower()
        if isinstance(error, MemoryError) or any(word in text for word in _MEMORY_WORDS):
            code = _TOO_LARGE
    finally:
        os._exit(code)


def _limit(which: int, value: int) -> None:
    import resource

    _, most = resource.getrlimit(which)
    resource.setrlimit(which, (value if most < 0 else min(value, most), most))


def _wait(child: int) -> int:
    """The exit status of the child; a signal that ended it as a negative number."""
    until = time.monotonic() + _WALL_SECONDS
    try:
        while time.monotonic() < until:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                child = 0
                return os.waitstatus_to_exitcode(status)
            time.sleep(_PAUSE)
        return -signal.SIGKILL
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
