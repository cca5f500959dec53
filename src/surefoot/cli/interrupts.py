"""Stopping a command: Ctrl-C, SIGTERM, or a terminal that is closed (SIGHUP)."""

from __future__ import annotations

import os
import signal
import sys

from surefoot.errors import Stopped

TYPE_CHECKING = False  # `typing` takes longer to import than all that is here
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    Handler = Callable[[int, FrameType | None], None]

STOPPED = 3
"""The exit code of a command that was stopped, as of every error."""
_SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
received = bytearray(1)
"""How many signals Python has noticed; a byte that compiled code can read."""
_leave = os._exit
"""As it is before a command runs: meanwhile code of the user may not call it."""


def end_before_start() -> None:
    """Until the command begins: a signal ends the process with one line."""
    _handle(lambda *_: _end("stopped before it began: nothing was changed"))


def handle_signals() -> None:
    """Turn the first signal into `Stopped`; the second ends the process at once."""
    received[0] = 0
    sys.unraisablehook = _hide_stopped
    _handle(_stop)


def end_with(code: int) -> None:
    """From now on a signal ends the process with the code of the finished command.

    A signal that came before it and changed nothing is answered too: the result stands.
    """

    def say() -> None:
        if code != STOPPED:
            os.write(2, b"surefoot: the signal came when the result was complete: it stands\n")

    def end(_: int, __: FrameType | None) -> None:
        say()
        _leave(code)

    _handle(end)
    if stop_requested():
        say()


def signal_was_answered() -> None:
    """Where a signal is how the command ends, as of a dashboard."""
    received[0] = 0


def stop_requested() -> bool:
    """Whether Python has noticed the signal."""
    return received[0] > 0


def raise_if_stopped() -> None:
    """Raise again: Python swallows an exception that is raised during its own clean-up."""
    if stop_requested():
        raise Stopped


def _handle(handler: Handler) -> None:
    for number in _SIGNALS:
        hangup = number == getattr(signal, "SIGHUP", None)
        if not (hangup and signal.getsignal(number) is signal.SIG_IGN):  # nohup
            signal.signal(number, handler)


def _stop(_: int, __: FrameType | None) -> None:
    received[0] += 1
    if received[0] > 1:
        _end("stopped at once: what is in the store stays; the same command continues the run")
    raise Stopped


def _end(sentence: str) -> None:
    """End without any clean-up: worker processes end with this one."""
    os.write(2, f"surefoot: {sentence}\n".encode())
    _leave(STOPPED)


def _hide_stopped(unraisable: sys.UnraisableHookArgs) -> None:
    """Say nothing of a `Stopped` that Python swallows: it is raised again."""
    if unraisable.exc_type is not Stopped:
        sys.__unraisablehook__(unraisable)
