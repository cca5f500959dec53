"""The server: a socket, a thread that answers, and an end in one line."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from surefoot.errors import InvalidArgument, Stopped, needing
from surefoot.serve.settings import Settings
from surefoot.store import reading

_END_SECONDS = 3.0
"""For answers that are on their way when the server is stopped."""
_MOST_CONNECTIONS = 512
"""Of all kinds; those without a whole request have a limit of their own."""
_WAIT_SECONDS = 0.5
"""Between two looks at whether the server still runs."""


def bound_socket(settings: Settings) -> socket.socket:
    """A socket at the address; one sentence where it is taken or is not ours."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(_MOST_CONNECTIONS)
    except OSError as error:
        listening.close()
        where = f"port {settings.port} of {settings.host}"
        if error.errno == errno.EADDRINUSE:
            raise InvalidArgument(f"{where} is in use: choose another one (--port)") from None
        raise InvalidArgument(
            f"{where} cannot be used ({error.strerror or error}): choose another one (--host, "
            "--port)"
        ) from None
    return listening


class Server:
    """A dashboard that runs in a thread of its own, until it is stopped."""

    def __init__(self, settings: Settings) -> None:
        uvicorn = _uvicorn()
        from surefoot.serve.app import create_app
        from surefoot.serve.guard import TimedConnection

        for where in settings.stores:
            with reading(where):  # refuse what cannot be read
                pass
        self._socket = bound_socket(settings)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self.address = f"http://{host}:{self._socket.getsockname()[1]}/"
        config = uvicorn.Config(
            create_app(settings),
            http=partial(TimedConnection, waiting={}),
            ws="none",
            log_config=None,
            access_log=False,  # an address may hold a token
            log_level="critical",
            server_header=False,
            lifespan="off",
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._answer, daemon=True)
        # Not `Thread.join`: after an exception of a signal inside it, Python takes a thread that
        # runs for one that has ended, and the socket would be closed while it is in use.
        self._ended = threading.Event()

    def _answer(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._ended.set()

    def start(self) -> None:
        """Answer requests from now on."""
        self._thread.start()

    def run(self, began: Callable[[], object]) -> None:
        """Answer requests until a signal stops it; `began` is called when it has begun."""
        try:
            self.start()
            began()
            while not self._ended.wait(_WAIT_SECONDS):
                pass
        except (Stopped, KeyboardInterrupt):
            pass
        finally:
            self.stop()

    def stop(self) -> None:
        """End: no new request, and those on their way get a moment."""
        self._server.should_exit = True
        if self._ended.wait(_END_SECONDS):  # a thread that goes on needs its socket
            self._socket.close()


def _uvicorn() -> Any:  # noqa: ANN401  the module
    with needing("the dashboard needs starlette and uvicorn: pip install 'surefoot[web]'"):
        import starlette  # noqa: F401  whether it is there
        import uvicorn
    return uvicorn
