"""A process beside this one that is the driver of Ray: what ends it does not end this one.

Ray ends its driver with exit code 1 where a process of its own is lost, without a word. The bridge
has a session of its own, and so has the cluster that it starts: whoever of both is left ends it.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from surefoot.errors import WorkerFailed
from surefoot.executors.worker import sendable, settle

SECONDS_TO_CLOSE = 5.0
"""For the bridge to leave a cluster, before it is killed."""
_LOST = (
    "Ray ended while it was in use, most often because memory runs out and the system kills one of "
    "its processes: run the same again with fewer workers (--workers), or with executor processes "
    "(--executor processes)"
)
_BEGIN = (
    "import sys; sys.path[:] = sys.argv[3:]; from surefoot.executors.ray_cluster import Cluster; "
    "from surefoot.executors.ray_bridge import main; main(int(sys.argv[1]), sys.argv[2], Cluster)"
)
"""Not `-m`: a file in the user's folder may have the name of a module of Python's own."""
_PARTS = ("gcs_server", "raylet")
"""Processes without which a cluster is of no use."""


class Bridge:
    """Calls functions of `Cluster` in the other process; `folder` is that of a cluster of ours."""

    def __init__(self, folder: str) -> None:
        own, other = socket.socketpair()
        folder_now = os.getcwd()
        with other:
            words = [sys.executable, "-c", _BEGIN, str(other.fileno()), folder]
            self._process = subprocess.Popen(  # noqa: S603  our own code
                [*words, *(path or folder_now for path in sys.path)],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={"RAY_USAGE_STATS_ENABLED": "0", **os.environ},
            )
        self._folder, self._connection = folder, Connection(own.detach())
        self._numbers, self._lock = count(), threading.Lock()
        self._open: dict[int, Future[Any]] = {}
        self._ended = False
        threading.Thread(target=self._receive, name="ray-bridge", daemon=True).start()

    def call(self, name: str, *args: object) -> Future[Any]:
        """What that function gives, once it does; `WorkerFailed` where the bridge has ended."""
        future: Future[Any] = Future()
        with self._lock:
            number = next(self._numbers)
            self._open[number] = future
            try:
                if self._ended:
                    raise OSError
                self._connection.send((number, name, args))
            except OSError:
                del self._open[number]
                future.set_exception(WorkerFailed(_LOST))
        return future

    def _receive(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                number, error, value = self._connection.recv()
                settle(self._open.pop(number), value, error)
        with self._lock:
            self._ended, left = True, list(self._open.values())
            self._open.clear()
        self._remove_rest()
        for future in left:
            settle(future, None, WorkerFailed(_LOST))

    def close(self) -> None:
        """End the bridge, and the cluster that it started."""
        if not self._folder:
            with suppress(Exception):  # it ends anyway
                self.call("leave").result(SECONDS_TO_CLOSE)
        # wakes the readers on both sides, which closing alone does not
        with suppress(OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as both:
            both.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(SECONDS_TO_CLOSE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._remove_rest()
        self._connection.close()

    def _remove_rest(self) -> None:
        _end_session(self._process.pid)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def _end_session(session: int) -> None:
    """Kill every process of this session but this one; nothing where there is no /proc."""
    for pid, _ in _session(session):
        if pid != os.getpid():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _session(session: int) -> Iterator[tuple[int, str]]:
    """The processes of a session, and what each runs; the number outlives its first process."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            state, *fields = rest.split()
            if int(fields[2]) == session and state != "Z":
                yield int(entry.name), name


# --- in the other process ---------------------------------------------------------------------


def main(descriptor: int, folder: str, functions: Callable[[str], object]) -> None:
    """Answer calls, one after the other, until the other end is closed or the cluster is lost.

    The main thread makes them: processes of Ray end with the thread that started them.
    """
    connection, calls = Connection(descriptor), SimpleQueue[tuple[int, str, tuple[Any, ...]]]()
    sending = threading.Lock()

    def leave() -> None:
        _end_session(os.getpid())
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    def receive() -> None:
        with suppress(EOFError, OSError):
            while True:
                calls.put(connection.recv())
        leave()

    def reply(number: int, done: Future[Any]) -> None:
        error = done.exception()
        message = (number, error and sendable(error), None if error else done.result())
        with sending, suppress(OSError):
            connection.send(message)

    threading.Thread(target=receive, daemon=True).start()
    cluster = functions(folder)
    while True:
        number, name, args = calls.get()
        done: Future[Any] = Future()
        try:
            value = getattr(cluster, name)(*args)
            if isinstance(value, Future):
                done = value
            else:
                done.set_result(value)
            if name == "connect" and folder:
                _watch_parts(leave)
        except BaseException as error:  # noqa: BLE001  whoever called is given it
            done.set_exception(error)
        done.add_done_callback(partial(reply, number))


def _watch_parts(leave: Callable[[], None]) -> None:
    """Leave as soon as one of the processes ends that a cluster cannot do without."""
    if not hasattr(os, "pidfd_open"):
        return
    parts = select.poll()
    for pid, name in _session(os.getpid()):
        if name in _PARTS:
            parts.register(os.pidfd_open(pid), select.POLLIN)

    def watch() -> None:
        parts.poll()
        leave()

    threading.Thread(target=watch, daemon=True).start()
