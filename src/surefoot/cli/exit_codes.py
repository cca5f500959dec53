"""How the process ends: with exit codes that no other code may choose, and soon after Ctrl-C.

Python runs its signal handlers between two of its own instructions, so a model that loops for ever
inside a library would never be stopped. A thread watches for the signal and ends the process: what
was written to the store is complete after each batch, and the same command continues the run.

The thread waits in compiled code, which needs no lock of Python: a regular expression or a power of
an integer keeps that lock until it is done. Where nothing is compiled, Python code does the same,
and ends the process as soon as it gets the lock.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from surefoot.cli.interrupts import received, stop_requested
from surefoot.compiled.library import compiled_library

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


def end_at_once(sentence: str, leave: Callable[[int], object]) -> None:
    """End with an error and this sentence, whatever other threads are doing."""
    os.write(2, f"surefoot: {sentence}\n".encode())
    leave(ERROR)


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


SECONDS_TO_NOTICE = 1.0
"""After which native code is not waited for: the batch it works on is run again."""
SECONDS_TO_END = 1.0
"""For an end in order where Python noticed the signal: with the above two seconds in all. What code
of the user does with the exception, or Python in its own clean-up, is then of no matter."""
_PAUSE = 0.05
"""Between two looks at whether the signal was noticed, in seconds."""


def watch_signals(code: int, sentence: str) -> None:
    """End the process with this exit code and sentence where a signal does not end it."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    if hasattr(os, "register_at_fork"):  # a signal of a child is no signal of ours
        os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    line = f"{sentence}\n".encode()
    threading.Thread(target=_watch, args=(read, code, line, os._exit), daemon=True).start()


def _watch(read: int, code: int, line: bytes, leave: Callable[[int], NoReturn]) -> None:
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    stops = [int(getattr(signal, name)) for name in names if hasattr(signal, name)]
    compiled = compiled_library()
    if compiled is not None and hasattr(compiled, "end_after_signal"):  # the same without the lock
        noticed = (ctypes.c_char * 1).from_buffer(received)
        limits = (ctypes.c_long(int(1000 * s)) for s in (SECONDS_TO_NOTICE, SECONDS_TO_END))
        compiled.end_after_signal(read, bytes(stops), noticed, *limits, line, code)
    while not set(stops).intersection(os.read(read, 1)):
        pass
    began = time.monotonic()
    while not stop_requested() and time.monotonic() - began < SECONDS_TO_NOTICE:
        time.sleep(_PAUSE)
    if stop_requested():
        time.sleep(SECONDS_TO_END)
    os.write(2, line)
    leave(code)
