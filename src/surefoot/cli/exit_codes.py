"""The exit codes of the command line, which no other code may choose."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

ERROR = 3
"""An error, or stopped before the end."""


def end_program(code: int, leave: Callable[[int], object] = os._exit) -> None:
    """End with this code, whatever the user's code left behind: a thread that never ends, an exit
    function that calls `os._exit`, a closed standard error.
    """

    def end(status: int) -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        leave(code)
        raise SystemExit(code)  # not reached

    os._exit = end
    with suppress(BaseException):
        atexit._run_exitfuncs()
    end(code)


@contextmanager
def own_exit_code() -> Iterator[None]:
    """A model that calls `os._exit` ends the program with an error: 0 would say that it passed."""
    leave, process = os._exit, os.getpid()

    def guarded(status: int) -> NoReturn:
        if os.getpid() != process:  # a child that the code started
            leave(status)
        os.write(
            2, f"surefoot: code that surefoot ran called os._exit({status}): remove that\n".encode()
        )
        leave(ERROR)

    os._exit = guarded
    try:
        yield
    finally:
        os._exit = leave
