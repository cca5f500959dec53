"""How a run is asked to end, and how it hears it for certain."""

from __future__ import annotations

import signal
import threading
from types import FrameType

_asked = threading.Event()


class Stopped(BaseException):
    """The user, or the system, asked the run to end."""


def listen() -> None:
    """Turn Ctrl-C and a polite kill into `Stopped`."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)


def _stop(signum: int, frame: FrameType | None) -> None:
    _asked.set()
    raise Stopped


def stop_if_asked() -> None:
    """Raise again: an exception that met a clean-up of Python's own was swallowed there."""
    if _asked.is_set():
        raise Stopped
