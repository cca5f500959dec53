"""Stopping a run by Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
import threading
from types import FrameType

_stop_requested = threading.Event()


class Stopped(BaseException):
    """The user or the system stopped the run."""


def handle_signals() -> None:
    """Turn SIGINT (Ctrl-C) and SIGTERM into `Stopped`."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)


def _stop(signum: int, frame: FrameType | None) -> None:
    _stop_requested.set()
    raise Stopped


def raise_if_stopped() -> None:
    """Raise again: Python swallows an exception that is raised during its own clean-up."""
    if _stop_requested.is_set():
        raise Stopped
