"""Stopping a run by Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from surefoot.errors import Stopped

_stop_requested = threading.Event()


def handle_signals() -> None:
    """Turn SIGINT (Ctrl-C) and SIGTERM into `Stopped`."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)


def _stop(signum: int, frame: FrameType | None) -> None:
    _stop_requested.set()
    raise Stopped


def stop_requested() -> bool:
    """Whether Python has noticed the signal."""
    return _stop_requested.is_set()


def raise_if_stopped() -> None:
    """Raise again: Python swallows an exception that is raised during its own clean-up."""
    if _stop_requested.is_set():
        raise Stopped
