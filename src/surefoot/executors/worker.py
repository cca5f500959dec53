"""What runs in a worker process: it opens the bench once and answers batches with it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from functools import lru_cache
from multiprocessing import connection, parent_process
from typing import Any

from surefoot.compiled.library import compiled_library
from surefoot.errors import SurefootError
from surefoot.executors.sending import CannotSend, Package
from surefoot.system.user_code import error_text, ignore_number_warnings

BLOCKED = {
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
}
"""Signals that wait while a process is being started: what stops the parent would leave it half
started, and a terminal sends its own to both."""
_state: dict[str, Any] = {}
"""Of this process: its bench, or why it has none."""


def begin(mailbox: Any) -> None:  # noqa: ANN401  a queue with one package for each process
    """Take a package out of it and open the bench."""
    _state["begun"] = True
    ignore_number_warnings()
    for number in BLOCKED - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    load(mailbox.get())


def load(package: Package) -> None:
    """Open the bench; an error is kept for whoever asks, since a process that ends says nothing."""
    _state["begun"] = True
    try:
        _state["bench"] = package.open()
    except SurefootError as error:
        _state["error"] = error
    except BaseException as error:  # noqa: BLE001  whatever code of the user raises
        text = error_text(error)
        _state["error"] = CannotSend(
            f"a worker process cannot load what it was sent ({type(error).__name__}: {text}): use "
            "executor threads (--executor threads)"
        )


def is_worker() -> bool:
    """Whether this process works for another."""
    return bool(_state)


def ready() -> None:
    """Raises what went wrong when the bench was opened."""
    if "error" in _state:
        raise _state["error"]


def answer(tasks: Sequence[Any]) -> Sequence[Any]:
    """The evidence of each task, by the bench of this process."""
    ready()
    answers: Sequence[Any] = _state["bench"].answer(tasks)
    return answers


def answer_package(package: Package, tasks: Sequence[Any]) -> Sequence[Any]:
    """The same with a bench that comes with the tasks; a process opens it once."""
    answers: Sequence[Any] = _opened(package).answer(tasks)
    return answers


@lru_cache(maxsize=2)
def _opened(package: Package) -> Any:  # noqa: ANN401  any bench
    return package.open()


def _end_with_parent() -> None:
    """End as soon as the parent process has ended, however it did.

    Compiled code does that also while the model keeps the lock of Python.
    """
    parent = parent_process()
    if parent is None:
        return
    compiled = compiled_library()
    if compiled is not None and hasattr(compiled, "end_with_pipe"):
        compiled.end_with_pipe(parent.sentinel, 1)
    connection.wait([parent.sentinel])
    os._exit(1)
