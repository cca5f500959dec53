"""The exit codes of the command line, which no other code may choose."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

ERROR = 3
"""An error, or stopped before the end."""


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
