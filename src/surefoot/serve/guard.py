"""What passes: the right host and token, small requests finished in time, values in bounds."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import re
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from surefoot.errors import InvalidArgument
from surefoot.serve.pages import render
from surefoot.serve.settings import Settings

Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[Scope, _Receive, _Send], Awaitable[None]]

COOKIE = "surefoot_session"
"""Followed by the port: a browser sends a cookie to every port of a host."""
MOST_QUERY = 2_000
"""Characters of a query: far more than every filter together."""
MOST_BODY = 8_000
"""Bytes of a form."""
HEALTH = "/health"
"""The page that needs no token: whether the dashboard answers."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of our own pages: nothing inline, nothing from elsewhere."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Without a referrer of the same origin, browsers would not say where a form was sent from."""
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+))(?::\d*)?", re.ASCII)
"""An address in brackets or a name, and a port: no user before it, no path behind it."""
_THIS_MACHINE = {"127.0.0.1", "localhost", "::1"}
MOST_GUESSES, GUESS_SECONDS = 10, 60.0
"""Wrong tokens of one address within so many seconds: more are not looked at."""
_LONG = 32
"""Letters of a token that is looked at in any case: of one that the dashboard makes."""
_MOST_GUESSERS = 1_000
"""Addresses whose guesses are remembered."""


class Guesses:
    """When each address last gave wrong tokens."""

    def __init__(self) -> None:
        self._times: dict[str, deque[float]] = {}

    def are_too_many(self, address: str) -> bool:
        """Whether its next token is not to be looked at."""
        times = self._times.get(address)
        if times is None or len(times) < MOST_GUESSES:
            return False
        return time.monotonic() - times[0] < GUESS_SECONDS

    def add(self, address: str) -> None:
        """One more of this address."""
        times = self._times.pop(address, None) or deque(maxlen=MOST_GUESSES)
        times.append(time.monotonic())
        self._times[address] = times  # the last one now
        if len(self._times) > _MOST_GUESSERS:
            del self._times[next(iter(self._times))]


class Guard:
    """An ASGI application around another one, which sees only requests that may pass."""

    def __init__(self, app: _App, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._guesses = Guesses()
        token, secret = settings.token or "", secrets.token_bytes(32)
        self._session = hmac.new(secret, token.encode(), hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: _Receive, send: _Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        answer = self._app if refusal is None else refusal
        await answer(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that may not pass."""
        headers = Headers(scope=scope)
        if len(scope.get("query_string", b"")) > MOST_QUERY:
            return _page(414, "the address is too long: shorten the filter")
        own = self._settings.host.lower()
        if self._settings.is_loopback and _host(headers) not in {*_THIS_MACHINE, own}:
            names = ", ".join(sorted({"127.0.0.1", "localhost", own}))
            return _page(421, f"this dashboard answers to {names} only: use one of them")
        if (about_token := self._about_token(scope, headers)) is not None:
            return about_token
        if scope["method"] not in ("GET", "HEAD") and not _is_own_origin(headers):
            return _page(403, "this request did not come from a page of the dashboard")
        if not headers.get("content-length", "0").isdecimal() or (
            int(headers.get("content-length", "0")) > MOST_BODY
        ):
            return _page(413, f"a form must have at most {MOST_BODY:,} bytes")
        return None

    def _about_token(self, scope: Scope, headers: Headers) -> Response | None:
        """The question for a token; or, of a known reader, the address that does not show it.

        A right one in the address is put into a cookie, by a page that goes on by itself, and no
        redirect: a browser that came from another site would not send the cookie along with that.
        """
        right, path = self._settings.token, scope["path"]
        if right is None or path.startswith("/static/") or path == HEALTH:
            return None
        in_address, go_on = _without_token(scope)
        if _same(_cookie(headers), self._session):
            return None if in_address is None else RedirectResponse(go_on, 303)
        bearer, given = _bearer(headers), in_address or ""
        address = (scope.get("client") or ("",))[0]
        # nobody guesses a long one, and who guesses must not keep its owner out
        known = len(right) >= _LONG and (_same(bearer, right) or _same(given, right))
        if (bearer or given) and not known and self._guesses.are_too_many(address):
            refusal = _page(429, "too many wrong tokens came from your address: wait a minute")
            refusal.headers["Retry-After"] = f"{GUESS_SECONDS:.0f}"
            return refusal
        if _same(bearer, right):
            return None if in_address is None else RedirectResponse(go_on, 303)
        if not _same(given, right):
            if bearer or given:
                self._guesses.add(address)
            wrong = "this token is not the one of the dashboard" if given else ""
            return HTMLResponse(render("token.html.j2", problem=wrong, go_on=""), 401)
        response = HTMLResponse(render("token.html.j2", problem="", go_on=go_on))
        name = _cookie_name(headers)
        response.set_cookie(name, self._session, httponly=True, samesite="strict")
        return response


def _without_token(scope: Scope) -> tuple[str | None, str]:
    """The token in an address, None where there is none, and the address without it."""
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    given = query.pop("token", [None])[0]
    rest = urlencode(query, doseq=True)
    path = "/" + quote(scope["path"].lstrip("/"))  # never //host
    return given, f"{path}?{rest}" if rest else path


def _with_headers(send: _Send) -> _Send:
    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in {**_HEADERS, "Content-Security-Policy": POLICY}.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers


def _page(status: int, sentence: str) -> Response:
    return HTMLResponse(render("problem.html.j2", title="Refused", sentences=[sentence]), status)


def _host(headers: Headers) -> str:
    """The name in the Host header, without a port; empty where it is no name."""
    parts = _HOST.fullmatch(headers.get("host", ""))
    return "" if parts is None else (parts[1] or parts[2]).lower()


def _is_own_origin(headers: Headers) -> bool:
    """Whether a page of this very address sent it: browsers say so with every POST."""
    try:
        origin = urlsplit(headers.get("origin", "")).netloc
    except ValueError:
        return False
    site = headers.get("sec-fetch-site", "same-origin")
    return bool(origin) and origin == headers.get("host") and site == "same-origin"


def _bearer(headers: Headers) -> str:
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    return bearer.strip() if scheme.lower() == "bearer" else ""


def _cookie_name(headers: Headers) -> str:
    port = headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isdecimal() and port.isascii() else COOKIE


def _cookie(headers: Headers) -> str:
    return str(cookie_parser(headers.get("cookie", "")).get(_cookie_name(headers), ""))


def _same(given: str, right: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


_MOST_TEXT = 200
"""Characters of a filter."""
_MOST_DIGITS = 9
_MOST_FIELDS = 20
"""Of a form: ours have four."""


def text(request: Request, name: str) -> str:
    """A text of the query, cut to a length that no filter needs more of."""
    return str(request.query_params.get(name, "")).strip()[:_MOST_TEXT]


def whole(value: str, name: str, default: int | None = None) -> int:
    """A whole number that is not negative."""
    if not value and default is not None:
        return default
    if not (value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS):
        raise InvalidArgument(f"{name} must be a whole number, got {value[:40]!r}")
    return int(value)


def share(value: str, name: str) -> float | None:
    """A percentage as a share; None where none is given."""
    if not value:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 100:
        raise InvalidArgument(f"{name} must be a number from 0 to 100, got {value[:40]!r}")
    return number / 100


async def form(request: Request) -> dict[str, str]:
    """The fields of a form, the first of each name; a long one is refused while it is read."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY:
            raise InvalidArgument(f"a form must have at most {MOST_BODY:,} bytes, got more")
    words = body.decode("utf-8", "replace")
    try:
        fields = parse_qs(words, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InvalidArgument(
            f"a form must have at most {_MOST_FIELDS} fields, got more: open its page again"
        ) from None
    return {name: values[0] for name, values in fields.items()}


REQUEST_SECONDS = 10.0
"""From the first byte of a request to its last: a browser sends one of ours at once."""
_UNFINISHED = (h11.IDLE, h11.SEND_BODY)
"""States of a client whose request is not here in full."""
MOST_WAITING = 64
"""Connections without a whole request, first or next: of more, the oldest is dropped."""
_ARRIVAL_SECONDS = 0.05
"""Until then: of connections that come together, none is read before all are accepted."""
READ_SECONDS = 60.0
"""For a client to read what waits for it: a large page, or `PIECE` of a download."""


class TimedConnection(H11Protocol):  # type: ignore[misc]  # uvicorn has no types here
    """uvicorn's connection, which by itself waits for a request, or for a reader, without end.

    `waiting` are all connections of this server that have no whole request, the oldest first.
    """

    _timer: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def __init__(
        self,
        *args: Any,  # noqa: ANN401  of uvicorn
        waiting: dict[TimedConnection, None],
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*args, **kwargs)
        self._waiting = waiting

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401  of uvicorn
        """The time begins."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """More bytes of a request do not give it more time."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to wait for."""
        self._forget()
        super().connection_lost(exc)  # which resumes writing

    def on_response_complete(self) -> None:
        """The next request may come."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """The client has a while to read."""
        super().pause_writing()
        self._unread = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """It has read."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def _watch(self) -> None:
        if self.conn.their_state not in _UNFINISHED or self.transport.is_closing():
            self._forget()
        elif self._timer is None:
            self._timer = self.loop.call_later(REQUEST_SECONDS, self._end)
            self._waiting[self] = None
            if len(self._waiting) > MOST_WAITING:
                self.loop.call_later(_ARRIVAL_SECONDS, self._drop_oldest)

    def _drop_oldest(self) -> None:
        while len(self._waiting) > MOST_WAITING:
            next(iter(self._waiting))._end()

    def _forget(self) -> None:
        self._waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._forget()
        self.transport.abort()
