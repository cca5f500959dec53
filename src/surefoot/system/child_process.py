"""A new Python process beside this one, with a pipe to it; it ends with this one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, spawn
from multiprocessing.connection import Connection, Pipe
from typing import Any

BLOCKED = {
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
}
"""Signals that wait while a process is being started: what stops the parent would leave it half
started, and a terminal sends its own to both."""
_SECONDS_TO_END = 5.0
"""Seconds for a process to end after it was terminated, before it is killed."""
_PROGRAM = """
import sys
from multiprocessing.connection import Connection
pipe = Connection({pipe})
try:
    sys.path[:], sys.argv[:] = pipe.recv()
except (EOFError, OSError):
    raise SystemExit(1)
from {module} import serve
serve(pipe, {parent})
"""
"""Imports from where the parent does, and runs no script of the user: that may begin all again."""


@dataclass(frozen=True, eq=False)
class Child:
    """The process, our end of its pipe, and the end of another that is open while this one lives.

    `pid` is that of the process which started it: no other may end it.
    """

    process: subprocess.Popen[bytes]
    pipe: Connection[Any, Any]
    parent: int
    pid: int

    def exit_code(self) -> int | None:
        """Of a process that has closed its pipe; None where it goes on without it."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_SECONDS_TO_END)
        return self.process.returncode

    def end(self) -> None:
        """Terminate the process, whatever it does; once."""
        if os.getpid() != self.pid:
            return
        self.process.terminate()
        try:
            self.process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.parent)


def start_child(module: str, variables: Mapping[str, str] = {}) -> Child:
    """A process that calls `serve(pipe, parent)` of this module; both are ends of pipes.

    The variables are for it alone, where the user has not set them. OSError where there can be no
    process, as in a frozen program.
    """
    own, other = Pipe()
    watched, parent = os.pipe()
    try:
        program = _PROGRAM.format(pipe=other.fileno(), module=module, parent=watched)
        with _signals_blocked():
            process = subprocess.Popen(  # noqa: S603  this Python
                _command(program),
                env={**variables, **os.environ},
                stdin=subprocess.DEVNULL,
                pass_fds=(other.fileno(), watched),
            )
    except BaseException:
        own.close()
        os.close(parent)
        raise
    finally:
        other.close()
        os.close(watched)
    child = Child(process, own, parent, os.getpid())
    own.send((sys.path, sys.argv))
    return child


def begin_child() -> None:
    """In the new process: what a terminal sends is for the parent, which decides what it means."""
    for number in BLOCKED - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)


def silence() -> None:
    """In the new process: it reads nothing, and nobody reads what it prints."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def end_with(parent: int) -> None:
    """Wait until the other end of a pipe is closed, and end this process."""
    connection.wait([parent])
    os._exit(1)


def _command(program: str) -> list[str]:
    """This Python with its options, running the program."""
    words: list[str] = spawn.get_command_line()
    if "-c" not in words:
        raise OSError("a frozen program starts no other process")
    return [*words[: words.index("-c") + 1], program]


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Signals wait while a process is started; it inherits that, and unblocks them as it begins."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
