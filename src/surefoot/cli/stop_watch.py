"""Ctrl-C ends the program within seconds, also where native code does not return to Python.

Python runs its signal handlers between two of its own instructions, so a model that loops for ever
inside a library would never be stopped. A thread watches for the signal and ends the process: what
was written to the store is complete after each batch, and the same command continues the run.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import NoReturn

from surefoot.cli.interrupts import stop_requested

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
    watch = threading.Thread(target=_watch, args=(read, code, sentence, os._exit), daemon=True)
    watch.start()


def _watch(read: int, code: int, sentence: str, leave: Callable[[int], NoReturn]) -> None:
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    stops = {int(getattr(signal, name)) for name in names if hasattr(signal, name)}
    while not stops.intersection(os.read(read, 1)):
        pass
    began = time.monotonic()
    while not stop_requested() and time.monotonic() - began < SECONDS_TO_NOTICE:
        time.sleep(_PAUSE)
    if stop_requested():
        time.sleep(SECONDS_TO_END)
    os.write(2, f"{sentence}\n".encode())
    leave(code)
