"""Ctrl-C ends the program within seconds, also where native code does not return to Python.

Python runs its signal handlers between two of its own instructions, so a model that loops for ever
inside a library would never be stopped. A thread watches for the signal and ends the process: what
was written to the store is complete after each batch, and the same command continues the run.

The thread waits in compiled code, which needs no lock of Python: a regular expression or a power of
an integer keeps that lock until it is done. Where nothing is compiled, Python code does the same,
and ends the process as soon as it gets the lock.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import NoReturn

from surefoot.cli.interrupts import received, stop_requested
from surefoot.compiled.library import compiled_library

SECONDS_TO_NOTICE = 4.0
"""After which native code is taken for one that does not return: a batch rarely takes longer."""
SECONDS_TO_END = 15.0
"""For the intermediate result and the end of the workers, where Python noticed the signal."""
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
